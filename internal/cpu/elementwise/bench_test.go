package elementwise

import (
	"math/rand/v2"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// benchArray is a contiguous float32 array, transposed if asked.
func benchArray(rows, cols int, transposed bool) cpu.Array {
	strides := []int{cols, 1}
	if transposed {
		strides = []int{1, rows}
	}
	g := arraytest.New(cpu.Float32, []int{rows, cols}, strides)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range g.Len() {
		g.SetFloat(i, r.NormFloat64())
	}
	return g.Array
}

func bench(b *testing.B, elements int, f func()) {
	b.Helper()
	b.ReportAllocs()
	f()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(elements), "ns/elem")
}

func Benchmark(b *testing.B) {
	const rows, cols = 256, 1024
	x, y, d := benchArray(rows, cols, false), benchArray(rows, cols, false), benchArray(rows, cols, false)
	xt := benchArray(rows, cols, true)
	row, col := x, x
	row.Strides, col.Strides = []int{0, 1}, []int{1, 0}
	small := benchArray(1, 8, false)
	mask := arraytest.New(cpu.Uint8, []int{MaskLen(rows * cols)}, []int{1}).Array
	whole := arraytest.New(cpu.Int64, x.Shape, x.Strides).Array
	Copy(whole, x)
	run := func(name string, n int, f func()) {
		b.Run(name, func(b *testing.B) { bench(b, n, f) })
	}
	const n = rows * cols
	run("copy", n, func() { Copy(d, x) })
	run("copy-transpose", n, func() { Copy(d, xt) })
	run("copy-int64-to-float32", n, func() { Copy(d, whole) })
	run("fill", n, func() { Fill(d, 1) })
	run("add", n, func() { _ = Binary(Add, d, x, y) })
	run("add-8-elements", 8, func() { _ = Binary(Add, small, small, small) })
	run("add-row", n, func() { _ = Binary(Add, d, x, row) })
	run("add-column", n, func() { _ = Binary(Add, d, x, col) })
	run("add-transposed", n, func() { _ = Binary(Add, d, x, xt) })
	run("add-scalar", n, func() { _ = BinaryScalar(Add, d, x, 0.5, false) })
	run("add-scaled", n, func() { AddScaled(d, x, y, 0.5) })
	run("maximum", n, func() { _ = Binary(Maximum, d, x, y) })
	run("floor-divide", n, func() { _ = Binary(FloorDivide, d, x, y) })
	run("relu", n, func() { Unary(ReLU, d, x) })
	run("relu-mask", n, func() { ReLUMask(d, mask, x) })
	run("mask-mul", n, func() { MaskMul(d, x, mask) })
	run("exp", n, func() { Unary(Exp, d, x) })
	run("tanh", n, func() { Unary(Tanh, d, x) })
	run("sigmoid", n, func() { Unary(Sigmoid, d, x) })
	run("pow", n, func() { _ = BinaryScalar(Pow, d, x, 1.7, false) })
}
