package gemm

import (
	"fmt"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// BenchmarkMatMul reports GFLOP/s for float32 products m x k x n; T after a
// size says which operand is a transposed view.
func BenchmarkMatMul(b *testing.B) {
	for _, c := range []struct {
		m, k, n int
		a, b    layout
		name    string
	}{
		{10, 10, 1, layouts[0], layouts[0], ""},
		{64, 784, 128, layouts[0], layouts[1], "_linear"},        // x W^T
		{64, 128, 10, layouts[0], layouts[1], "_linear"},         // x W^T
		{64, 128, 784, layouts[0], layouts[0], "_input_grad"},    // g W
		{128, 64, 784, layouts[1], layouts[0], "_weight_grad"},   // g^T x
		{10, 64, 128, layouts[1], layouts[0], "_weight_grad"},    // g^T x
		{1, 784, 128, layouts[0], layouts[1], "_linear"},         // one sample
		{1, 784, 128, layouts[0], layouts[0], ""},                //
		{1000, 1000, 1, layouts[0], layouts[0], "_matrixvector"}, //
		{64, 64, 64, layouts[0], layouts[0], ""},
		{256, 256, 256, layouts[0], layouts[0], ""},
		{512, 512, 512, layouts[0], layouts[0], ""},
		{512, 512, 512, layouts[0], layouts[1], "_linear"},
		{1024, 1024, 1024, layouts[0], layouts[0], ""},
	} {
		size := 4*max(c.m*c.k, c.k*c.n, c.m*c.n) + 64
		x, _ := array[float32](newArena(b, size), []int{c.m, c.k}, c.a)
		y, _ := array[float32](newArena(b, size), []int{c.k, c.n}, c.b)
		z, _ := array[float32](newArena(b, size), []int{c.m, c.n}, layouts[0])
		work := make([]byte, WorkspaceSize(z, x, y))
		b.Run(fmt.Sprintf("%dx%dx%d%s", c.m, c.k, c.n, c.name), func(b *testing.B) {
			for b.Loop() {
				MatMul(z, x, y, work, Options{})
			}
			b.ReportMetric(2*float64(c.m*c.k*c.n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

// BenchmarkKernel measures the largest tile on operands in the level-1 cache.
func BenchmarkKernel(b *testing.B) {
	kern := kernels32
	const k = 256
	x := make([]float32, kern.mr()*k)
	y := make([]float32, kern.nr*k)
	z := make([]float32, kern.mr()*kern.nr)
	level, _ := cpu.Level()
	b.Run(level.String(), func(b *testing.B) {
		for b.Loop() {
			kern.columns[kern.mr()-1](k, &x[0], 1, kern.mr(), &y[0], kern.nr, &z[0], kern.nr, nil, 0, kern.nr)
		}
		b.ReportMetric(2*k*float64(kern.mr()*kern.nr)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	})
}
