package loss

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// vectors are the loops of one processor level over float32 that lie side by
// side. The comments of the assembly say what each computes.
type vectors struct {
	level cpu.SIMD

	peak             func(n int, x *float32) float32
	sumExp           func(n int, x *float32, shift float32) float64
	expScale         func(n int, d, x *float32, high, low, scale float32)
	squaredDistance  func(n int, x, y *float32) float64
	distanceGradient func(n int, d, x, y *float32, norm, scale float32)
}

// inUse are the loops of the processor's level, nil if there are none but
// those in Go.
var inUse = cpu.Best(vectorSets(), func(v *vectors) cpu.SIMD { return v.level })

// longRun is the most elements that go to a loop in assembly at once, which
// cannot be interrupted: some ten microseconds.
const longRun = 1 << 14

// inVectors reports whether rows of a are float32 side by side and the
// processor has loops for them.
func inVectors(a cpu.Array) bool {
	return inUse != nil && a.DType == cpu.Float32 && a.Shape[1] > 0 && (a.Strides[1] == 1 || a.Shape[1] == 1)
}

func float32At(a cpu.Array, offset int) *float32 { return (*float32)(unsafe.Add(a.Data, offset*4)) }

func after(p *float32, n int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), n*4)) }

// logSumExpOf is problem.logSumExp of n elements. If one is NaN the greatest may
// be any, but an exponential and their sum are NaN.
func logSumExpOf(x *float32, n int) (greatest, logSum float64) {
	cpu.MarkRead(unsafe.Pointer(x), n*4)
	m := float32(math.Inf(-1))
	for from := 0; from < n; from += longRun {
		m = max(m, inUse.peak(min(longRun, n-from), after(x, from)))
	}
	sum := 0.0
	for from := 0; from < n; from += longRun {
		sum += inUse.sumExp(min(longRun, n-from), after(x, from), m)
	}
	return float64(m), logOf(sum)
}

// probabilitiesOf sets d to scale * exp(x - logSumExp), of n elements.
func probabilitiesOf(d, x *float32, n int, logSumExp, scale float64) {
	cpu.MarkRead(unsafe.Pointer(x), n*4)
	cpu.MarkWrite(unsafe.Pointer(d), n*4)
	high := float32(logSumExp)
	low := float32(logSumExp - float64(high))
	for from := 0; from < n; from += longRun {
		inUse.expScale(min(longRun, n-from), after(d, from), after(x, from), high, low, float32(scale))
	}
}
