package nn_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
)

// family calls its last module 20 times.
type family struct {
	A, B, C *layer
	List    []nn.Module
}

func (f *family) Forward(x *ebb.Tensor) *ebb.Tensor {
	for range 19 {
		nn.Call(f.List[1], x)
	}
	return nn.Call(f.List[1], x)
}

// bench runs f on a scope that is emptied every 100 times.
func bench(b *testing.B, f func(x *ebb.Tensor)) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	s := rt.NewScope("bench", ebb.NoGrad)
	defer s.Close()
	x := ebb.Ones(s, ebb.Shape{4})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		f(x)
		if n++; n%100 == 0 {
			s.Recycle(x)
		}
	}
}

// BenchmarkCall is the cost of a call beside that of what it runs.
func BenchmarkCall(b *testing.B) {
	op := func(x *ebb.Tensor) *ebb.Tensor { return x.AddScalar(1) }
	m := &layer{op}
	model := &family{&layer{op}, &layer{op}, &layer{op}, []nn.Module{&layer{op}, m}}
	b.Run("alone", func(b *testing.B) { bench(b, func(x *ebb.Tensor) { op(x) }) })
	b.Run("call", func(b *testing.B) { bench(b, func(x *ebb.Tensor) { nn.Call(m, x) }) })
	b.Run("call in a model", func(b *testing.B) {
		// 20 calls from one, of a module found last.
		bench(b, func(x *ebb.Tensor) { nn.Call(model, x) })
	})
	b.Run("call of a struct", func(b *testing.B) {
		type in struct{ X, Y *ebb.Tensor }
		m := &generic[in, in]{func(v in) in { return in{op(v.X), v.Y} }}
		bench(b, func(x *ebb.Tensor) { nn.Call(m, in{x, x}) })
	})
	b.Run("chain of one", func(b *testing.B) { bench(b, func(x *ebb.Tensor) { nn.Chain(x, m) }) })
	tower := nn.NewSequential()
	for range 40 {
		tower.Layers = append(tower.Layers, &layer{op})
	}
	b.Run("sequential of 40", func(b *testing.B) { bench(b, func(x *ebb.Tensor) { nn.Call(tower, x) }) })
}
