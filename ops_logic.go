package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

var (
	opLogicalAnd = compareOp("logical_and", elementwise.LogicalAnd)
	opLogicalOr  = compareOp("logical_or", elementwise.LogicalOr)
	opLogicalXor = compareOp("logical_xor", elementwise.LogicalXor)
	opLogicalNot = testOp("logical_not", elementwise.LogicalNot)

	opBitwiseAnd = binaryOp("bitwise_and", elementwise.BitwiseAnd)
	opBitwiseOr  = binaryOp("bitwise_or", elementwise.BitwiseOr)
	opBitwiseXor = binaryOp("bitwise_xor", elementwise.BitwiseXor)
	opBitwiseNot = unaryOp("bitwise_not", elementwise.BitwiseNot)
)

// LogicalAnd returns a Bool tensor that is true where x and y, broadcast and of
// any types, are both not 0. It is torch.logical_and.
func (x *Tensor) LogicalAnd(y *Tensor) *Tensor { return binary(opLogicalAnd, x, y, Bool) }

// LogicalOr returns a Bool tensor that is true where x or y, broadcast and of
// any types, is not 0. It is torch.logical_or.
func (x *Tensor) LogicalOr(y *Tensor) *Tensor { return binary(opLogicalOr, x, y, Bool) }

// LogicalXor returns a Bool tensor that is true where exactly one of x and y,
// broadcast and of any types, is not 0. It is torch.logical_xor.
func (x *Tensor) LogicalXor(y *Tensor) *Tensor { return binary(opLogicalXor, x, y, Bool) }

// LogicalNot returns a Bool tensor that is true where x, of any type, is 0. It
// is torch.logical_not.
func (x *Tensor) LogicalNot() *Tensor { return apply(opLogicalNot, nil, Bool, x.shape, x) }

// bitwise runs op on integers or bools.
func bitwise(op *opdef, x, y *Tensor) *Tensor {
	notFloat(op.name, x, y)
	return binary(op, x, y, sameAsOperands)
}

func notFloat(op string, operands ...*Tensor) {
	for _, x := range operands {
		if x.dtype.IsFloat() {
			panic(newError(ErrDType, op, operands, "a floating-point tensor has no bits to combine").advise("compare it, or convert it with To"))
		}
	}
}

// BitwiseAnd returns the bits set in both x and y, integers or bools, promoted
// as [ResultType] and broadcast. Floating-point tensors are an [ErrDType]
// panic. It is torch.bitwise_and.
func (x *Tensor) BitwiseAnd(y *Tensor) *Tensor { return bitwise(opBitwiseAnd, x, y) }

// BitwiseOr returns the bits set in x or y, as [Tensor.BitwiseAnd]. It is
// torch.bitwise_or.
func (x *Tensor) BitwiseOr(y *Tensor) *Tensor { return bitwise(opBitwiseOr, x, y) }

// BitwiseXor returns the bits set in exactly one of x and y, as
// [Tensor.BitwiseAnd]. It is torch.bitwise_xor.
func (x *Tensor) BitwiseXor(y *Tensor) *Tensor { return bitwise(opBitwiseXor, x, y) }

// BitwiseNot returns x, an integer or bool tensor, with every bit inverted. It
// is torch.bitwise_not.
func (x *Tensor) BitwiseNot() *Tensor {
	notFloat("bitwise_not", x)
	return apply(opBitwiseNot, nil, x.dtype, x.shape, x)
}
