package ebb

import (
	"math"

	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// Exponentials, logarithms, roots and what is made of them. Integers and bools
// are converted to Float32, as in PyTorch; the forms in place take
// floating-point tensors only.

var opExp = unaryOp("exp", elementwise.Exp)

func init() {
	opExp.save = saveResult
	opExp.grad = func(b *backward) { b.give(0, b.grad().Mul(b.out(0))) }
}

// Exp returns e to the power x. It is torch.exp.
func (x *Tensor) Exp() *Tensor { return ofReals(opExp, x) }

// Exp_ replaces x by e to the power x and returns x. It is torch.Tensor.exp_.
func (x *Tensor) Exp_() *Tensor { return ofRealsInPlace(opExp, x) }

var opExpm1 = unaryOp("expm1", elementwise.Expm1)

func init() {
	opExpm1.save = saveResult
	opExpm1.grad = func(b *backward) { b.give(0, b.out(0).AddScalar(1).Mul_(b.grad())) }
}

// Expm1 returns e to the power x, less 1, exact near 0. It is torch.expm1.
func (x *Tensor) Expm1() *Tensor { return ofReals(opExpm1, x) }

var opLog = unaryOp("log", elementwise.Log)

func init() {
	opLog.save = saveOperand
	opLog.grad = func(b *backward) { b.give(0, b.grad().Div(b.in(0))) }
}

// Log returns the natural logarithm of x, NaN below 0. It is torch.log.
func (x *Tensor) Log() *Tensor { return ofReals(opLog, x) }

// Log_ replaces x by its natural logarithm and returns x. It is
// torch.Tensor.log_.
func (x *Tensor) Log_() *Tensor { return ofRealsInPlace(opLog, x) }

var opLog1p = unaryOp("log1p", elementwise.Log1p)

func init() {
	opLog1p.save = saveOperand
	opLog1p.grad = func(b *backward) { b.give(0, b.grad().Div(b.in(0).AddScalar(1))) }
}

// Log1p returns the natural logarithm of 1 + x, exact near 0. It is
// torch.log1p.
func (x *Tensor) Log1p() *Tensor { return ofReals(opLog1p, x) }

var opLog2 = unaryOp("log2", elementwise.Log2)

func init() {
	opLog2.save = saveOperand
	opLog2.grad = func(b *backward) { b.give(0, b.grad().Div(b.in(0).MulScalar(math.Ln2))) }
}

// Log2 returns the logarithm of x to the base 2. It is torch.log2.
func (x *Tensor) Log2() *Tensor { return ofReals(opLog2, x) }

var opLog10 = unaryOp("log10", elementwise.Log10)

func init() {
	opLog10.save = saveOperand
	opLog10.grad = func(b *backward) { b.give(0, b.grad().Div(b.in(0).MulScalar(math.Ln10))) }
}

// Log10 returns the logarithm of x to the base 10. It is torch.log10.
func (x *Tensor) Log10() *Tensor { return ofReals(opLog10, x) }

var opSqrt = unaryOp("sqrt", elementwise.Sqrt)

func init() {
	opSqrt.save = saveResult
	opSqrt.grad = func(b *backward) { b.give(0, b.grad().Div(b.out(0).MulScalar(2))) }
}

// Sqrt returns the square root of x, NaN below 0. It is torch.sqrt.
func (x *Tensor) Sqrt() *Tensor { return ofReals(opSqrt, x) }

// Sqrt_ replaces x by its square root and returns x. It is torch.Tensor.sqrt_.
func (x *Tensor) Sqrt_() *Tensor { return ofRealsInPlace(opSqrt, x) }

var opRsqrt = unaryOp("rsqrt", elementwise.Rsqrt)

func init() {
	opRsqrt.save = saveResult
	opRsqrt.grad = func(b *backward) {
		b.give(0, powScalar(b.out(0), 3).Mul_(b.grad()).MulScalar_(-0.5))
	}
}

// Rsqrt returns 1 over the square root of x. It is torch.rsqrt.
func (x *Tensor) Rsqrt() *Tensor { return ofReals(opRsqrt, x) }

// Rsqrt_ replaces x by 1 over its square root and returns x. It is
// torch.Tensor.rsqrt_.
func (x *Tensor) Rsqrt_() *Tensor { return ofRealsInPlace(opRsqrt, x) }

var opSigmoid = unaryOp("sigmoid", elementwise.Sigmoid)

func init() {
	opSigmoid.save = saveResult
	opSigmoid.grad = func(b *backward) {
		y := b.out(0)
		b.give(0, y.RSubScalar(1).Mul_(y).Mul_(b.grad()))
	}
}

// Sigmoid returns 1/(1+exp(-x)). It is torch.sigmoid.
func (x *Tensor) Sigmoid() *Tensor { return ofReals(opSigmoid, x) }

// Sigmoid_ replaces x by 1/(1+exp(-x)) and returns x. It is
// torch.Tensor.sigmoid_.
func (x *Tensor) Sigmoid_() *Tensor { return ofRealsInPlace(opSigmoid, x) }

var opErf = unaryOp("erf", elementwise.Erf)

func init() {
	opErf.save = saveOperand
	opErf.grad = func(b *backward) {
		b.give(0, b.grad().Mul(b.in(0).Square().Neg_().Exp_()).MulScalar_(2/math.Sqrt(math.Pi)))
	}
}

// Erf returns the error function of x. It is torch.erf.
func (x *Tensor) Erf() *Tensor { return ofReals(opErf, x) }
