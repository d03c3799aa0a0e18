package vec

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// The polynomials of this package are near-minimax fits that coefficients.py
// makes. Each function says what it approximates, and where.

// ln2High has few bits, so that its product with an exponent is exact.
const (
	ln2High = 0x1.63p-1
	ln2Low  = math.Ln2 - ln2High
)

// exponential is what the functions of this file share: constants, made before
// the loop.
type exponential struct {
	*Kernel
	lowest, highest, log2e, magic, high, low Op
	coefficients                             []Op
	one                                      Op
	magicBits, bias                          Op // AVX2 only
}

func (k *Kernel) exponential(lowest, highest float64) exponential {
	e := exponential{Kernel: k, log2e: k.Const(math.Log2E), magic: k.Const(magic),
		high: k.Const(ln2High), low: k.Const(ln2Low),
		// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, within 2^-28 of e^r
		coefficients: k.Consts(0.0013941878, 0.00836867932, 0.0416663885, 0.166665211, 0.5),
		one:          k.Const(1)}
	if lowest != 0 {
		e.lowest = k.Const(lowest)
	}
	if highest != 0 {
		e.highest = k.Const(highest)
	}
	if !k.Wide() {
		e.magicBits, e.bias = k.Bits(math.Float32bits(magic)), k.Bits(127)
	}
	return e
}

// reduce writes x as n ln 2 + r and gives n, n + magic and r. NaN goes to r.
func (e exponential) reduce(x V) (n, shifted, r V) {
	if e.lowest != nil {
		x = e.max(x, e.lowest)
	}
	if e.highest != nil {
		x = e.min(x, e.highest)
	}
	shifted = e.Move(e.magic)
	VFMADD231PS(e.log2e, x, shifted)
	n = e.Op2(VSUBPS, shifted, e.magic)
	r = e.Move(x)
	VFNMADD231PS(e.high, n, r)
	VFNMADD231PS(e.low, n, r)
	return n, shifted, r
}

// max and min give x, the second operand, if it is NaN.
func (e exponential) max(x V, limit Op) V { return e.Op2(VMAXPS, e.register(limit), x) }
func (e exponential) min(x V, limit Op) V { return e.Op2(VMINPS, e.register(limit), x) }

// minus1 is e^r - 1.
func (e exponential) minus1(r V) V {
	q := e.Poly(r, e.coefficients)
	square := e.Op2(VMULPS, r, r)
	VFMADD213PS(r, square, q)
	return q
}

// scale is p * 2^n, rounded once, denormal, 0 or infinite if need be.
func (e exponential) scale(p, n, shifted V) V {
	if e.Wide() {
		return e.Op2(VSCALEFPS, p, n)
	}
	whole := e.Op2(VPSUBD, shifted, e.magicBits)
	half := e.Vector()
	VPSRAD(U8(1), whole, half)
	rest := e.Op2(VPSUBD, whole, half)
	for _, h := range []V{half, rest} {
		VPADDD(e.bias, h, h)
		VPSLLD(U8(23), h, h)
		VMULPS(h, p, p)
	}
	return p
}

// Exp is e^x within 1 ulp, NaN for NaN.
func (k *Kernel) Exp() func(x V) V {
	e := k.exponential(-104, 89)
	return func(x V) V {
		n, shifted, r := e.reduce(x)
		p := e.minus1(r)
		VADDPS(e.one, p, p)
		return e.scale(p, n, shifted)
	}
}

// ExpBelow is [Kernel.Exp] for x that is at most 0 or so, or NaN.
func (k *Kernel) ExpBelow() func(x V) V {
	e := k.exponential(-104, 0)
	return func(x V) V {
		n, shifted, r := e.reduce(x)
		p := e.minus1(r)
		VADDPS(e.one, p, p)
		return e.scale(p, n, shifted)
	}
}

// Expm1 is e^x - 1.
func (k *Kernel) Expm1() func(x V) V {
	e := k.exponential(-20, 89)
	half, tiny := k.Const(0.5), k.Const(0x1p-25)
	return func(x V) V {
		// 2^n (e^r - 1) + (2^n - 1), with half of 2^n so that it does not overflow early.
		n, shifted, r := e.reduce(x)
		p := e.minus1(r)
		power := e.scale(e.Move(half), n, shifted)
		rest := e.Op2(VSUBPS, power, half)
		VFMADD213PS(rest, power, p)
		VADDPS(p, p, p)
		// -0 and what is so small that it is its own result
		return e.Select(e.Test(Le, e.Abs(x), tiny), x, p)
	}
}

// Sigmoid is 1/(1+e^-x): e^x/(1+e^x) for x < 0, so that it is never rounded to 0
// too early.
func (k *Kernel) Sigmoid() func(x V) V {
	exp := k.ExpBelow()
	sign, one := k.Bits(signBit), k.Const(1)
	zero := k.Zero()
	return func(x V) V {
		z := exp(k.Op2(VORPS, x, sign))
		top := k.Select(k.Test(Lt, x, zero), z, k.register(one))
		return k.Op2(VDIVPS, top, k.Op2(VADDPS, z, one))
	}
}

// Tanh is x + x^3 P(x^2) below 0.625, 1 - 2/(e^2x + 1) above.
func (k *Kernel) Tanh() func(x V) V {
	e := k.exponential(0, 20)
	// (tanh x / x - 1) / x^2 as a polynomial of x^2, within 2^-27 of tanh
	c := k.Consts(-0.00569229666, 0.0206281673, -0.0537365153, 0.133314058, -0.333332807)
	sign, limit, two := k.Bits(signBit), k.Const(0.625), k.Const(2)
	return func(x V) V {
		abs := k.Abs(x)
		n, shifted, r := e.reduce(k.Op2(VADDPS, abs, abs))
		p := e.minus1(r)
		VADDPS(e.one, p, p)
		p = e.scale(p, n, shifted)
		VADDPS(e.one, p, p)
		q := k.Op2(VDIVPS, k.register(two), p)
		large := k.Op2(VSUBPS, k.register(e.one), q)

		z := k.Op2(VMULPS, x, x)
		small := k.Poly(z, c)
		VMULPS(z, small, small)
		VFMADD213PS(x, x, small)
		y := k.Select(k.Test(UnGe, abs, limit), large, small)
		VORPS(k.Op2(VANDPS, x, sign), y, y) // -0 too
		return y
	}
}

// Erf is x + x P(x^2) below 0.9375, 1 - e^(-x - x Q(x)) above.
func (k *Kernel) Erf() func(x V) V {
	e := k.exponential(-104, 0)
	sign, limit, end := k.Bits(signBit), k.Const(0.9375), k.Const(4)
	// erf x / x - 1 as a polynomial of x^2, within 2^-30
	c := k.Consts(8.00277485e-05, -0.000805080403, 0.00519246049, -0.0268557407, 0.112836257, -0.376126289, 0.128379166)
	// (-log(1 - erf x) - x) / x on [0.92, 4], within 2^-30 of erf
	d := k.Consts(1.12298903e-05, -0.000322793669, 0.00364242936, -0.0237620194, 0.106236845, 0.635151327, 0.12864849)
	return func(x V) V {
		abs := k.Abs(x)
		t := e.min(abs, end)
		q := k.Poly(t, d)
		VFMADD213PS(t, t, q)
		VXORPS(sign, q, q)
		n, shifted, r := e.reduce(q)
		p := e.minus1(r)
		VADDPS(e.one, p, p)
		p = e.scale(p, n, shifted)
		large := k.Op2(VSUBPS, k.register(e.one), p)
		VORPS(k.Op2(VANDPS, x, sign), large, large)

		small := k.Poly(k.Op2(VMULPS, x, x), c)
		VFMADD213PS(x, x, small)
		return k.Select(k.Test(UnGe, abs, limit), large, small)
	}
}
