package bench

import (
	"fmt"
	"testing"

	"github.com/ebb-ml/ebb"
)

// BenchmarkMatMul is of products m x k x n. A T marks an operand that is read
// transposed: _xWT is what Linear does, _gW and _gTx its two gradients.
func BenchmarkMatMul(b *testing.B) {
	for _, c := range []struct {
		m, k, n int
		tx, ty  bool
		name    string
	}{
		{64, 64, 64, false, false, ""},
		{128, 128, 128, false, false, ""},
		{256, 256, 256, false, false, ""},
		{511, 511, 511, false, false, ""},
		{512, 512, 512, false, false, ""},
		{513, 513, 513, false, false, ""},
		{1024, 1024, 1024, false, false, ""},
		{64, 784, 128, false, true, "_xWT"},
		{64, 128, 784, false, false, "_gW"},
		{128, 64, 784, true, false, "_gTx"},
		{64, 128, 10, false, true, "_xWT"},
		{512, 784, 1024, false, true, "_xWT"},
		{128, 768, 3072, false, true, "_xWT"},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d%s", c.m, c.k, c.n, c.name), func(b *testing.B) {
			shape := func(rows, cols int, t bool) ebb.Shape {
				if t {
					return ebb.Shape{cols, rows}
				}
				return ebb.Shape{rows, cols}
			}
			scope, xs := operands(b, shape(c.m, c.k, c.tx), shape(c.k, c.n, c.ty))
			loop(b, scope, func() {
				x, y := xs[0], xs[1]
				if c.tx {
					x = x.T()
				}
				if c.ty {
					y = y.T()
				}
				x.MatMul(y)
			})
			perSecond(b, 2*float64(c.m*c.k*c.n), "GFLOP/s")
		})
	}
}
