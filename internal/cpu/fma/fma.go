// Package fma multiplies and adds with one rounding, as the processor's fused
// instructions and PyTorch's vector code do, where Go has to do without them.
package fma

import (
	"math"
	"unsafe"
)

// Float32 is x*y + z rounded once to float32; x and y are float32 in a wider
// type, so that a loop can widen a factor that does not change before it.
func Float32(x, y float64, z float32) float32 {
	product := float64(x * y) // exact, of float32
	sum := product + float64(z)
	// Rounded to float64 and once more: wrong only if the first rounding gave
	// what lies in the middle between two float32, which denormals have elsewhere.
	if math.Float64bits(sum)<<35 == 1<<63 || sum != 0 && math.Abs(sum) < 0x1p-126 {
		return float32(toOdd(product, float64(z), sum))
	}
	return float32(sum)
}

// Of is x*y + z rounded once to T. x comes widened.
func Of[T float32 | float64](x float64, y, z T) T {
	if unsafe.Sizeof(y) == 4 {
		return T(Float32(x, float64(y), float32(z)))
	}
	return T(math.FMA(x, float64(y), float64(z)))
}

// toOdd is x + y, of which sum is the rounded value, or, where that is not exact,
// the neighbour of the exact value with an odd last bit: rounded to fewer bits it
// gives what the exact value does (Boldo and Melquiond, "Emulation of a FMA and
// correctly rounded sums", 2008).
func toOdd(x, y, sum float64) float64 {
	part := sum - x
	lost := (x - (sum - part)) + (y - part)
	bits := math.Float64bits(sum)
	switch {
	case lost == 0 || lost != lost || bits&1 == 1:
	case math.Signbit(lost) == math.Signbit(sum):
		bits++
	default:
		bits--
	}
	return math.Float64frombits(bits)
}
