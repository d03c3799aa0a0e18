package reduce

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Lines of float32 that lie side by side, in the processor's vectors: elements
// are computed in float32, by an exponential within 1 ulp, and summed up in
// float64. d may be where an input is.

// vectors reports whether the line is for the functions of this file.
func (l line[T]) vectors() bool {
	return inUse != nil && inUse.expSum != nil && unsafe.Sizeof(T(0)) == 4 && l.step == 4
}

// vectorTask is how many elements of such lines a task has at least: some 15
// microseconds.
const vectorTask = 1 << 15

// lineTask is how many elements of lines along dim a task has at least.
func lineTask(dim int, operands ...cpu.Array) int {
	for _, a := range operands {
		if inUse == nil || inUse.expSum == nil || a.DType != cpu.Float32 || len(a.Shape) > 0 && a.Strides[dim] != 1 && a.Shape[dim] > 1 {
			return taskLen
		}
	}
	return vectorTask
}

// peakOf is the largest element of at least one. If one is NaN it may be any: so
// is then the exponential of some element, and with it the sum.
func peakOf(n int, x unsafe.Pointer) float32 {
	cpu.MarkRead(x, n*4)
	if n <= longRun {
		return inUse.peak(n, at32(x, 0))
	}
	m := float32(math.Inf(-1))
	eachRun(n, func(from, n int) { m = max(m, inUse.peak(n, at32(x, from))) })
	return m
}

// sumOfRuns is the sum of what f returns for each run of n elements.
func sumOfRuns(n int, f func(from, n int) float64) float64 {
	sums := newCascade(plus[float64], 0)
	eachRun(n, func(from, n int) { sums.add(f(from, n)) })
	return sums.total()
}

func sumExpOf(n int, x unsafe.Pointer, shift float32) float64 {
	if n <= longRun {
		return inUse.sumExp(n, at32(x, 0), shift)
	}
	return sumOfRuns(n, func(from, n int) float64 { return inUse.sumExp(n, at32(x, from), shift) })
}

// The lines below have a way of their own for what is one run, since most lines
// are short.

func softMaxLine(n int, d, x unsafe.Pointer) {
	if n == 0 {
		return
	}
	cpu.MarkWrite(d, n*4)
	m := peakOf(n, x)
	if n <= longRun {
		sum := inUse.expSum(n, at32(d, 0), at32(x, 0), m)
		inUse.scale(n, at32(d, 0), float32(1/sum))
		return
	}
	sum := sumOfRuns(n, func(from, n int) float64 { return inUse.expSum(n, at32(d, from), at32(x, from), m) })
	eachRun(n, func(from, n int) { inUse.scale(n, at32(d, from), float32(1/sum)) })
}

func logSoftMaxLine(n int, d, x unsafe.Pointer) {
	if n == 0 {
		return
	}
	cpu.MarkWrite(d, n*4)
	m := peakOf(n, x)
	log := float32(math.Log(sumExpOf(n, x, m)))
	for from := 0; from < n; from += longRun {
		inUse.subtract(min(longRun, n-from), at32(d, from), at32(x, from), m, log)
	}
}

func softMaxGradientLine(n int, d, g, y unsafe.Pointer) {
	cpu.MarkRead(g, n*4)
	cpu.MarkRead(y, n*4)
	cpu.MarkWrite(d, n*4)
	if n <= longRun {
		sum := inUse.dot(n, at32(g, 0), at32(y, 0))
		inUse.softMaxGradient(n, at32(d, 0), at32(g, 0), at32(y, 0), float32(sum))
		return
	}
	sum := sumOfRuns(n, func(from, n int) float64 { return inUse.dot(n, at32(g, from), at32(y, from)) })
	eachRun(n, func(from, n int) {
		inUse.softMaxGradient(n, at32(d, from), at32(g, from), at32(y, from), float32(sum))
	})
}

func logSoftMaxGradientLine(n int, d, g, y unsafe.Pointer) {
	cpu.MarkRead(g, n*4)
	cpu.MarkRead(y, n*4)
	cpu.MarkWrite(d, n*4)
	if n <= longRun {
		sum := inUse.sum(n, at32(g, 0))
		inUse.logSoftMaxGradient(n, at32(d, 0), at32(g, 0), at32(y, 0), float32(sum))
		return
	}
	sum := sumOfRuns(n, func(from, n int) float64 { return inUse.sum(n, at32(g, from)) })
	eachRun(n, func(from, n int) {
		inUse.logSoftMaxGradient(n, at32(d, from), at32(g, from), at32(y, from), float32(sum))
	})
}
