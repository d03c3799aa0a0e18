package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/optim"
	"github.com/ebb-ml/ebb/transforms"
)

// BenchmarkStep is a training step of MNIST's network, data in memory.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct{ batch, hidden int }{{64, 128}, {512, 1024}} {
		b.Run(fmt.Sprintf("%dx784-%d-10", c.batch, c.hidden), func(b *testing.B) {
			m := NewMLP(runtimeOf(b), c.batch, c.hidden)
			defer m.Close()
			for range 20 {
				m.Step()
			}
			b.ReportAllocs()
			for b.Loop() {
				m.Step()
			}
			// A layer's product, and the gradients of its weight and (but for the
			// first) of its input.
			perSecond(b, float64(c.batch*c.hidden)*(4*784+6*10), "GFLOP/s")
		})
	}
}

// BenchmarkSGD is an optimizer's step on the parameters of the larger network.
func BenchmarkSGD(b *testing.B) {
	for _, momentum := range []float64{0, 0.9} {
		b.Run(fmt.Sprintf("momentum=%v", momentum), func(b *testing.B) {
			rt := runtimeOf(b)
			store := rt.NewStore("model")
			defer store.Close()
			var params []*ebb.Tensor
			elements := 0
			for _, s := range []ebb.Shape{{1024, 784}, {1024}, {10, 1024}, {10}} {
				p := ebb.Rand(store, s, ebb.Parameter).SetRequiresGrad(true)
				g := ebb.Rand(store, s, ebb.Gradient)
				p.SetGrad(g)
				params = append(params, p)
				elements += p.Numel()
			}
			opt := optim.NewSGD(params, optim.LR(1e-6), optim.Momentum(momentum))
			defer opt.Close()
			opt.Step()
			b.ReportAllocs()
			for b.Loop() {
				opt.Step()
			}
			bytes := 12
			if momentum != 0 {
				bytes = 20
			}
			perSecond(b, float64(bytes*elements), "GB/s")
		})
	}
}

// images is a data set of random grey images.
type images struct {
	pixels, labels *ebb.Tensor
	transform      transforms.Transform
}

func (d *images) Len() int              { return d.labels.Numel() }
func (d *images) Runtime() *ebb.Runtime { return d.labels.Runtime() }

func (d *images) Batch(_ context.Context, scope *ebb.Scope, indices []int64) (b data.Batch, err error) {
	defer ebb.Catch(&err)
	x := transforms.Gather(scope, d.pixels, indices, d.transform)
	y := d.labels.In(scope).IndexSelect(0, ebb.FromSlice(scope, indices))
	return data.Batch{Input: x, Target: y, Scope: scope}, nil
}

// BenchmarkLoader is of images as MNIST's, shuffled, in batches of 64, made
// floating-point and normalized.
func BenchmarkLoader(b *testing.B) {
	const n = 60000
	rt := runtimeOf(b)
	store := rt.NewStore("images")
	defer store.Close()
	set := &images{
		pixels:    ebb.Randint(store, 0, 256, ebb.Shape{n, 28, 28}, ebb.Uint8),
		labels:    ebb.Randint(store, 0, 10, ebb.Shape{n}),
		transform: transforms.Compose(transforms.ToTensor(), transforms.Normalize([]float64{0.1307}, []float64{0.3081})),
	}
	loader := data.NewLoader(set, data.BatchSize(64), data.Shuffle())
	defer loader.Close()
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range loader.Batches(b.Context(), data.NoGrad) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	perSecond(b, n*1e9, "samples/s")
}

// BenchmarkBookkeeping is what an operation costs beside its kernel: the operands
// have six elements.
func BenchmarkBookkeeping(b *testing.B) {
	for _, graph := range []bool{false, true} {
		b.Run(fmt.Sprintf("graph=%v", graph), func(b *testing.B) {
			rt := runtimeOf(b)
			store := rt.NewStore("model")
			defer store.Close()
			w := ebb.Rand(store, ebb.Shape{2, 3}, ebb.Parameter).SetRequiresGrad(graph)
			scope := rt.NewScope("bench")
			defer scope.Close()
			x := w.In(scope)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				x.Add(w)
				if n%64 == 0 {
					scope.Recycle()
				}
			}
		})
	}
	b.Run("scope", func(b *testing.B) {
		rt := runtimeOf(b)
		b.ReportAllocs()
		for b.Loop() {
			rt.NewScope("bench").Close()
		}
	})
}

// BenchmarkAlloc makes a tensor without values and releases it.
func BenchmarkAlloc(b *testing.B) {
	for _, n := range []int{16, 64 << 10, 16 << 20} {
		b.Run(ebb.FormatBytes(int64(4*n)), func(b *testing.B) {
			scope, _ := operands(b)
			loop(b, scope, func() { ebb.Empty(scope, ebb.Shape{n}) })
		})
	}
}
