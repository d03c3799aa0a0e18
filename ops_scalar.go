package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// The second operand of the operations below is a Go integer, float or bool. It
// raises the type of the result only by its category: an integer tensor and a
// float give Float32, a Float32 tensor and a float stay Float32. The number is
// converted to that type first, as in PyTorch.

// scalarOp is an elementwise operation on a tensor and a number, its attribute.
func scalarOp(name string, op elementwise.BinaryOp) *opdef {
	return &opdef{name: name, kernel: func(c *call) *Error { return scalarKernel(c, op, false) }}
}

// reversedOp is scalarOp with the number as the left operand.
func reversedOp(name string, op elementwise.BinaryOp) *opdef {
	return &opdef{name: name, kernel: func(c *call) *Error { return scalarKernel(c, op, true) }}
}

func scalarKernel(c *call, op elementwise.BinaryOp, reversed bool) *Error {
	s := c.attrs.(scalar)
	if s.dtype == Float64 {
		return divideError(elementwise.BinaryScalar(op, c.dst(0), c.src(0), s.f, reversed))
	}
	return divideError(elementwise.BinaryScalarInt(op, c.dst(0), c.src(0), s.i, reversed))
}

// withScalar runs op on x and v for a result of the type they have in common.
func withScalar(op *opdef, x *Tensor, v any) *Tensor {
	s := scalarOf(op.name, v)
	return withScalarAs(op, x, s, s.with(x.dtype), sameAsOperands)
}

// withScalarAs runs op on x, converted to common, and the number s.
func withScalarAs(op *opdef, x *Tensor, s any, common, result DType) *Tensor {
	if result == sameAsOperands {
		result = common
	}
	if x.dtype == common {
		return apply(op, s, result, x.shape, x)
	}
	a := x.To(common)
	defer dropTemporary(a, x)
	return apply(op, s, result, x.shape, a)
}

// scalarInPlace runs op on x and v, with the result in x.
func scalarInPlace(op *opdef, x *Tensor, v any) *Tensor {
	s := scalarOf(op.name, v)
	fitsInPlace(op.name, s.with(x.dtype), x)
	return applyInPlace(op, s, x)
}

// scaled returns g times the number that is the attribute of the node, in g's
// type.
func (b *backward) scaled(g *Tensor) *Tensor {
	return apply(opMulScalar, b.n.attrs, g.dtype, g.shape, g)
}

var opAddScalar = scalarOp("add", elementwise.Add)

func init() { opAddScalar.grad = func(b *backward) { b.give(0, b.grad()) } }

var opSubScalar = scalarOp("sub", elementwise.Sub)

func init() { opSubScalar.grad = func(b *backward) { b.give(0, b.grad()) } }

var opRSubScalar = reversedOp("rsub", elementwise.Sub)

func init() { opRSubScalar.grad = func(b *backward) { b.give(0, b.grad().Neg()) } }

// oneMinus_ replaces x by 1 - x.
func oneMinus_(x *Tensor) *Tensor { return applyInPlace(opRSubScalar, scalar{dtype: Int64, i: 1}, x) }

var opMulScalar = scalarOp("mul", elementwise.Mul)

func init() { opMulScalar.grad = func(b *backward) { b.give(0, b.scaled(b.grad())) } }

var opDivScalar = scalarOp("div", elementwise.Div)

func init() {
	opDivScalar.grad = func(b *backward) {
		g := b.grad()
		b.give(0, apply(opDivScalar, b.n.attrs, g.dtype, g.shape, g))
	}
}

// AddScalar returns x + v for a Go number v. A bool tensor and a bool are
// "or". It is torch.add.
func (x *Tensor) AddScalar(v any) *Tensor { return withScalar(opAddScalar, x, v) }

// SubScalar returns x - v for a Go number v. A bool tensor, or a bool v, is an
// [ErrDType] panic. It is torch.sub.
func (x *Tensor) SubScalar(v any) *Tensor {
	subtractableScalar(x, v)
	return withScalar(opSubScalar, x, v)
}

// RSubScalar returns v - x for a Go number v, as [Tensor.SubScalar]. It is
// torch.rsub.
func (x *Tensor) RSubScalar(v any) *Tensor {
	subtractableScalar(x, v)
	return withScalar(opRSubScalar, x, v)
}

// subtractableScalar panics if x or v is bool.
func subtractableScalar(x *Tensor, v any) {
	subtractable(x)
	if _, ok := v.(bool); ok {
		panic(newError(ErrDType, "sub", []*Tensor{x}, "%v cannot be subtracted, nor be subtracted from", v).advise("give a number"))
	}
}

// MulScalar returns x * v for a Go number v. A bool tensor and a bool are
// "and". It is torch.mul.
func (x *Tensor) MulScalar(v any) *Tensor { return withScalar(opMulScalar, x, v) }

// DivScalar returns x / v for a Go number v; of integers and bools in Float32.
// It is torch.div (true division).
func (x *Tensor) DivScalar(v any) *Tensor {
	s := scalarOf("div", v)
	return withScalarAs(opDivScalar, x, s, floatType(s.with(x.dtype)), sameAsOperands)
}

// RDivScalar returns v / x for a Go number v: like PyTorch's v / x, the
// reciprocal of x times v. Integers and bools give Float32.
func (x *Tensor) RDivScalar(v any) *Tensor {
	r := x.Reciprocal()
	defer dropTemporary(r, x)
	return r.MulScalar(v)
}

// AddScalar_ adds the Go number v to x in place and returns x. A float and an
// integer tensor are an [ErrDType] panic, as for all in-place operations with a
// number. It is torch.Tensor.add_.
func (x *Tensor) AddScalar_(v any) *Tensor { return scalarInPlace(opAddScalar, x, v) }

// SubScalar_ subtracts the Go number v from x in place and returns x. It is
// torch.Tensor.sub_.
func (x *Tensor) SubScalar_(v any) *Tensor {
	subtractableScalar(x, v)
	return scalarInPlace(opSubScalar, x, v)
}

// MulScalar_ multiplies x by the Go number v in place and returns x. It is
// torch.Tensor.mul_.
func (x *Tensor) MulScalar_(v any) *Tensor { return scalarInPlace(opMulScalar, x, v) }

// DivScalar_ divides the floating-point tensor x by the Go number v in place
// and returns x. It is torch.Tensor.div_.
func (x *Tensor) DivScalar_(v any) *Tensor {
	fitsInPlace("div_", floatType(x.dtype), x)
	return scalarInPlace(opDivScalar, x, v)
}
