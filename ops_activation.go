package ebb

import (
	"math"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// opReLU saves one bit of each element: where the gradient passes.
var opReLU = &opdef{name: "relu", kernel: func(c *call) *Error {
	if c.results() > 1 {
		elementwise.ReLUMask(c.dst(0), c.dst(1), c.src(0))
	} else {
		elementwise.Unary(elementwise.ReLU, c.dst(0), c.src(0))
	}
	return nil
}}

func init() {
	opReLU.save = func(c *call) { c.hidden(Uint8, []int{elementwise.MaskLen(size(c.in[0].shape))}) }
	opReLU.grad = func(b *backward) {
		g := b.grad()
		b.give(0, apply(opMaskMul, nil, g.dtype, g.shape, g, b.out(1)))
	}
}

// opMaskMul is the gradient of relu, and its own.
var opMaskMul = &opdef{name: "threshold_backward", kernel: func(c *call) *Error {
	elementwise.MaskMul(c.dst(0), c.src(0), c.src(1))
	return nil
}}

func init() {
	opMaskMul.save = func(c *call) { c.saveIn(1) }
	opMaskMul.grad = func(b *backward) {
		g := b.grad()
		b.give(0, apply(opMaskMul, nil, g.dtype, g.shape, g, b.in(1)))
	}
}

// ReLU returns x where it is greater than 0, else 0; NaN stays. For the
// gradient, which is 0 at 0, it keeps a bit per element. Bool tensors are an
// [ErrDType] panic. It is torch.relu.
func (x *Tensor) ReLU() *Tensor { return ofNumbers(opReLU, x) }

// ReLU_ sets x to 0 where it is less than 0, in place, and returns x. It is
// torch.relu_.
func (x *Tensor) ReLU_() *Tensor { return ofNumbersInPlace(opReLU, x) }

// flags returns where a kernel notes a bool for each element: in result i if
// the graph keeps it, else in the scratch space.
func (c *call) flags(i int) cpu.Array {
	if c.results() > i {
		return c.dst(i)
	}
	shape := c.out[0].shape
	return cpu.Array{Data: c.workspace(), DType: cpu.Bool, Shape: shape, Strides: contiguousStrides(shape)}
}

// opLeakyReLU's attribute is the slope. It saves where x is positive.
var opLeakyReLU = &opdef{name: "leaky_relu", kernel: func(c *call) *Error {
	dst, x, positive := c.dst(0), c.src(0), c.flags(1)
	var p passes
	p.scalar(elementwise.Gt, positive, x, 0)
	p.scalar(elementwise.Mul, dst, x, c.attrs.(scalar).f)
	elementwise.Where(dst, positive, x, dst)
	return nil
}}

func init() {
	opLeakyReLU.save = func(c *call) {
		c.work = 0
		c.hidden(Bool, c.in[0].shape)
	}
	opLeakyReLU.grad = func(b *backward) {
		b.give(0, Where(b.out(1), b.grad(), b.scaled(b.grad())))
	}
}

// ofFloats runs op, with scratch bytes for each element, on the
// floating-point tensor x.
func ofFloats(op *opdef, attrs any, x *Tensor, scratch int) *Tensor {
	c := newCall(op, attrs, x)
	c.work = size(x.shape) * scratch
	return c.result(realType(op, x), x.shape).do()
}

// LeakyReLU returns x where it is greater than 0, else slope*x, of a
// floating-point tensor. PyTorch's default slope is 0.01. It is
// torch.nn.functional.leaky_relu.
func (x *Tensor) LeakyReLU(slope float64) *Tensor {
	return ofFloats(opLeakyReLU, scalar{dtype: Float64, f: slope}, x, 1)
}

var opGELU = &opdef{name: "gelu", kernel: func(c *call) *Error {
	dst, x := c.dst(0), c.src(0)
	var p passes
	p.scalar(elementwise.Mul, dst, x, math.Sqrt2/2)
	p.unary(elementwise.Erf, dst, dst)
	p.scalar(elementwise.Add, dst, dst, 1)
	p.binary(elementwise.Mul, dst, dst, x)
	p.scalar(elementwise.Mul, dst, dst, 0.5)
	return nil
}}

func init() {
	opGELU.save = saveOperand
	opGELU.grad = func(b *backward) {
		x := b.in(0)
		cdf := x.MulScalar(math.Sqrt2 / 2).Erf().AddScalar_(1).MulScalar_(0.5)
		pdf := x.Square().MulScalar_(-0.5).Exp_().MulScalar(1 / math.Sqrt(2*math.Pi))
		b.give(0, b.grad().Mul(cdf.Add_(pdf.Mul(x))))
	}
}

// GELU returns x times the normal distribution's probability below x, of a
// floating-point tensor. It is torch.nn.functional.gelu (Hendrycks and Gimpel
// 2016).
func (x *Tensor) GELU() *Tensor { return ofFloats(opGELU, nil, x, 0) }

// The constants of the tanh approximation: the scale of its argument, and the
// weight of the cube in it.
const (
	geluScale = math.Sqrt2 / math.SqrtPi
	geluCube  = 0.044715
)

var opGELUTanh = &opdef{name: "gelu", kernel: func(c *call) *Error {
	dst, x := c.dst(0), c.src(0)
	var p passes
	p.unary(elementwise.Square, dst, x)
	p.scalar(elementwise.Mul, dst, dst, geluCube)
	p.scalar(elementwise.Add, dst, dst, 1)
	p.binary(elementwise.Mul, dst, dst, x)
	p.scalar(elementwise.Mul, dst, dst, geluScale)
	p.unary(elementwise.Tanh, dst, dst)
	p.scalar(elementwise.Add, dst, dst, 1)
	p.binary(elementwise.Mul, dst, dst, x)
	p.scalar(elementwise.Mul, dst, dst, 0.5)
	return nil
}}

func init() {
	opGELUTanh.save = saveOperand
	opGELUTanh.grad = func(b *backward) {
		x := b.in(0)
		t := x.Square().MulScalar_(geluCube).AddScalar_(1).Mul_(x).MulScalar_(geluScale).Tanh_()
		slope := x.Square().MulScalar_(3 * geluCube).AddScalar_(1).MulScalar_(geluScale / 2)
		d := oneMinus_(t.Square()).Mul_(x).Mul_(slope)
		b.give(0, b.grad().Mul(d.Add_(t.AddScalar(1).MulScalar_(0.5))))
	}
}

// GELUTanh is [Tensor.GELU] approximated with a hyperbolic tangent. It is
// torch.nn.functional.gelu with approximate="tanh".
func (x *Tensor) GELUTanh() *Tensor { return ofFloats(opGELUTanh, nil, x, 0) }

var opSiLU = &opdef{name: "silu", kernel: func(c *call) *Error {
	dst, x := c.dst(0), c.src(0)
	var p passes
	p.unary(elementwise.Sigmoid, dst, x)
	p.binary(elementwise.Mul, dst, dst, x)
	return nil
}}

func init() {
	opSiLU.save = saveOperand
	opSiLU.grad = func(b *backward) {
		x := b.in(0)
		s := x.Sigmoid()
		b.give(0, s.RSubScalar(1).Mul_(x).AddScalar_(1).Mul_(s).Mul_(b.grad()))
	}
}

// SiLU returns x times its sigmoid, of a floating-point tensor. It is
// torch.nn.functional.silu.
func (x *Tensor) SiLU() *Tensor { return ofFloats(opSiLU, nil, x, 0) }

// softplus is the attribute of the operation.
type softplus struct{ beta, threshold float64 }

var opSoftplus = &opdef{name: "softplus", kernel: func(c *call) *Error {
	dst, x, linear, a := c.dst(0), c.src(0), c.flags(1), c.attrs.(softplus)
	var p passes
	p.scalar(elementwise.Mul, dst, x, a.beta)
	p.scalar(elementwise.Gt, linear, dst, a.threshold)
	p.unary(elementwise.Exp, dst, dst)
	p.unary(elementwise.Log1p, dst, dst)
	p.scalar(elementwise.Div, dst, dst, a.beta)
	elementwise.Where(dst, linear, x, dst)
	return nil
}}

func init() {
	opSoftplus.save = saveOperand
	opSoftplus.grad = func(b *backward) {
		a := b.n.attrs.(softplus)
		scaled := b.in(0).MulScalar(a.beta)
		b.give(0, scaled.Sigmoid().MaskedFill(scaled.GtScalar(a.threshold), 1).Mul_(b.grad()))
	}
}

// Softplus returns log(1+exp(beta*x))/beta, and x itself where beta*x is above
// threshold, of a floating-point tensor. PyTorch's defaults are 1 and 20. It is
// torch.nn.functional.softplus.
func (x *Tensor) Softplus(beta, threshold float64) *Tensor {
	return ofFloats(opSoftplus, softplus{beta, threshold}, x, 1)
}

// passes runs the elementwise kernels that a composed kernel is made of, of
// floats and bools, for which none has an error.
type passes struct{}

func (passes) unary(op elementwise.UnaryOp, dst, a cpu.Array) { elementwise.Unary(op, dst, a) }

func (passes) binary(op elementwise.BinaryOp, dst, a, b cpu.Array) {
	_ = elementwise.Binary(op, dst, a, b)
}

func (passes) scalar(op elementwise.BinaryOp, dst, a cpu.Array, v float64) {
	_ = elementwise.BinaryScalar(op, dst, a, v, false)
}
