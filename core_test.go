package ebb_test

import (
	"errors"
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestFirstSteps(t *testing.T) {
	rt := ebb.NewRuntime()
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2, 3, 4, 5, 6}, 2, 3).SetRequiresGrad(true)
	for range 3 {
		err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			x := ebb.FromSlice(s, []float32{10, 20, 30}, 3)
			y := w.Mul(x).Sum()
			y.Backward()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Log(w.Grad().Float32s(), rt.Stats())
	func() {
		var err error
		defer func() { t.Log(err, errors.Is(err, ebb.ErrNoScope)) }()
		defer ebb.Catch(&err)
		w.Add(w)
	}()
	st.Close()
	t.Log(rt.Close(), rt.Stats())
}

func BenchmarkOp(b *testing.B) {
	rt := ebb.NewRuntime()
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	s := rt.NewScope("x")
	x := w.In(s)
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			x.Add(w)
		}
		s.Recycle()
	}
}

func BenchmarkOpGraph(b *testing.B) {
	rt := ebb.NewRuntime()
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2, 3, 4, 5, 6}, 2, 3).SetRequiresGrad(true)
	s := rt.NewScope("x")
	x := w.In(s)
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			x.Mul(w)
		}
		s.Recycle()
	}
}
