package ebb_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// A staged scope is the youngest when it begins, whatever was opened since.
func TestStaging(t *testing.T) {
	rt := newRuntime(t)
	loader := rt.NewScope("loader")
	stage := loader.NewStaging("batch", ebb.NoGrad)
	x := ebb.Ones(stage, ebb.Shape{2})
	y := x.Add(x)
	if x.Kind() != ebb.Input || y.Kind() != ebb.Input || y.Scope() != stage || stage.Bytes() != 16 || loader.Bytes() != 16 {
		t.Errorf("kinds %s and %s, %d and %d bytes", x.Kind(), y.Kind(), stage.Bytes(), loader.Bytes())
	}
	later := rt.NewScope("later")
	total := ebb.Ones(later, ebb.Shape{2})
	if s := total.Add(x).Scope(); s != later {
		t.Errorf("before it begins, a result lands in %s", s.Name())
	}
	stage.Begin()
	z := total.Add(x)
	if z.Scope() != stage || z.Kind() != ebb.Activation || !stage.NoGrad() {
		t.Errorf("a result lands in %s as %s", z.Scope().Name(), z.Kind())
	}
	wantError(t, ebb.ErrOutward, "older", func() { x.In(later) })
	loader.Close()
	if !z.Released() || !x.Released() || later.Closed() || stage.Bytes() != 0 {
		t.Error("it does not go with its parent")
	}
	wantError(t, ebb.ErrClosed, "closed", stage.Begin)
	later.Close()
}
