package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// Operations that read several operands and write once.

var opAddScaled = &opdef{name: "add", kernel: func(c *call) *Error {
	elementwise.AddScaled(c.dst(0), c.src(0), c.src(1), c.attrs.(scalar).float())
	return nil
}}

func init() {
	opAddScaled.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(1, func() *Tensor { return b.scaled(b.grad()) })
	}
}

// AddScaled returns x + alpha*y, elementwise, promoted as [ResultType] and
// broadcast. alpha is a Go number: an integer if the result is an integer
// tensor, and a bool only for bool tensors, or it is an [ErrDType] panic. It is
// torch.add with alpha.
func (x *Tensor) AddScaled(y *Tensor, alpha any) *Tensor {
	common := resultType(x, y)
	return binaryAs(opAddScaled, alphaOf(x, y, common, alpha), x, y, common, sameAsOperands)
}

// AddScaled_ adds alpha*y to x in place, with alpha as for
// [Tensor.AddScaled], and returns x. It is torch.Tensor.add_ with alpha.
func (x *Tensor) AddScaled_(y *Tensor, alpha any) *Tensor {
	return inPlace(opAddScaled, alphaOf(x, y, resultType(x, y), alpha), x, y)
}

// alphaOf converts and checks the factor of an addition in the type common.
func alphaOf(x, y *Tensor, common DType, alpha any) scalar {
	s := scalarOf("add", alpha)
	switch {
	case s.dtype == Bool && common != Bool:
		panic(newError(ErrDType, "add", []*Tensor{x, y}, "a bool alpha for a result of %s", common).advise("give a number"))
	case s.dtype == Float64 && !common.IsFloat():
		panic(newError(ErrDType, "add", []*Tensor{x, y}, "a floating-point alpha for a result of %s", common).advise("give an integer, or convert the tensors"))
	}
	if s.i > 1<<53 || s.i < -1<<53 {
		panic(newError(ErrValue, "add", []*Tensor{x, y}, "alpha is %d, beyond 2^53", s.i).advise("multiply first"))
	}
	return s
}

// ternaryAs runs op on x, a and b, converted to common and broadcast.
func ternaryAs(op *opdef, attrs any, common DType, x, a, b *Tensor) *Tensor {
	shape, ok := broadcastShape(x.shape, jointShape(op.name, a, b))
	if !ok {
		panic(newError(ErrShape, op.name, []*Tensor{x, a, b}, "the shapes do not broadcast").advise("sizes must match from the right, or be 1"))
	}
	u := converted(common, x, a, b)
	defer dropTemporary(u, x)
	v := converted(common, a, x, b)
	defer dropTemporary(v, a)
	w := converted(common, b, x, a)
	defer dropTemporary(w, b)
	return apply(op, attrs, common, shape, u.broadcastTo(shape), v.broadcastTo(shape), w.broadcastTo(shape))
}

// ternaryInPlace is ternaryAs with the result in x.
func ternaryInPlace(op *opdef, attrs any, common DType, x, a, b *Tensor) *Tensor {
	fitsInPlace(op.name, common, x, a, b)
	if common != x.dtype {
		z := ternaryAs(op, attrs, common, x, a, b)
		defer dropTemporary(z, x)
		return x.Copy_(z)
	}
	v := converted(common, a, x, b)
	defer dropTemporary(v, a)
	w := converted(common, b, x, a)
	defer dropTemporary(w, b)
	return applyInPlace(op, attrs, x, v.broadcastTo(x.shape), w.broadcastTo(x.shape))
}

var opAddcmul = &opdef{name: "addcmul", kernel: func(c *call) *Error {
	elementwise.Addcmul(c.dst(0), c.src(0), c.src(1), c.src(2), c.attrs.(scalar).float())
	return nil
}}

func init() {
	opAddcmul.save = func(c *call) {
		if c.needs[2] {
			c.saveIn(1)
		}
		if c.needs[1] {
			c.saveIn(2)
		}
	}
	opAddcmul.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(1, func() *Tensor { return b.grad().Mul(b.scaled(b.in(2))) })
		b.giveIf(2, func() *Tensor { return b.grad().Mul(b.scaled(b.in(1))) })
	}
}

// Addcmul returns x + v*a*b, elementwise, promoted and broadcast, for
// floating-point results and a Go number v. Results of another type are an
// [ErrDType] panic. It is torch.addcmul.
func (x *Tensor) Addcmul(a, b *Tensor, v any) *Tensor {
	return ternaryAs(opAddcmul, scalarOf("addcmul", v), realType(opAddcmul, x, a, b), x, a, b)
}

// Addcmul_ adds v*a*b to the floating-point tensor x in place and returns x. It
// is torch.Tensor.addcmul_.
func (x *Tensor) Addcmul_(a, b *Tensor, v any) *Tensor {
	return ternaryInPlace(opAddcmul, scalarOf("addcmul", v), realType(opAddcmul, x, a, b), x, a, b)
}

// realType returns the promoted type of operands, which is to be
// floating-point.
func realType(op *opdef, operands ...*Tensor) DType {
	common := resultType(operands...)
	if !common.IsFloat() {
		panic(newError(ErrDType, op.name, operands, "the result is %s, expected a floating-point type", common).advise("convert an operand with To, or use Mul, Div and Add"))
	}
	return common
}

var opAddcdiv = &opdef{name: "addcdiv", kernel: func(c *call) *Error {
	elementwise.Addcdiv(c.dst(0), c.src(0), c.src(1), c.src(2), c.attrs.(scalar).float())
	return nil
}}

func init() {
	opAddcdiv.save = func(c *call) {
		if c.needs[2] {
			c.saveIn(1)
		}
		c.saveIn(2)
	}
	opAddcdiv.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(1, func() *Tensor { return b.scaled(b.grad()).Div(b.in(2)) })
		b.giveIf(2, func() *Tensor {
			d := b.in(2)
			return b.scaled(b.grad()).Neg().Mul(b.in(1).Div(d.Square()))
		})
	}
}

// Addcdiv returns x + v*a/b, elementwise, promoted and broadcast, for
// floating-point results and a Go number v. Two integer or bool tensors a and b
// are an [ErrDType] panic, as in PyTorch. It is torch.addcdiv.
func (x *Tensor) Addcdiv(a, b *Tensor, v any) *Tensor {
	realType(opAddcdiv, a, b)
	return ternaryAs(opAddcdiv, scalarOf("addcdiv", v), resultType(x, a, b), x, a, b)
}

// Addcdiv_ adds v*a/b to the floating-point tensor x in place and returns x. It
// is torch.Tensor.addcdiv_.
func (x *Tensor) Addcdiv_(a, b *Tensor, v any) *Tensor {
	realType(opAddcdiv, a, b)
	return ternaryInPlace(opAddcdiv, scalarOf("addcdiv", v), resultType(x, a, b), x, a, b)
}

var opLerp = &opdef{name: "lerp", kernel: func(c *call) *Error {
	elementwise.Lerp(c.dst(0), c.src(0), c.src(1), c.attrs.(scalar).f)
	return nil
}}

func init() {
	opLerp.grad = func(b *backward) {
		b.giveIf(0, func() *Tensor { return b.grad().MulScalar(1 - b.n.attrs.(scalar).f) })
		b.giveIf(1, func() *Tensor { return b.scaled(b.grad()) })
	}
}

// Lerp returns x + weight*(end-x), elementwise and broadcast: x at weight 0,
// end at weight 1. Both are of one floating-point type, or it is an [ErrDType]
// panic. It is torch.lerp.
func (x *Tensor) Lerp(end *Tensor, weight float64) *Tensor {
	sameType("lerp", x, end)
	common := realType(opLerp, x, end)
	return binaryAs(opLerp, scalar{dtype: Float64, f: weight}, x, end, common, sameAsOperands)
}

// Lerp_ moves x toward end by weight in place, as [Tensor.Lerp], and returns x.
// It is torch.Tensor.lerp_.
func (x *Tensor) Lerp_(end *Tensor, weight float64) *Tensor {
	sameType("lerp", x, end)
	realType(opLerp, x, end)
	return inPlace(opLerp, scalar{dtype: Float64, f: weight}, x, end)
}
