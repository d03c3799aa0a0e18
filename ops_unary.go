package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// unaryOp is an elementwise operation on one tensor.
func unaryOp(name string, op elementwise.UnaryOp) *opdef {
	return &opdef{name: name, kernel: func(c *call) *Error {
		elementwise.Unary(op, c.dst(0), c.src(0))
		return nil
	}}
}

// saveOperand and saveResult are the save functions of operations whose
// gradient needs what they name.
func saveOperand(c *call) { c.saveIn(0) }

func saveResult(c *call) { c.saveOut(0) }

// ofNumbers runs op on x, whose type the result has. Bool tensors are a panic.
func ofNumbers(op *opdef, x *Tensor) *Tensor {
	notBool(op.name, x)
	return apply(op, nil, x.dtype, x.shape, x)
}

func notBool(op string, operands ...*Tensor) {
	for _, x := range operands {
		if x.dtype == Bool {
			panic(newError(ErrDType, op, operands, "a bool tensor, where a number is expected").advise("convert it with To(ebb.Int64), or use LogicalNot to invert a mask"))
		}
	}
}

// ofReals runs op on x; integers and bools are converted to Float32.
func ofReals(op *opdef, x *Tensor) *Tensor {
	if x.dtype.IsFloat() {
		return apply(op, nil, x.dtype, x.shape, x)
	}
	a := x.To(Float32)
	defer dropTemporary(a, x)
	return apply(op, nil, Float32, x.shape, a)
}

// ofNumbersInPlace and ofRealsInPlace are the forms with the result in x.
func ofNumbersInPlace(op *opdef, x *Tensor) *Tensor {
	notBool(op.name, x)
	return applyInPlace(op, nil, x)
}

func ofRealsInPlace(op *opdef, x *Tensor) *Tensor {
	fitsInPlace(op.name, floatType(x.dtype), x)
	return applyInPlace(op, nil, x)
}

var opNeg = unaryOp("neg", elementwise.Neg)

func init() { opNeg.grad = func(b *backward) { b.give(0, b.grad().Neg()) } }

// Neg returns -x. Bool tensors are an [ErrDType] panic. It is torch.neg.
func (x *Tensor) Neg() *Tensor { return ofNumbers(opNeg, x) }

// Neg_ negates x in place and returns x. It is torch.Tensor.neg_.
func (x *Tensor) Neg_() *Tensor { return ofNumbersInPlace(opNeg, x) }

var opAbs = unaryOp("abs", elementwise.Abs)

func init() {
	opAbs.save = saveOperand
	opAbs.grad = func(b *backward) { b.give(0, b.in(0).Sign().Mul_(b.grad())) }
}

// Abs returns the absolute value of x, whose gradient at 0 is 0. Bool tensors
// are an [ErrDType] panic. It is torch.abs.
func (x *Tensor) Abs() *Tensor { return ofNumbers(opAbs, x) }

// Abs_ replaces x's elements by their absolute values and returns x. It is
// torch.Tensor.abs_.
func (x *Tensor) Abs_() *Tensor { return ofNumbersInPlace(opAbs, x) }

// stepOp is an operation that is constant but at steps: its gradient is 0.
func stepOp(name string, op elementwise.UnaryOp) *opdef {
	o := unaryOp(name, op)
	o.grad = func(b *backward) { b.give(0, b.grad().NewZeros(b.input(0).shape...)) }
	return o
}

var (
	opSign  = stepOp("sign", elementwise.Sign)
	opFloor = stepOp("floor", elementwise.Floor)
	opCeil  = stepOp("ceil", elementwise.Ceil)
	opRound = stepOp("round", elementwise.Round)
	opTrunc = stepOp("trunc", elementwise.Trunc)
)

// Sign returns -1, 0 or 1 by the sign of each element, and 0 for NaN. Its
// gradient is 0. Bool tensors are returned as they are. It is torch.sign.
func (x *Tensor) Sign() *Tensor { return apply(opSign, nil, x.dtype, x.shape, x) }

// Floor returns x rounded down. Its gradient is 0; integers are unchanged. Bool
// tensors are an [ErrDType] panic. It is torch.floor.
func (x *Tensor) Floor() *Tensor { return ofNumbers(opFloor, x) }

// Floor_ rounds x down in place and returns x. It is torch.Tensor.floor_.
func (x *Tensor) Floor_() *Tensor { return ofNumbersInPlace(opFloor, x) }

// Ceil returns x rounded up, as [Tensor.Floor]. It is torch.ceil.
func (x *Tensor) Ceil() *Tensor { return ofNumbers(opCeil, x) }

// Ceil_ rounds x up in place and returns x. It is torch.Tensor.ceil_.
func (x *Tensor) Ceil_() *Tensor { return ofNumbersInPlace(opCeil, x) }

// Round returns x rounded to the nearest integer, halves to the even one, as
// [Tensor.Floor]. It is torch.round.
func (x *Tensor) Round() *Tensor { return ofNumbers(opRound, x) }

// Round_ rounds x to the nearest integer in place, halves to the even one, and
// returns x. It is torch.Tensor.round_.
func (x *Tensor) Round_() *Tensor { return ofNumbersInPlace(opRound, x) }

// Trunc returns x rounded toward 0, as [Tensor.Floor]. It is torch.trunc.
func (x *Tensor) Trunc() *Tensor { return ofNumbers(opTrunc, x) }

// Trunc_ rounds x toward 0 in place and returns x. It is torch.Tensor.trunc_.
func (x *Tensor) Trunc_() *Tensor { return ofNumbersInPlace(opTrunc, x) }

var opReciprocal = unaryOp("reciprocal", elementwise.Reciprocal)

func init() {
	opReciprocal.save = saveResult
	opReciprocal.grad = func(b *backward) {
		b.give(0, b.out(0).Square().Mul_(b.grad()).Neg_())
	}
}

// Reciprocal returns 1/x; of integers and bools in Float32. It is
// torch.reciprocal.
func (x *Tensor) Reciprocal() *Tensor { return ofReals(opReciprocal, x) }

// Reciprocal_ replaces the elements of the floating-point tensor x by 1/x and
// returns x. It is torch.Tensor.reciprocal_.
func (x *Tensor) Reciprocal_() *Tensor { return ofRealsInPlace(opReciprocal, x) }

// testOp is a test of each element for a bool result.
func testOp(name string, op elementwise.UnaryOp) *opdef {
	o := unaryOp(name, op)
	o.constant = true
	return o
}

var (
	opIsNaN    = testOp("isnan", elementwise.IsNaN)
	opIsInf    = testOp("isinf", elementwise.IsInf)
	opIsFinite = testOp("isfinite", elementwise.IsFinite)
)

// IsNaN returns a Bool tensor that is true where x is NaN. It is torch.isnan.
func (x *Tensor) IsNaN() *Tensor { return apply(opIsNaN, nil, Bool, x.shape, x) }

// IsInf returns a Bool tensor that is true where x is infinite, of either sign.
// It is torch.isinf.
func (x *Tensor) IsInf() *Tensor { return apply(opIsInf, nil, Bool, x.shape, x) }

// IsFinite returns a Bool tensor that is true where x is neither infinite nor
// NaN. It is torch.isfinite.
func (x *Tensor) IsFinite() *Tensor { return apply(opIsFinite, nil, Bool, x.shape, x) }
