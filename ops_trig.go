package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// Trigonometric and hyperbolic functions, of angles in radians. Integers and
// bools are converted to Float32, as in PyTorch; the forms in place take
// floating-point tensors only.

var opSin = unaryOp("sin", elementwise.Sin)

func init() {
	opSin.save = saveOperand
	opSin.grad = func(b *backward) { b.give(0, b.in(0).Cos().Mul_(b.grad())) }
}

// Sin returns the sine of x. It is torch.sin.
func (x *Tensor) Sin() *Tensor { return ofReals(opSin, x) }

// Sin_ replaces x by its sine and returns x. It is torch.Tensor.sin_.
func (x *Tensor) Sin_() *Tensor { return ofRealsInPlace(opSin, x) }

var opCos = unaryOp("cos", elementwise.Cos)

func init() {
	opCos.save = saveOperand
	opCos.grad = func(b *backward) { b.give(0, b.in(0).Sin().Neg_().Mul_(b.grad())) }
}

// Cos returns the cosine of x. It is torch.cos.
func (x *Tensor) Cos() *Tensor { return ofReals(opCos, x) }

// Cos_ replaces x by its cosine and returns x. It is torch.Tensor.cos_.
func (x *Tensor) Cos_() *Tensor { return ofRealsInPlace(opCos, x) }

var opTan = unaryOp("tan", elementwise.Tan)

func init() {
	opTan.save = saveResult
	opTan.grad = func(b *backward) { b.give(0, b.out(0).Square().AddScalar_(1).Mul_(b.grad())) }
}

// Tan returns the tangent of x. It is torch.tan.
func (x *Tensor) Tan() *Tensor { return ofReals(opTan, x) }

var opAsin = unaryOp("asin", elementwise.Asin)

func init() {
	opAsin.save = saveOperand
	opAsin.grad = func(b *backward) {
		b.give(0, b.grad().Mul(oneMinus_(b.in(0).Square()).Rsqrt_()))
	}
}

// Asin returns the arc sine of x, NaN outside [-1, 1]. It is torch.asin.
func (x *Tensor) Asin() *Tensor { return ofReals(opAsin, x) }

var opAcos = unaryOp("acos", elementwise.Acos)

func init() {
	opAcos.save = saveOperand
	opAcos.grad = func(b *backward) {
		b.give(0, b.grad().Mul(oneMinus_(b.in(0).Square()).Rsqrt_()).Neg_())
	}
}

// Acos returns the arc cosine of x, NaN outside [-1, 1]. It is torch.acos.
func (x *Tensor) Acos() *Tensor { return ofReals(opAcos, x) }

var opAtan = unaryOp("atan", elementwise.Atan)

func init() {
	opAtan.save = saveOperand
	opAtan.grad = func(b *backward) { b.give(0, b.grad().Div(b.in(0).Square().AddScalar_(1))) }
}

// Atan returns the arc tangent of x. It is torch.atan.
func (x *Tensor) Atan() *Tensor { return ofReals(opAtan, x) }

var opSinh = unaryOp("sinh", elementwise.Sinh)

func init() {
	opSinh.save = saveOperand
	opSinh.grad = func(b *backward) { b.give(0, b.in(0).Cosh().Mul_(b.grad())) }
}

// Sinh returns the hyperbolic sine of x. It is torch.sinh.
func (x *Tensor) Sinh() *Tensor { return ofReals(opSinh, x) }

var opCosh = unaryOp("cosh", elementwise.Cosh)

func init() {
	opCosh.save = saveOperand
	opCosh.grad = func(b *backward) { b.give(0, b.in(0).Sinh().Mul_(b.grad())) }
}

// Cosh returns the hyperbolic cosine of x. It is torch.cosh.
func (x *Tensor) Cosh() *Tensor { return ofReals(opCosh, x) }

var opTanh = unaryOp("tanh", elementwise.Tanh)

func init() {
	opTanh.save = saveResult
	opTanh.grad = func(b *backward) { b.give(0, oneMinus_(b.out(0).Square()).Mul_(b.grad())) }
}

// Tanh returns the hyperbolic tangent of x. It is torch.tanh.
func (x *Tensor) Tanh() *Tensor { return ofReals(opTanh, x) }

// Tanh_ replaces x by its hyperbolic tangent and returns x. It is
// torch.Tensor.tanh_.
func (x *Tensor) Tanh_() *Tensor { return ofRealsInPlace(opTanh, x) }

var opAtan2 = binaryOp("atan2", elementwise.Atan2)

func init() {
	opAtan2.save = func(c *call) { c.saveIn(0); c.saveIn(1) }
	opAtan2.grad = func(b *backward) {
		y, x := b.in(0), b.in(1)
		r := y.Square().Add_(x.Square()).Reciprocal_()
		b.giveIf(0, func() *Tensor { return b.grad().Mul(x).Mul_(r) })
		b.giveIf(1, func() *Tensor { return b.grad().Mul(y.Neg()).Mul_(r) })
	}
}

// Atan2 returns the angle of the point (x, y), where x is the argument and y
// the receiver: their arc tangent in the right quadrant, elementwise, promoted
// and broadcast. Integers and bools are converted to Float32. It is
// torch.atan2.
func (x *Tensor) Atan2(y *Tensor) *Tensor {
	return binaryAs(opAtan2, nil, x, y, floatType(resultType(x, y)), sameAsOperands)
}
