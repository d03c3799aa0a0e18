package bench

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// runtimeOf returns a seeded runtime that closes with the benchmark.
func runtimeOf(b *testing.B) *ebb.Runtime {
	rt := ebb.NewRuntime()
	rt.ManualSeed(0)
	b.Cleanup(func() {
		if err := rt.Close(); err != nil {
			b.Error(err)
		}
	})
	return rt
}

// operands returns a scope without graphs, closed with the benchmark, and a
// tensor of uniform numbers of each shape, directed to it.
func operands(b *testing.B, shapes ...ebb.Shape) (*ebb.Scope, []*ebb.Tensor) {
	rt := runtimeOf(b)
	store := rt.NewStore("operands")
	scope := rt.NewScope("bench", ebb.NoGrad)
	b.Cleanup(func() {
		scope.Close()
		store.Close()
	})
	var xs []*ebb.Tensor
	for _, s := range shapes {
		xs = append(xs, ebb.Rand(store, s).In(scope))
	}
	return scope, xs
}

// loop measures op, which leaves its result in scope.
func loop(b *testing.B, scope *ebb.Scope, op func()) {
	op()
	scope.Recycle()
	b.ReportAllocs()
	for b.Loop() {
		op()
		scope.Recycle()
	}
}

// perSecond reports how much of unit, of which an iteration does work, was done a
// second; the unit's prefix stands for 1e9.
func perSecond(b *testing.B, work float64, unit string) {
	b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds()/1e9, unit)
}
