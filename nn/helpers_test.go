package nn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
)

// newRuntime returns a runtime that is closed, without a leak, when t ends.
func newRuntime(t testing.TB) *ebb.Runtime {
	t.Helper()
	rt := ebb.NewRuntime()
	rt.ManualSeed(0)
	t.Cleanup(func() {
		if err := rt.Close(); err != nil && !t.Failed() {
			t.Errorf("Close: %v", err)
		}
		if s := rt.Stats(); !t.Failed() && (s.Live.Current != 0 || s.Mapped != 0) {
			t.Errorf("%d bytes live and %d mapped after Close", s.Live.Current, s.Mapped)
		}
	})
	return rt
}

// newModelStore returns a runtime and a store that closes when t ends.
func newModelStore(t testing.TB) (*ebb.Runtime, *ebb.Store) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	t.Cleanup(st.Close)
	return rt, st
}

// run calls f with a scope and fails if it returns an error.
func run(t testing.TB, rt *ebb.Runtime, mode ebb.Mode, f func(s *ebb.Scope)) {
	t.Helper()
	if err := rt.Run(mode, func(s *ebb.Scope) error {
		f(s)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// catch returns the error that f panics with, or nil.
func catch(f func()) *ebb.Error {
	var err error
	func() {
		defer ebb.Catch(&err)
		f()
	}()
	var e *ebb.Error
	errors.As(err, &e)
	return e
}

// wantError fails unless f panics with an error of the kind whose text has all
// of parts.
func wantError(t testing.TB, kind ebb.ErrorKind, f func(), parts ...string) *ebb.Error {
	t.Helper()
	e := catch(f)
	if e == nil || !errors.Is(e, kind) {
		t.Fatalf("error %v, want kind %v", e, kind)
	}
	for _, p := range parts {
		if !strings.Contains(e.Error(), p) {
			t.Errorf("the error lacks %q:\n%v", p, e)
		}
	}
	return e
}

// ledger is what a runtime holds.
type ledger struct {
	live                   int64
	owners, tensors, nodes int
}

func ledgerOf(rt *ebb.Runtime) ledger {
	s := rt.Stats()
	return ledger{s.Live.Current, s.Owners, s.Tensors, s.Nodes}
}

// flat fails unless f leaves rt's ledger as it was.
func flat(t testing.TB, rt *ebb.Runtime, f func()) {
	t.Helper()
	before := ledgerOf(rt)
	f()
	if after := ledgerOf(rt); after != before {
		t.Errorf("the ledger was %+v and is %+v", before, after)
	}
}

// mlp is a small model, with Forward made of Chain.
type mlp struct {
	Fc1 *nn.Linear
	Act *nn.ReLU
	Fc2 *nn.Linear
}

func newMLP(st *ebb.Store, in, hidden, out int) *mlp {
	return &mlp{nn.NewLinear(st, in, hidden), &nn.ReLU{}, nn.NewLinear(st, hidden, out)}
}

func (m *mlp) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Chain(x, m.Fc1, m.Act, m.Fc2) }

// function is a module made of a function.
type function func(x *ebb.Tensor) *ebb.Tensor

func (f function) Forward(x *ebb.Tensor) *ebb.Tensor { return f(x) }

// layer is a module made of a function, told apart by its address.
type layer struct {
	f func(x *ebb.Tensor) *ebb.Tensor
}

func (l *layer) Forward(x *ebb.Tensor) *ebb.Tensor { return l.f(x) }
