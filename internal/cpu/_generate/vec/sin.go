package vec

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// SinLimit is the largest |x| for which SinCos is accurate.
const SinLimit = 0x1p15

// SinCos is the sine of x or of x + pi/2, for |x| <= SinLimit.
func (k *Kernel) SinCos(cosine bool) func(x V) V {
	// pi/2 in three parts of which the first two have few bits.
	const first = 0x1.92p0
	const second = 0x1.fbp-12
	const third = math.Pi/2 - first - second
	perQuarter, shift := k.Const(2/math.Pi), k.Const(magic)
	parts := k.Consts(first, second, third)
	rest := k.Const(third - float64(float32(third)))
	// (sin r / r - 1) / r^2 and (cos r - 1 + r^2/2) / r^4 as polynomials of r^2 for
	// |r| <= pi/4, within 2^-32
	s := k.Consts(2.83268014e-06, -0.000198530717, 0.0083333794, -0.166666672)
	c := k.Consts(2.44306684e-05, -0.00138873013, 0.0416666456)
	half, one := k.Const(-0.5), k.Const(1)
	oneBit, negative := k.Bits(1), k.Bits(signBit)
	return func(x V) V {
		quarter := k.Move(shift)
		VFMADD231PS(perQuarter, x, quarter)
		n := k.Op2(VSUBPS, quarter, shift)
		r := k.Move(x)
		for _, p := range append(parts, rest) {
			VFNMADD231PS(p, n, r)
		}
		if cosine {
			VPADDD(oneBit, quarter, quarter)
		}
		z := k.Op2(VMULPS, r, r)
		sin := k.Poly(z, s)
		VMULPS(z, sin, sin)
		VFMADD213PS(r, r, sin)
		VORPS(k.Op2(VANDPS, r, negative), sin, sin) // -0 too
		cos := k.Poly(z, c)
		VFMADD213PS(half, z, cos)
		VFMADD213PS(one, z, cos)

		// Odd quarters take the cosine, those with the second bit change sign.
		sign, odd := k.Vector(), k.Vector()
		VPSRLD(U8(1), quarter, sign)
		VPSLLD(U8(31), sign, sign)
		VPSLLD(U8(31), quarter, odd)
		var y V
		if k.Wide() {
			m := K()
			VPMOVD2M(odd, m)
			y = k.Select(m, cos, sin)
		} else {
			y = k.Select(odd, cos, sin)
		}
		VXORPS(sign, y, y)
		return y
	}
}
