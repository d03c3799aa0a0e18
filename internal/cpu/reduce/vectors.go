package reduce

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// vectors are the loops of one processor level over float32 (sum64: float64)
// that lie side by side, nil where it has none. The comments of the assembly say
// what each computes. With expSum there are all that softmax and its relatives
// take.
type vectors struct {
	level cpu.SIMD

	sum, sumSquares func(n int, x *float32) float64
	sum64           func(n int, x *float64) float64
	dot             func(n int, x, y *float32) float64
	sumRows         func(n int, x *float32, stride, cols int, sums *float64)
	addRows         func(n int, x *float32, stride, cols int, sums *float64)
	greatest, least func(n int, x *float32) float32
	peak            func(n int, x *float32) float32
	indexOf         func(n int, x *float32, v float32) int

	expSum             func(n int, d, x *float32, shift float32) float64
	sumExp             func(n int, x *float32, shift float32) float64
	scale              func(n int, d *float32, v float32)
	subtract           func(n int, d, x *float32, v, w float32)
	softMaxGradient    func(n int, d, g, y *float32, sum float32)
	logSoftMaxGradient func(n int, d, g, y *float32, sum float32)
}

// inUse are the loops of the processor's level, nil if there are none but
// those in Go.
var inUse = cpu.Best(vectorSets(), func(v *vectors) cpu.SIMD { return v.level })

// longRun is the most elements that go to a loop in assembly at once: some ten
// microseconds, and few enough that a partial sum has no more than a few hundred
// terms.
const longRun = 1 << 14

// eachRun calls f for the runs of n elements: where each begins and its length.
func eachRun(n int, f func(from, n int)) {
	for from := 0; from < n; from += longRun {
		f(from, min(longRun, n-from))
	}
}

func at32(p unsafe.Pointer, i int) *float32 { return (*float32)(unsafe.Add(p, i*4)) }

// The kernels of fold. They are the Go ones where inUse has none.

func sumOf[T number, A number]() kernel[T, A] {
	k := kernel[T, A]{run: sumRun[T, A], rows: addRow[T, A], merge: plus[A]}
	switch k := any(&k).(type) {
	case *kernel[float32, float64]:
		k.run, k.many, k.long = sumFloat32, addRows, longRun
		if inUse != nil {
			k.run = marked(inUse.sum)
		}
		if inUse != nil && inUse.addRows != nil {
			k.many, k.lines = many, manyLines
		}
	case *kernel[float64, float64]:
		if inUse != nil && inUse.sum64 != nil {
			k.run, k.long = marked(inUse.sum64), longRun
		}
	}
	return k
}

func sumSquaresOf[T float]() kernel[T, float64] {
	k := kernel[T, float64]{run: squareRun[T], rows: addSquareRow[T], merge: plus[float64]}
	if k, ok := any(&k).(*kernel[float32, float64]); ok && inUse != nil && inUse.sumSquares != nil {
		k.run, k.long = marked(inUse.sumSquares), longRun
	}
	return k
}

func maxKernel[T number](lowest T) kernel[T, T] {
	k := kernel[T, T]{identity: lowest, run: maxRun[T], rows: maxRow[T], merge: func(a, b T) T { return max(a, b) }}
	if k, ok := any(&k).(*kernel[float32, float32]); ok && inUse != nil && inUse.greatest != nil {
		k.run, k.long = marked(inUse.greatest), longRun
	}
	return k
}

func minKernel[T number](highest T) kernel[T, T] {
	k := kernel[T, T]{identity: highest, run: minRun[T], rows: minRow[T], merge: func(a, b T) T { return min(a, b) }}
	if k, ok := any(&k).(*kernel[float32, float32]); ok && inUse != nil && inUse.least != nil {
		k.run, k.long = marked(inUse.least), longRun
	}
	return k
}

func marked[T, A any](f func(n int, x *T) A) func(x []T) A {
	return func(x []T) A {
		p := unsafe.SliceData(x)
		cpu.MarkRead(unsafe.Pointer(p), len(x)*int(unsafe.Sizeof(*p)))
		return f(len(x), p)
	}
}

func many(acc []float64, x *float32, rows, stride int) {
	for i := range rows {
		cpu.MarkRead(unsafe.Add(unsafe.Pointer(x), i*stride), len(acc)*4)
	}
	inUse.addRows(rows, x, stride, len(acc), unsafe.SliceData(acc))
}

func manyLines(sums []float64, x *float32, n, stride int) {
	for i := range sums {
		cpu.MarkRead(unsafe.Add(unsafe.Pointer(x), i*stride), n*4)
	}
	inUse.sumRows(len(sums), x, stride, n, unsafe.SliceData(sums))
}
