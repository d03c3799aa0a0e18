package vec

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// logarithm is what the functions of this file share.
type logarithm struct {
	*Kernel
	least, up, down, below, low, high Op
	coefficients                      []Op
	infinity, minusInfinity, nan, one Op
}

func (k *Kernel) logarithm() logarithm {
	return logarithm{Kernel: k,
		below: k.Bits(math.Float32bits(0.75)), one: k.Const(1),
		// (log(1+f) - f) / f^2 for f from -1/4 to 1/2, within 2^-27 of log(1+f)
		coefficients: k.Consts(-0.0451344103, 0.104711153, -0.131640986, 0.144779876, -0.166469306,
			0.199908331, -0.250001073, 0.333334506, -0.5),
		low: k.Const(ln2Low), high: k.Const(ln2High),
		infinity: k.Const(math.Inf(1)), minusInfinity: k.Const(math.Inf(-1)), nan: k.Const(math.NaN()),
		least: k.Const(0x1p-126), up: k.Const(0x1p23), down: k.Const(23)}
}

// split writes x > 0 as m 2^e with m from 3/4 to 3/2, and gives m and e.
func (l logarithm) split(x V) (m, e V) {
	// The exponent of x/0.75; what is left of x has the exponent of 0.75 or 1.
	e = l.Op2(VPSUBD, x, l.below)
	VPSRAD(U8(23), e, e)
	m = l.Vector()
	VPSLLD(U8(23), e, m)
	m = l.Op2(VPSUBD, x, m)
	VCVTDQ2PS(e, e)
	return m, e
}

// of is log(1+f) + e ln 2 + extra.
func (l logarithm) of(f, e V, extra V) V {
	q := l.Poly(f, l.coefficients)
	square := l.Op2(VMULPS, f, f)
	rest := l.Op2(VMULPS, e, l.low)
	if extra != nil {
		VADDPS(extra, rest, rest)
	}
	VFMADD213PS(rest, square, q)
	VADDPS(f, q, q)
	VFMADD231PS(l.high, e, q)
	return q
}

// special puts right the logarithm y of x where x is 0, less, infinite or NaN.
func (l logarithm) special(x, y, zero V) V {
	y = l.Select(l.Test(UnGe, x, l.infinity), x, y)
	y = l.Select(l.Test(Lt, x, zero), l.nan, y)
	return l.Select(l.Test(Eq, x, zero), l.minusInfinity, y)
}

// Log is the natural logarithm.
func (k *Kernel) Log() func(x V) V {
	l := k.logarithm()
	zero := k.Zero()
	return func(x V) V {
		denormal := k.Test(Lt, x, l.least)
		scaled := k.Select(denormal, k.Op2(VMULPS, x, l.up), x)
		m, e := l.split(scaled)
		e = k.Select(denormal, k.Op2(VSUBPS, e, l.down), e)
		return l.special(x, l.of(k.Op2(VSUBPS, m, l.one), e, nil), zero)
	}
}

// Log1p is log(1+x): that of u, which is 1+x rounded, and what the rounding
// lost, relative to u.
func (k *Kernel) Log1p() func(x V) V {
	l := k.logarithm()
	zero, tiny := k.Zero(), k.Const(0x1p-25)
	return func(x V) V {
		u := k.Op2(VADDPS, x, l.one)
		// x and 1 in turn, the larger first: lost = smaller - (u - larger)
		larger, smaller := k.Op2(VMAXPS, x, l.one), k.Op2(VMINPS, x, l.one)
		lost := k.Op2(VSUBPS, smaller, k.Op2(VSUBPS, u, larger))
		m, e := l.split(u)
		y := l.of(k.Op2(VSUBPS, m, l.one), e, k.Op2(VDIVPS, lost, u))
		y = l.special(u, y, zero)
		return k.Select(k.Test(Le, k.Abs(x), tiny), x, y)
	}
}
