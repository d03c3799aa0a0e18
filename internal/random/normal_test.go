package random

import (
	"math"
	"testing"
)

// ulps is the distance of two floats of one sign in steps of float32.
func ulps(a, b float32) int64 {
	return int64(math.Float32bits(a)) - int64(math.Float32bits(b))
}

// log32 and sincos32 against package math, over a twentieth of all the values that
// are ever drawn, with both ends.
func TestElementary(t *testing.T) {
	var off, n int
	count := func(what string, x, got, want float32) {
		n++
		switch d := ulps(got, want); {
		case d < -1 || d > 1:
			t.Fatalf("%s(%v) = %v, want %v", what, x, got, want)
		case d != 0:
			off++
		}
	}
	for k := 0; k <= 1<<24; k += 20 {
		if k > 1<<24-1000 {
			k -= 19 // every one
		}
		x := float32(k) / (1 << 24)
		if k > 0 {
			count("log", x, log32(x), float32(math.Log(float64(x))))
		}
		theta := 2 * math.Pi * x
		sin, cos := sincos32(theta)
		wantSin, wantCos := math.Sincos(float64(theta))
		count("sin", theta, sin, float32(wantSin))
		count("cos", theta, cos, float32(wantCos))
	}
	if off*10000 > n {
		t.Errorf("%d of %d in the last bit", off, n)
	}
}

// Moments of many normals: mean 0, variance 1, no skew, kurtosis 3.
func TestNormalMoments(t *testing.T) {
	const n = 1 << 18
	x := make([]float32, n)
	Normal(New(99), x, 0, 1)
	var m [5]float64
	for _, v := range x {
		p := 1.0
		for i := range m {
			m[i] += p / n
			p *= float64(v)
		}
	}
	for i, want := range []float64{1, 0, 1, 0, 3} {
		// The standard error of the fourth moment is sqrt(96/n), the largest.
		if math.Abs(m[i]-want) > 5*math.Sqrt(96.0/n) {
			t.Errorf("moment %d is %v, want %v", i, m[i], want)
		}
	}
}
