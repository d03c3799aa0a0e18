package ebb

import (
	"math"

	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

var opPow = binaryOp("pow", elementwise.Pow)

func init() {
	opPow.save = func(c *call) {
		c.saveIn(0)
		c.saveIn(1)
		if c.needs[1] {
			c.saveOut(0)
		}
	}
	opPow.grad = func(b *backward) {
		x, e := b.in(0), b.in(1)
		b.giveIf(0, func() *Tensor {
			// x to the power 0 is constant, at 0 as well.
			g := b.grad().Mul(e.Mul(x.Pow(e.SubScalar(1))))
			return g.MaskedFill(e.EqScalar(0), 0)
		})
		b.giveIf(1, func() *Tensor {
			// So is 0 to a power that is not negative, where log(0) is not finite.
			g := b.out(0).Mul(x.Log()).MaskedFill(x.EqScalar(0).LogicalAnd(e.GeScalar(0)), 0)
			return b.grad().Mul(g)
		})
	}
}

// Pow returns x to the power y, elementwise, promoted as [ResultType] and
// broadcast. Of integers a negative power is the true value rounded toward 0.
// Two bool tensors are an [ErrDType] panic. It is torch.pow.
func (x *Tensor) Pow(y *Tensor) *Tensor {
	notBool("pow", promoted(x, y))
	return binary(opPow, x, y, sameAsOperands)
}

// promoted returns the operand whose type is that of arithmetic on both, for
// checks.
func promoted(x, y *Tensor) *Tensor {
	if resultType(x, y) == x.dtype {
		return x
	}
	return y
}

// Pow_ raises x to the power y in place and returns x. It is
// torch.Tensor.pow_.
func (x *Tensor) Pow_(y *Tensor) *Tensor {
	notBool("pow", promoted(x, y))
	return inPlace(opPow, nil, x, y)
}

var opPowScalar = scalarOp("pow", elementwise.Pow)

func init() {
	opPowScalar.save = func(c *call) {
		if c.attrs.(scalar).float() != 0 {
			c.saveIn(0)
		}
	}
	opPowScalar.grad = func(b *backward) {
		e := b.n.attrs.(scalar).float()
		g := b.grad()
		switch e {
		case 0:
			b.give(0, g.NewZeros(g.shape...))
		case 2:
			b.give(0, b.in(0).MulScalar(2).Mul_(g))
		default:
			b.give(0, powScalar(b.in(0), e-1).MulScalar_(e).Mul_(g))
		}
	}
}

// powScalar is x to the power e, of floating-point x.
func powScalar(x *Tensor, e float64) *Tensor {
	return apply(opPowScalar, scalar{dtype: Float64, f: e}, x.dtype, x.shape, x)
}

// PowScalar returns x to the power v, a Go number. Powers 2, 3, 0.5 and their
// negatives are products and roots. An integer tensor to a negative integer
// power is an [ErrValue] panic, as in PyTorch. It is torch.pow.
func (x *Tensor) PowScalar(v any) *Tensor {
	checkPower(x, v)
	return withScalar(opPowScalar, x, v)
}

// PowScalar_ raises x to the power v, a Go number, in place and returns x. It
// is torch.Tensor.pow_.
func (x *Tensor) PowScalar_(v any) *Tensor {
	checkPower(x, v)
	return scalarInPlace(opPowScalar, x, v)
}

// checkPower panics if x to the power v is not defined.
func checkPower(x *Tensor, v any) {
	switch s := scalarOf("pow", v); {
	case s.with(x.dtype) == Bool:
		notBool("pow", x)
	case s.with(x.dtype).category() == Int64.category() && s.i < 0:
		panic(newError(ErrValue, "pow", []*Tensor{x}, "an integer tensor to the power %d", s.i).advise("give a float: %d.0", s.i))
	}
}

// squared is the attribute of Square.
var squared any = scalar{dtype: Int64, i: 2}

// Square returns x*x; of bools in Int64. It is torch.square.
func (x *Tensor) Square() *Tensor {
	return withScalarAs(opPowScalar, x, squared, PromoteTypes(x.dtype, squared.(scalar).with(x.dtype)), sameAsOperands)
}

// Square_ replaces x by x*x and returns x. It is torch.Tensor.square_.
func (x *Tensor) Square_() *Tensor { return scalarInPlace(opPowScalar, x, 2) }

var opRPowScalar = reversedOp("pow", elementwise.Pow)

func init() {
	opRPowScalar.save = func(c *call) {
		c.saveOut(0)
		if c.attrs.(scalar).float() == 0 {
			c.saveIn(0)
		}
	}
	opRPowScalar.grad = func(b *backward) {
		base := b.n.attrs.(scalar).float()
		g := b.out(0).MulScalar(math.Log(base))
		if base == 0 {
			g = g.MaskedFill(b.in(0).GeScalar(0), 0)
		}
		b.give(0, b.grad().Mul(g))
	}
}

// RPowScalar returns v, a Go number, to the power x. A bool tensor and a bool
// are an [ErrDType] panic. It is torch.pow with a number as its base.
func (x *Tensor) RPowScalar(v any) *Tensor {
	if scalarOf("pow", v).with(x.dtype) == Bool {
		notBool("pow", x)
	}
	return withScalar(opRPowScalar, x, v)
}
