package ebb_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestGradientsAccumulate(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2}).SetRequiresGrad(true)
	for range 3 {
		run(t, rt, func(s *ebb.Scope) { w.In(s).Mul(w).Sum().Backward() })
	}
	wantValues(t, w.Grad(), 6, 12)
	if k := w.Grad().Kind(); k != ebb.Gradient {
		t.Errorf("the gradient is of kind %v", k)
	}
	w.ZeroGrad()
	if w.Grad() != nil || rt.Stats().Live.Current != 8 {
		t.Error("ZeroGrad left the gradient")
	}
}

// A graph is used once; a second Backward says how to keep it.
func TestSecondBackward(t *testing.T) {
	rt := newRuntime(t)
	w := ebb.FromSlice(rt.NewStore("model"), []float32{3}).SetRequiresGrad(true)
	run(t, rt, func(s *ebb.Scope) {
		y := w.In(s).Mul(w).Sum()
		y.Backward(ebb.RetainGraph)
		y.Backward()
		wantValues(t, w.Grad(), 12)
		wantError(t, ebb.ErrGraph, "RetainGraph", func() { y.Backward() })
		wantValues(t, w.Grad(), 12)
	})
}

func TestBackwardErrors(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2}).SetRequiresGrad(true)
	run(t, rt, func(s *ebb.Scope) {
		wantError(t, ebb.ErrGraph, "WithGradient", func() { w.In(s).Mul(w).Backward() })
		wantError(t, ebb.ErrGraph, "no graph", func() { ebb.Ones(s, nil).Backward() })
		wantError(t, ebb.ErrShape, "shape", func() { w.In(s).Mul(w).Backward(ebb.WithGradient(ebb.Ones(s, ebb.Shape{3}))) })
		wantError(t, ebb.ErrDType, "floating", func() { ebb.Arange(s, 0, 3, 1).SetRequiresGrad(true) })
		wantError(t, ebb.ErrGraph, "NoGrad", func() { w.In(s).Add_(ebb.Ones(s, ebb.Shape{2})) })
		wantError(t, ebb.ErrGraph, "NoGrad", func() { w.In(s).Narrow(0, 0, 1).Zero_() })
	})
	if err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		if w.In(s).Mul(w).RequiresGrad() {
			t.Error("NoGrad recorded a graph")
		}
		w.In(s).Sub_(ebb.Ones(s, ebb.Shape{2}))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wantValues(t, w, 0, 1)
}

// A tensor changed in place after it was saved is an error that names both
// places.
func TestModifiedAfterSaved(t *testing.T) {
	rt := newRuntime(t)
	w := ebb.FromSlice(rt.NewStore("model"), []float32{1, 2}).SetRequiresGrad(true)
	run(t, rt, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{2})
		y := w.In(s).Mul(x).Sum()
		x.Zero_()
		e := caught(t, func() { y.Backward() })
		if e.Kind != ebb.ErrModified || !e.Allocated.Known() || !e.Released.Known() {
			t.Errorf("%v", e)
		}
	})
	if w.Grad() != nil {
		t.Error("a failed Backward left a gradient")
	}
}

// In-place operations keep gradients right, on bases and on views.
func TestInPlaceGradients(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2, 3, 4}).SetRequiresGrad(true)
	check := func(name string, f func(s *ebb.Scope) *ebb.Tensor, want ...float32) {
		t.Helper()
		w.ZeroGrad()
		run(t, rt, func(s *ebb.Scope) { f(s).Sum().Backward() })
		t.Run(name, func(t *testing.T) { wantValues(t, w.Grad(), want...) })
	}
	two := func(s *ebb.Scope, n int) *ebb.Tensor { return ebb.Full(s, ebb.Shape{n}, 2.0) }
	check("base", func(s *ebb.Scope) *ebb.Tensor { return w.In(s).Add(w).Mul_(two(s, 4)) }, 4, 4, 4, 4)
	check("view of a base", func(s *ebb.Scope) *ebb.Tensor {
		b := w.In(s).Add(w)
		b.Narrow(0, 0, 2).Mul_(two(s, 2))
		return b
	}, 4, 4, 2, 2)
	check("a view made before its base was changed", func(s *ebb.Scope) *ebb.Tensor {
		b := w.In(s).Add(w)
		v := b.Narrow(0, 2, 2)
		b.Mul_(two(s, 4))
		return v
	}, 0, 0, 4, 4)
	check("the view that was changed", func(s *ebb.Scope) *ebb.Tensor {
		b := w.In(s).Add(w)
		v := b.Narrow(0, 2, 2)
		v.Mul_(two(s, 2))
		return v.Add(b.Narrow(0, 0, 2))
	}, 2, 2, 4, 4)
	check("a part set to zero", func(s *ebb.Scope) *ebb.Tensor {
		b := w.In(s).Add(w)
		b.Narrow(0, 0, 1).Zero_()
		return b
	}, 0, 2, 2, 2)
	check("a graph copied into a constant", func(s *ebb.Scope) *ebb.Tensor {
		b := ebb.Zeros(s, ebb.Shape{2, 4})
		b.Select(0, 1).Copy_(w.In(s).Mul(w))
		return b
	}, 2, 4, 6, 8)
	check("transposed", func(s *ebb.Scope) *ebb.Tensor {
		b := w.In(s).Add(w).View(2, 2)
		b.T().Select(0, 0).Mul_(two(s, 2))
		return b
	}, 4, 2, 4, 2)
}

func TestGradWithGraph(t *testing.T) {
	rt := newRuntime(t)
	w := ebb.FromSlice(rt.NewStore("model"), []float32{1, 2, 3}).SetRequiresGrad(true)
	run(t, rt, func(s *ebb.Scope) {
		y := w.In(s).Mul(w).Mul(w).Sum() // w^3
		g := ebb.Grad([]*ebb.Tensor{y}, []*ebb.Tensor{w}, ebb.CreateGraph)[0]
		if g.Scope().Name() != s.Name() {
			t.Errorf("the gradient lies in %s", g.Scope().Name())
		}
		wantValues(t, g, 3, 12, 27)
		h := ebb.Grad([]*ebb.Tensor{g.Sum()}, []*ebb.Tensor{w}, ebb.CreateGraph)[0]
		wantValues(t, h, 6, 12, 18)
		h.Sum().Backward()
		wantValues(t, w.Grad(), 6, 6, 6)
	})
	run(t, rt, func(s *ebb.Scope) {
		a := w.In(s).Mul(w).Sum()
		b := ebb.Ones(s, ebb.Shape{2}, ebb.RequiresGrad)
		wantError(t, ebb.ErrGraph, "do not depend", func() { ebb.Grad([]*ebb.Tensor{a}, []*ebb.Tensor{b}, ebb.CreateGraph) })
		if g := ebb.Grad([]*ebb.Tensor{a}, []*ebb.Tensor{b}, ebb.AllowUnused)[0]; g != nil {
			t.Error("an unused input has a gradient")
		}
	})
	if w.Grad() == nil {
		t.Fatal("Grad touched what Backward collected")
	}
}

func TestHooks(t *testing.T) {
	rt := newRuntime(t)
	w := ebb.FromSlice(rt.NewStore("model"), []float32{1, 2}).SetRequiresGrad(true)
	var order []string
	remove := w.RegisterHook(func(g *ebb.Tensor) *ebb.Tensor {
		order = append(order, "leaf")
		return g.Add(g)
	})
	w.RegisterPostAccumulateGradHook(func(x *ebb.Tensor) {
		order = append(order, "post")
		wantValues(t, x.Grad(), 4, 8)
	})
	run(t, rt, func(s *ebb.Scope) {
		y := w.In(s).Mul(w)
		y.RetainGrad()
		y.RegisterHook(func(g *ebb.Tensor) *ebb.Tensor {
			order = append(order, "result")
			return nil
		})
		y.Sum().Backward()
		wantValues(t, y.Grad(), 1, 1)
	})
	if len(order) != 3 || order[0] != "result" || order[1] != "leaf" || order[2] != "post" {
		t.Errorf("hooks ran in the order %v", order)
	}
	remove()
	w.ZeroGrad()
	order = nil
	var err error
	func() {
		defer ebb.Catch(&err)
		run(t, rt, func(s *ebb.Scope) {
			y := w.In(s).Add(w)
			y.RegisterHook(func(g *ebb.Tensor) *ebb.Tensor { return ebb.Ones(s, ebb.Shape{7}) })
			wantError(t, ebb.ErrShape, "hook", func() { y.Sum().Backward() })
		})
	}()
	if w.Grad() != nil {
		t.Error("a failed Backward left a gradient")
	}
}

// One goroutine trains a model at a time.
func TestSecondBackwardMeanwhile(t *testing.T) {
	rt := newRuntime(t)
	w := ebb.FromSlice(rt.NewStore("model"), []float32{1, 2}).SetRequiresGrad(true)
	run(t, rt, func(s *ebb.Scope) {
		y := w.In(s).Mul(w)
		tried := false
		y.RegisterHook(func(*ebb.Tensor) *ebb.Tensor {
			tried = true
			wantError(t, ebb.ErrBusy, "one goroutine", func() { w.In(s).Add(w).Sum().Backward() })
			wantError(t, ebb.ErrBusy, "one goroutine", func() { ebb.Claim("step", []*ebb.Tensor{w}) })
			return nil
		})
		y.Sum().Backward()
		if !tried {
			t.Error("the hook did not run")
		}
		ebb.Claim("step", []*ebb.Tensor{w})()
		w.In(s).Add(w).Sum().Backward()
	})
}

// Failing any allocation of a step leaves the ledgers as they were.
func TestEveryAllocationOfAStepCanFail(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2, 3, 4, 5, 6}, 2, 3).SetRequiresGrad(true)
	b := ebb.FromSlice(st, []float32{1, 2}).SetRequiresGrad(true)
	before := flatOf(rt)
	for n := 1; ; n++ {
		rt.FailNthAllocation(n)
		err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			x := ebb.Ones(s, ebb.Shape{5, 3})
			h := ebb.Linear(x, w, b)
			h.Mul(h).Add(h).Sum().Backward()
			return nil
		})
		rt.FailNthAllocation(0)
		if err == nil {
			if n < 8 {
				t.Errorf("only %d allocations failed", n-1)
			}
			return
		}
		if got := flatOf(rt); got != before {
			t.Fatalf("failing allocation %d left %+v, want %+v: %v", n, got, before, err)
		}
	}
}

// What a gradient rule leaves over goes with its node: Backward through many
// operations needs no more than a few results beside what was saved.
func TestBackwardFreesAsItGoes(t *testing.T) {
	rt := newRuntime(t)
	w := ebb.Ones(rt.NewStore("model"), ebb.Shape{1000}, ebb.RequiresGrad)
	run(t, rt, func(s *ebb.Scope) {
		y := w.In(s)
		for range 50 {
			y = y.Tanh().GELU()
		}
		z := y.Sum()
		s.Recycle(z)
		before := rt.Stats().Live.Current
		rt.ResetPeak()
		z.Backward()
		if more := rt.Stats().Live.Peak - before; more > 12*4000 {
			t.Errorf("Backward took %d bytes more than was saved, for results of 4000", more)
		}
	})
}
