package bench

import (
	"fmt"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
)

var sizes = []int{1e3, 1e4, 1e5, 1e6, 1e7}

// BenchmarkElementwise has operations of one or two tensors; GB/s count each
// operand and the result once.
func BenchmarkElementwise(b *testing.B) {
	for _, c := range []struct {
		name   string
		bytes  int // for each element
		binary bool
		op     func(x, y *ebb.Tensor)
	}{
		{"add", 12, true, func(x, y *ebb.Tensor) { x.Add(y) }},
		{"mul", 12, true, func(x, y *ebb.Tensor) { x.Mul(y) }},
		{"relu", 8, false, func(x, _ *ebb.Tensor) { x.ReLU() }},
		{"exp", 8, false, func(x, _ *ebb.Tensor) { x.Exp() }},
	} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				shapes := []ebb.Shape{{n}}
				if c.binary {
					shapes = append(shapes, ebb.Shape{n})
				}
				scope, xs := operands(b, shapes...)
				xs = append(xs, nil)
				loop(b, scope, func() { c.op(xs[0], xs[1]) })
				perSecond(b, float64(c.bytes*n), "GB/s")
			})
		}
	}
}

// BenchmarkReduction sums all elements.
func BenchmarkReduction(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("sum/%d", n), func(b *testing.B) {
			scope, xs := operands(b, ebb.Shape{n})
			loop(b, scope, func() { xs[0].Sum() })
			perSecond(b, float64(4*n), "GB/s")
		})
	}
}

// BenchmarkSoftmax is of rows of 1000.
func BenchmarkSoftmax(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			scope, xs := operands(b, ebb.Shape{n / 1000, 1000})
			loop(b, scope, func() { xs[0].Softmax(1) })
			perSecond(b, float64(8*n), "GB/s")
		})
	}
}

// BenchmarkCrossEntropy is of 512 samples of 1000 classes, alone and with the
// gradient.
func BenchmarkCrossEntropy(b *testing.B) {
	for _, backward := range []bool{false, true} {
		b.Run(fmt.Sprintf("512x1000/gradient=%v", backward), func(b *testing.B) {
			rt := runtimeOf(b)
			store := rt.NewStore("operands")
			defer store.Close()
			mode, bytes := ebb.NoGrad, 4
			if backward {
				mode, bytes = ebb.EnableGrad, 12
			}
			scope := rt.NewScope("bench", mode)
			defer scope.Close()
			leaf := ebb.Rand(store, ebb.Shape{512, 1000}, ebb.Parameter).SetRequiresGrad(backward)
			y := ebb.Randint(store, 0, 1000, ebb.Shape{512})
			loop(b, scope, func() {
				loss := nn.CrossEntropyLoss(leaf.In(scope), y)
				if backward {
					leaf.ZeroGrad()
					loss.Backward()
				}
			})
			perSecond(b, float64(bytes*512*1000), "GB/s")
		})
	}
}
