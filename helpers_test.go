package ebb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// caught runs f and returns the *ebb.Error it panics with.
func caught(t *testing.T, f func()) *ebb.Error {
	t.Helper()
	var err error
	func() {
		defer ebb.Catch(&err)
		f()
	}()
	var e *ebb.Error
	if !errors.As(err, &e) {
		t.Fatalf("no *ebb.Error was thrown, but %v", err)
	}
	return e
}

// wantError checks that f panics with an error of the given kind whose text
// has the given words, and that its site is in a test.
func wantError(t *testing.T, kind ebb.ErrorKind, words string, f func()) {
	t.Helper()
	e := caught(t, f)
	if !errors.Is(e, kind) {
		t.Errorf("got an error of kind %v, want %v: %v", e.Kind, kind, e)
	}
	if !strings.Contains(e.Error(), words) {
		t.Errorf("the error does not say %q: %v", words, e)
	}
	if !strings.Contains(e.Site.String(), "_test.go") {
		t.Errorf("the error's site is %v, want the test's line", e.Site)
	}
}

// run calls f in a scope with gradients and fails the test on an error.
func run(t *testing.T, rt *ebb.Runtime, f func(s *ebb.Scope)) {
	t.Helper()
	if err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		f(s)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// newRuntime returns a runtime that must be clean at the end of the test: all
// closed but what lies in stores, which it closes itself.
func newRuntime(t *testing.T, opts ...ebb.RuntimeOption) *ebb.Runtime {
	t.Helper()
	rt := ebb.NewRuntime(opts...)
	t.Cleanup(func() {
		rt.MarkFailed() // what is open in stores is the test's own
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
		if s := rt.Stats(); s.Live.Current != 0 || s.Mapped != 0 || s.Nodes != 0 || s.Tensors != 0 || s.Owners != 0 || s.Leases != 0 {
			t.Errorf("after Close: %+v", s)
		}
	})
	return rt
}

// flat is the part of Stats that a loop must leave as it found it.
type flat struct {
	live, count            int64
	owners, tensors, nodes int
}

func flatOf(rt *ebb.Runtime) flat {
	s := rt.Stats()
	return flat{s.Live.Current, s.Live.Count, s.Owners, s.Tensors, s.Nodes}
}

// wantValues compares a Float32 tensor's elements exactly.
func wantValues(t *testing.T, x *ebb.Tensor, want ...float32) {
	t.Helper()
	got := x.Float32s()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
