package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

var opMaximum = binaryOp("maximum", elementwise.Maximum)

var opMinimum = binaryOp("minimum", elementwise.Minimum)

func init() {
	both := func(c *call) { c.saveIn(0); c.saveIn(1) }
	opMaximum.save, opMinimum.save = both, both
	opMaximum.grad = func(b *backward) { b.choose((*Tensor).Lt, (*Tensor).Gt) }
	opMinimum.grad = func(b *backward) { b.choose((*Tensor).Gt, (*Tensor).Lt) }
}

// choose gives the gradient to the operand that was chosen, half of it to each
// at ties. loses0 tells where operand 0 was not, loses1 where operand 1 was
// not; with a NaN neither holds, and both get all of it, as in PyTorch.
func (b *backward) choose(loses0, loses1 func(x, y *Tensor) *Tensor) {
	x, y := b.in(0), b.in(1)
	g := b.grad()
	half := Where(x.Eq(y), g.MulScalar(0.5), g)
	b.giveIf(0, func() *Tensor { return half.MaskedFill(loses0(x, y), 0) })
	b.giveIf(1, func() *Tensor { return half.MaskedFill(loses1(x, y), 0) })
}

// Maximum returns the greater of x and y, elementwise, promoted as [ResultType]
// and broadcast; NaN if either is. At ties the gradient goes half to each. It
// is torch.maximum.
func (x *Tensor) Maximum(y *Tensor) *Tensor { return binary(opMaximum, x, y, sameAsOperands) }

// Minimum returns the smaller of x and y, as [Tensor.Maximum]. It is
// torch.minimum.
func (x *Tensor) Minimum(y *Tensor) *Tensor { return binary(opMinimum, x, y, sameAsOperands) }

// limits is the attribute of clamp.
type limits struct {
	lo, hi       scalar
	hasLo, hasHi bool
}

var opClamp = &opdef{name: "clamp", kernel: func(c *call) *Error {
	l, dst, src := c.attrs.(limits), c.dst(0), c.src(0)
	if dst.DType != cpu.Int64 {
		elementwise.Clamp(dst, src, l.lo.float(), l.hi.float(), l.hasLo, l.hasHi)
		return nil
	}
	// A float64 does not hold every int64.
	if l.hasLo {
		if err := elementwise.BinaryScalarInt(elementwise.Maximum, dst, src, l.lo.i, false); err != nil {
			return divideError(err)
		}
		src = dst
	}
	if l.hasHi {
		return divideError(elementwise.BinaryScalarInt(elementwise.Minimum, dst, src, l.hi.i, false))
	}
	return nil
}}

func init() {
	opClamp.save = saveOperand
	opClamp.grad = func(b *backward) {
		l, x := b.n.attrs.(limits), b.in(0)
		// NaN is out of the limits.
		within := func(op *opdef, s scalar) *Tensor { return apply(op, s, Bool, x.shape, x) }
		var in *Tensor
		switch {
		case l.hasLo && l.hasHi:
			in = within(opGeScalar, l.lo).LogicalAnd(within(opLeScalar, l.hi))
		case l.hasLo:
			in = within(opGeScalar, l.lo)
		default:
			in = within(opLeScalar, l.hi)
		}
		b.give(0, keepWhere(b.grad(), in))
	}
}

// Clamp returns x limited to at least min and at most max, Go numbers, or nil
// for no limit; max wins over a greater min, and NaN stays. An integer tensor
// and a float give Float32. The gradient passes where x lies within the limits,
// inclusive. No limit at all is an [ErrValue] panic. It is torch.clamp.
func (x *Tensor) Clamp(min, max any) *Tensor {
	l, common := limitsOf(x, min, max)
	a := x.To(common)
	defer dropTemporary(a, x)
	return apply(opClamp, l, common, x.shape, a)
}

// Clamp_ limits x's elements in place and returns x. It is
// torch.Tensor.clamp_.
func (x *Tensor) Clamp_(min, max any) *Tensor {
	l, common := limitsOf(x, min, max)
	fitsInPlace("clamp", common, x)
	return applyInPlace(opClamp, l, x)
}

// limitsOf returns clamp's attribute and the type of its result.
func limitsOf(x *Tensor, min, max any) (limits, DType) {
	var l limits
	common := x.dtype
	if min != nil {
		l.lo, l.hasLo = scalarOf("clamp", min), true
		common = l.lo.with(common)
	}
	if max != nil {
		l.hi, l.hasHi = scalarOf("clamp", max), true
		common = l.hi.with(common)
	}
	if !l.hasLo && !l.hasHi {
		panic(newError(ErrValue, "clamp", []*Tensor{x}, "neither a minimum nor a maximum").advise("give at least one"))
	}
	if common == Bool {
		notBool("clamp", x)
	}
	return l, common
}

// ClampMin returns x limited to at least min, as [Tensor.Clamp]. It is
// torch.clamp_min.
func (x *Tensor) ClampMin(min any) *Tensor { return x.Clamp(min, nil) }

// ClampMax returns x limited to at most max, as [Tensor.Clamp]. It is
// torch.clamp_max.
func (x *Tensor) ClampMax(max any) *Tensor { return x.Clamp(nil, max) }

// ClampMin_ limits x to at least min in place and returns x. It is
// torch.Tensor.clamp_min_.
func (x *Tensor) ClampMin_(min any) *Tensor { return x.Clamp_(min, nil) }

// ClampMax_ limits x to at most max in place and returns x. It is
// torch.Tensor.clamp_max_.
func (x *Tensor) ClampMax_(max any) *Tensor { return x.Clamp_(nil, max) }
