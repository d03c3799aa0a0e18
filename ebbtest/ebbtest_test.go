package ebbtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/ebbtest"
	"github.com/ebb-ml/ebb/memory"
)

// fake is a test as the testing package runs it, without failing this one.
type fake struct {
	testing.TB
	failed, skipped bool
	errors, logs    []string
	cleanups        []func()
}

func (f *fake) Helper()          {}
func (f *fake) Name() string     { return "TestFake" }
func (f *fake) Failed() bool     { return f.failed }
func (f *fake) Skipped() bool    { return f.skipped }
func (f *fake) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fake) Logf(s string, args ...any) {
	f.logs = append(f.logs, fmt.Sprintf(s, args...))
}
func (f *fake) Errorf(s string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(s, args...))
	f.failed = true
}

// end runs the cleanups, the last first.
func (f *fake) end() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
}

func TestClean(t *testing.T) {
	f := &fake{}
	rt := ebbtest.Runtime(f)
	model := rt.NewStore("model")
	ebb.Zeros(model, ebb.Shape{4})
	rt.NewStore("empty")   // open, but it holds nothing
	f.Cleanup(model.Close) // a later cleanup runs before the check
	f.end()
	if len(f.errors)+len(f.logs) != 0 {
		t.Errorf("errors %q, logs %q", f.errors, f.logs)
	}
	if s := rt.Stats(); s.Live.Current != 0 || s.Mapped != 0 || s.Owners != 0 {
		t.Errorf("not closed: %+v", s)
	}
}

func TestSurvivors(t *testing.T) {
	f := &fake{}
	rt := ebbtest.Runtime(f)
	ebb.Zeros(rt.NewStore("kept"), ebb.Shape{2, 3})
	ebb.Zeros(rt.NewScope("open"), ebb.Shape{5}, ebb.Int64)
	f.end()
	if len(f.errors) != 2 {
		t.Fatalf("errors %q", f.errors)
	}
	for i, want := range []string{"still held: buffer float32[2, 3], 24 B, in kept, made at ebbtest/ebbtest_test.go:", "still held: activation int64[5], 40 B, in open"} {
		if !strings.Contains(f.errors[i], want) {
			t.Errorf("%q lacks %q", f.errors[i], want)
		}
	}
	if s := rt.Stats(); s.Live.Current != 0 || s.Mapped != 0 {
		t.Errorf("not closed: %+v", s)
	}
}

// What a failed or skipped test leaves behind is no failure of its own.
func TestAfterFailure(t *testing.T) {
	for _, f := range []*fake{{failed: true}, {skipped: true}} {
		rt := ebbtest.Runtime(f)
		ebb.Zeros(rt.NewStore("kept"), ebb.Shape{2, 3})
		f.end()
		if len(f.errors) != 0 || len(f.logs) != 1 {
			t.Errorf("errors %q, logs %q", f.errors, f.logs)
		}
		if s := rt.Stats(); s.Live.Current != 0 {
			t.Errorf("not closed: %+v", s)
		}
	}
}

// A scope that was dropped, not closed, is an error though the collector found it.
func TestForgotten(t *testing.T) {
	f := &fake{}
	rt := ebbtest.Runtime(f)
	func() { rt.NewScope("forgotten") }()
	for end := time.Now().Add(5 * time.Second); len(rt.Leaks()) == 0 && time.Now().Before(end); {
		memory.Collect(rt)
		time.Sleep(time.Millisecond)
	}
	f.end()
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "forgotten was never closed") {
		t.Errorf("errors %q", f.errors)
	}
}

func TestScope(t *testing.T) {
	f := &fake{}
	s := ebbtest.Scope(f, ebb.NoGrad)
	if s.Name() != "TestFake" || !s.NoGrad() {
		t.Errorf("scope %q, no grad %v", s.Name(), s.NoGrad())
	}
	x := ebb.Ones(s, ebb.Shape{3})
	f.end()
	if !x.Released() || len(f.errors) != 0 {
		t.Errorf("released %v, errors %q", x.Released(), f.errors)
	}

	f = &fake{}
	s = ebbtest.Scope(f)
	ebb.Ones(s.Runtime().NewStore("kept"), ebb.Shape{3})
	f.end()
	if len(f.errors) != 1 {
		t.Errorf("errors %q", f.errors)
	}
}

func TestOptions(t *testing.T) {
	rt := ebbtest.Runtime(t, ebb.Limit(1<<20))
	if got := rt.Stats().Limit; got != 1<<20 {
		t.Errorf("limit %d", got)
	}
}
