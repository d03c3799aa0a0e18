package fma

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact is x*y + z rounded once to float32, by exact arithmetic.
func exact(x, y, z float32) float32 {
	b := func(v float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(v)) }
	product := b(0).Mul(b(x), b(y))
	sum, _ := product.Add(product, b(z)).Float32()
	return sum
}

// Sums that lie in the middle between two float32, or next to it, where rounding
// twice goes wrong, and denormal ones.
func TestFloat32RoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	twice := 0
	for range 200000 {
		x := float32(1+r.IntN(1<<12)) * 0x1p-12
		y := float32(1+r.IntN(1<<12)) * 0x1p-13
		z := math.Float32frombits(0x3f800000 + uint32(r.IntN(1<<23)))
		switch r.IntN(4) {
		case 0:
			x, y = x*0x1p-24, y*(1+0x1p-20)
		case 1:
			x, y, z = x*0x1p-80, y*0x1p-60, z*0x1p-130
		case 2:
			y, z = -y*0x1p-23, z*0x1p30
		case 3: // the middle but for less than float64 can hold
			x, y = 1+0x1p-23, 0x1p-24*(1-0x1p-23)
		}
		want := exact(x, y, z)
		if got := Float32(float64(x), float64(y), z); got != want {
			t.Fatalf("%v*%v + %v is %v, want %v", x, y, z, got, want)
		}
		if float32(float64(x)*float64(y)+float64(z)) != want {
			twice++
		}
	}
	if twice == 0 {
		t.Error("no sum in which rounding twice goes wrong")
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan, zero := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	for _, c := range []struct{ x, y, z, want float32 }{
		{inf, 1, 1, inf}, {inf, 0, 1, nan}, {inf, 1, -inf, nan}, {1, 1, nan, nan}, {nan, 0, 0, nan},
		{zero, 1, zero, zero}, {0, 1, zero, 0}, {math.MaxFloat32, math.MaxFloat32, 0, inf},
		{math.MaxFloat32, math.MaxFloat32, -inf, -inf}, {0x1p-149, 0.5, 0, 0}, {0x1p-149, 0.75, 0, 0x1p-149},
	} {
		got := Of(float64(c.x), c.y, c.z)
		if got != c.want && (got == got || c.want == c.want) || math.Signbit(float64(got)) != math.Signbit(float64(c.want)) && got == got {
			t.Errorf("%v*%v + %v is %v, want %v", c.x, c.y, c.z, got, c.want)
		}
	}
	if got := Of(0.1, 10.0, -1.0); got != math.FMA(0.1, 10, -1) {
		t.Errorf("in float64: %v", got)
	}
}
