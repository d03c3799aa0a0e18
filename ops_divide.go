package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// Division rounded down, and what it leaves. Of integers it fails at a zero
// before anything was written, also in place.

// divisionOp is binaryOp for FloorDivide and Remainder. With scratch space,
// given for integers in place, the quotients are written when all are known.
func divisionOp(name string, op elementwise.BinaryOp) *opdef {
	return &opdef{name: name, kernel: func(c *call) *Error {
		dst := c.dst(0)
		if c.work == 0 {
			return divideError(elementwise.Binary(op, dst, c.src(0), c.src(1)))
		}
		t := cpu.Array{Data: c.workspace(), DType: dst.DType, Shape: dst.Shape, Strides: contiguousStrides(dst.Shape)}
		if err := elementwise.Binary(op, t, c.src(0), c.src(1)); err != nil {
			return divideError(err)
		}
		elementwise.Copy(dst, t)
		return nil
	}}
}

// opFloorDivide has no gradient, as in PyTorch: Backward through it fails.
var opFloorDivide = divisionOp("floor_divide", elementwise.FloorDivide)

var opRemainder = divisionOp("remainder", elementwise.Remainder)

func init() {
	opRemainder.save = func(c *call) {
		if c.needs[1] {
			c.saveIn(0)
			c.saveIn(1)
		}
	}
	opRemainder.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(1, func() *Tensor {
			// The quotient is constant but at steps.
			q := b.in(0).Detach().FloorDivide(b.in(1).Detach())
			return b.grad().Mul(q.Neg_())
		})
	}
}

// divisionInPlace is inPlace for divisionOps.
func divisionInPlace(op *opdef, x, y *Tensor) *Tensor {
	common := resultType(x, y)
	notBool(op.name, promoted(x, y))
	if common.IsFloat() || common != x.dtype {
		return inPlace(op, nil, x, y)
	}
	fitsInPlace(op.name, common, x, y)
	a := converted(common, y, x)
	defer dropTemporary(a, y)
	c := newCall(op, nil, x, a.broadcastTo(x.shape))
	c.inplace, c.work = true, int(x.bytes())
	return c.do()
}

// FloorDivide returns x / y rounded down, elementwise, promoted as [ResultType]
// and broadcast. It has no gradient. Of integers a zero in y is an [ErrValue]
// panic; bool tensors are an [ErrDType] panic. It is torch.floor_divide.
func (x *Tensor) FloorDivide(y *Tensor) *Tensor {
	notBool("floor_divide", promoted(x, y))
	return binary(opFloorDivide, x, y, sameAsOperands)
}

// FloorDivide_ divides x by y in place, rounding down, and returns x. It is
// torch.Tensor.floor_divide_.
func (x *Tensor) FloorDivide_(y *Tensor) *Tensor { return divisionInPlace(opFloorDivide, x, y) }

// Remainder returns x modulo y, with the sign of y, as Python's %. Operands and
// errors are those of [Tensor.FloorDivide]. It is torch.remainder.
func (x *Tensor) Remainder(y *Tensor) *Tensor {
	notBool("remainder", promoted(x, y))
	return binary(opRemainder, x, y, sameAsOperands)
}

// Remainder_ replaces x by x modulo y and returns x. It is
// torch.Tensor.remainder_.
func (x *Tensor) Remainder_(y *Tensor) *Tensor { return divisionInPlace(opRemainder, x, y) }

var (
	opFloorDivideScalar = scalarOp("floor_divide", elementwise.FloorDivide)
	opRemainderScalar   = scalarOp("remainder", elementwise.Remainder)
)

func init() { opRemainderScalar.grad = func(b *backward) { b.give(0, b.grad()) } }

// checkDivisor panics if x cannot be divided by v.
func checkDivisor(op string, x *Tensor, v any) {
	s := scalarOf(op, v)
	common := s.with(x.dtype)
	zero := s.i == 0
	switch common {
	case Float32, Float64:
		return
	case Bool:
		notBool(op, x)
	case Int32:
		zero = int32(s.i) == 0
	case Uint8:
		zero = uint8(s.i) == 0
	}
	if zero {
		panic(newError(ErrValue, op, []*Tensor{x}, "integer division by zero").advise("divide a floating-point tensor"))
	}
}

// FloorDivideScalar returns x / v rounded down for a Go number v, as
// [Tensor.FloorDivide]. It is torch.floor_divide.
func (x *Tensor) FloorDivideScalar(v any) *Tensor {
	checkDivisor("floor_divide", x, v)
	return withScalar(opFloorDivideScalar, x, v)
}

// FloorDivideScalar_ divides x by the Go number v in place, rounding down, and
// returns x. It is torch.Tensor.floor_divide_.
func (x *Tensor) FloorDivideScalar_(v any) *Tensor {
	checkDivisor("floor_divide", x, v)
	return scalarInPlace(opFloorDivideScalar, x, v)
}

// RemainderScalar returns x modulo v for a Go number v, with the sign of v. It
// is torch.remainder.
func (x *Tensor) RemainderScalar(v any) *Tensor {
	checkDivisor("remainder", x, v)
	return withScalar(opRemainderScalar, x, v)
}

// RemainderScalar_ replaces x by x modulo v for a Go number v and returns x. It
// is torch.Tensor.remainder_.
func (x *Tensor) RemainderScalar_(v any) *Tensor {
	checkDivisor("remainder", x, v)
	return scalarInPlace(opRemainderScalar, x, v)
}
