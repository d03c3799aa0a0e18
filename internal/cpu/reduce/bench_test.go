package reduce

import (
	"math/rand/v2"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

func benchArray(t cpu.DType, shape ...int) cpu.Array {
	strides := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= shape[i]
	}
	g := arraytest.New(t, shape, strides)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range g.Len() {
		if arraytest.IsFloat(t) {
			g.SetFloat(i, r.NormFloat64())
		} else {
			g.SetInteger(i, r.Int64N(100))
		}
	}
	return g.Array
}

func Benchmark(b *testing.B) {
	const rows, cols, n = 256, 1024, 256 * 1024
	x, y, d := benchArray(cpu.Float32, rows, cols), benchArray(cpu.Float32, rows, cols), benchArray(cpu.Float32, rows, cols)
	wide, whole := benchArray(cpu.Float64, rows, cols), benchArray(cpu.Int64, rows, cols)
	one, col, row := benchArray(cpu.Float32, 1, 1), benchArray(cpu.Float32, rows, 1), benchArray(cpu.Float32, 1, cols)
	one64, col64 := benchArray(cpu.Float64, 1, 1), benchArray(cpu.Int64, rows, 1)
	short, shortCol := benchArray(cpu.Float32, n/4, 4), benchArray(cpu.Float32, n/4, 1)
	mean, thin := benchArray(cpu.Float32, rows, 1), benchArray(cpu.Float32, 1, 4)
	classes := benchArray(cpu.Float32, n/16, 16)
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			f()
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/elem")
		})
	}
	both, last, first := []int{0, 1}, []int{1}, []int{0}
	run("sum", func() { Reduce(Sum, one, x, both) })
	run("sum-float64", func() { Reduce(Sum, one64, wide, both) })
	run("sum-int64", func() { Reduce(Sum, col64, whole, last) })
	run("sum-rows", func() { Reduce(Sum, col, x, last) })
	run("sum-columns", func() { Reduce(Sum, row, x, first) })
	run("sum-rows-of-4", func() { Reduce(Sum, shortCol, short, last) })
	run("sum-4-columns", func() { Reduce(Sum, thin, short, first) })
	run("sum-squares", func() { Reduce(SumSquares, one, x, both) })
	run("max", func() { Reduce(Max, col, x, last) })
	run("max-columns", func() { Reduce(Max, row, x, first) })
	run("argmax", func() { ArgMax(col64, x, 1) })
	run("cumsum", func() { CumSum(d, x, 1) })
	run("var-mean", func() { VarMean(col, mean, x, last, 1) })
	run("softmax", func() { SoftMax(d, x, 1) })
	run("softmax-rows-of-16", func() { SoftMax(classes, classes, 1) })
	run("softmax-columns", func() { SoftMax(d, x, 0) })
	run("log-softmax", func() { LogSoftMax(d, x, 1) })
	run("softmax-backward", func() { SoftMaxBackward(d, x, y, 1) })
}
