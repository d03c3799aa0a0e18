package ebb_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// The benchmarks measure what an operation costs beside its kernel: the
// operands have six elements.

func benchmarkAdd(b *testing.B, grad bool) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	st := rt.NewStore("model")
	defer st.Close()
	w := ebb.FromSlice(st, []float32{1, 2, 3, 4, 5, 6}, 2, 3).SetRequiresGrad(grad)
	s := rt.NewScope("bench")
	defer s.Close()
	x := w.In(s)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		x.Add(w)
		if n%64 == 0 {
			s.Recycle()
		}
	}
}

func BenchmarkAdd(b *testing.B)      { benchmarkAdd(b, false) }
func BenchmarkAddGraph(b *testing.B) { benchmarkAdd(b, true) }
