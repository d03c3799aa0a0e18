package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// binaryOp is an elementwise operation on two tensors of one type.
func binaryOp(name string, op elementwise.BinaryOp) *opdef {
	return &opdef{name: name, kernel: func(c *call) *Error {
		if err := elementwise.Binary(op, c.dst(0), c.src(0), c.src(1)); err != nil {
			return &Error{Kind: ErrValue, Given: err.Error(), Advice: "divide floating-point tensors, or mask the zeros"}
		}
		return nil
	}}
}

// binary runs op on x and y, promoted and broadcast, for a result of the
// promoted type (or of result, if valid).
func binary(op *opdef, x, y *Tensor, result DType) *Tensor {
	common := resultType(x, y)
	return binaryAs(op, x, y, common, result)
}

// sameAsOperands is the result type of arithmetic.
const sameAsOperands = DType(255)

func binaryAs(op *opdef, x, y *Tensor, common, result DType) *Tensor {
	shape := jointShape(op.name, x, y)
	if result == sameAsOperands {
		result = common
	}
	a, b := x.To(common), y.To(common)
	z := apply(op, nil, result, shape, a.broadcastTo(shape), b.broadcastTo(shape))
	dropTemporary(a, x)
	dropTemporary(b, y)
	return z
}

// jointShape returns the shape x and y broadcast to, or panics.
func jointShape(op string, x, y *Tensor) []int {
	shape, ok := broadcastShape(x.shape, y.shape)
	if !ok {
		panic(newError(ErrShape, op, []*Tensor{x, y}, "the shapes do not broadcast").advise("sizes must match from the right, or be 1"))
	}
	return shape
}

// dropTemporary releases t, which an operation made on its way from x, unless
// it is x itself. The graph keeps what it needs of it.
func dropTemporary(t, x *Tensor) {
	if t.rec == x.rec {
		return
	}
	co := t.rec.core
	co.mu.Lock()
	defer co.mu.Unlock()
	co.release(t.rec, nil)
}

// The operands a kernel sees were broadcast by Expand, whose gradient sums; in
// the rules below shapes agree.

var opAdd = binaryOp("add", elementwise.Add)

func init() {
	opAdd.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(1, b.grad)
	}
}

var opSub = binaryOp("sub", elementwise.Sub)

func init() {
	opSub.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(1, func() *Tensor { return b.grad().Neg() })
	}
}

var opMul = binaryOp("mul", elementwise.Mul)

func init() {
	opMul.save = func(c *call) {
		if c.needs[1] {
			c.saveIn(0)
		}
		if c.needs[0] {
			c.saveIn(1)
		}
	}
	opMul.grad = func(b *backward) {
		b.giveIf(0, func() *Tensor { return b.grad().Mul(b.in(1)) })
		b.giveIf(1, func() *Tensor { return b.grad().Mul(b.in(0)) })
	}
}

var opDiv = binaryOp("div", elementwise.Div)

func init() {
	opDiv.save = func(c *call) {
		if c.needs[1] {
			c.saveIn(0)
		}
		c.saveIn(1)
	}
	opDiv.grad = func(b *backward) {
		b.giveIf(0, func() *Tensor { return b.grad().Div(b.in(1)) })
		b.giveIf(1, func() *Tensor { return b.grad().Neg().Mul(b.in(0).Div(b.in(1)).Div(b.in(1))) })
	}
}

// Add returns x + y, elementwise, promoted as [ResultType] and broadcast. For
// bool tensors it is "or". It is torch.add.
func (x *Tensor) Add(y *Tensor) *Tensor { return binary(opAdd, x, y, sameAsOperands) }

// Sub returns x - y, as [Tensor.Add]. Bool tensors are an [ErrDType] panic, as
// in PyTorch. It is torch.sub.
func (x *Tensor) Sub(y *Tensor) *Tensor {
	if x.dtype == Bool && y.dtype == Bool {
		panic(newError(ErrDType, "sub", []*Tensor{x, y}, "bool tensors cannot be subtracted").advise("use LogicalXor"))
	}
	return binary(opSub, x, y, sameAsOperands)
}

// Mul returns x * y, as [Tensor.Add]. For bool tensors it is "and". It is
// torch.mul.
func (x *Tensor) Mul(y *Tensor) *Tensor { return binary(opMul, x, y, sameAsOperands) }

// Div returns x / y, as [Tensor.Add], but of integers and bools in Float32. It
// is torch.div (true division).
func (x *Tensor) Div(y *Tensor) *Tensor {
	common := resultType(x, y)
	if !common.IsFloat() {
		common = Float32
	}
	return binaryAs(opDiv, x, y, common, sameAsOperands)
}

var opNeg = &opdef{name: "neg", kernel: func(c *call) *Error {
	elementwise.Unary(elementwise.Neg, c.dst(0), c.src(0))
	return nil
}}

func init() { opNeg.grad = func(b *backward) { b.give(0, b.grad().Neg()) } }

// Neg returns -x. Bool tensors are an [ErrDType] panic. It is torch.neg.
func (x *Tensor) Neg() *Tensor {
	if x.dtype == Bool {
		panic(newError(ErrDType, "neg", []*Tensor{x}, "bool tensors have no negative").advise("use LogicalNot"))
	}
	return apply(opNeg, nil, x.dtype, x.shape, x)
}

// inPlace runs op with y's elements, broadcast, on x itself. The promoted type
// must be storable in x: its category no higher.
func inPlace(op *opdef, x, y *Tensor) *Tensor {
	if shape, ok := broadcastShape(x.shape, y.shape); !ok || !sameShape(shape, x.shape) {
		panic(newError(ErrShape, op.name, []*Tensor{x, y}, "the operand does not broadcast to the tensor changed in place"))
	}
	if common := resultType(x, y); common.category() > x.dtype.category() {
		panic(newError(ErrDType, op.name, []*Tensor{x, y}, "the result is %s, which %s cannot hold", common, x.dtype).advise("convert with To, or use the operation that returns a new tensor"))
	}
	a := y.To(x.dtype)
	applyInPlace(op, nil, x, a.broadcastTo(x.shape))
	dropTemporary(a, y)
	return x
}

// addInto adds g to the gradient x, both of the engine's.
func addInto(x, g *Tensor) { applyInPlace(opAddUntracked, nil, x, g) }

var opAddUntracked = &opdef{name: "accumulate_grad", kernel: opAdd.kernel, update: true}

// Add_ adds y to x in place and returns x. It is torch.Tensor.add_.
func (x *Tensor) Add_(y *Tensor) *Tensor { return inPlace(opAdd, x, y) }

// Sub_ subtracts y from x in place and returns x. It is torch.Tensor.sub_.
func (x *Tensor) Sub_(y *Tensor) *Tensor { return inPlace(opSub, x, y) }

// Mul_ multiplies x by y in place and returns x. It is torch.Tensor.mul_.
func (x *Tensor) Mul_(y *Tensor) *Tensor { return inPlace(opMul, x, y) }

// Div_ divides the floating-point tensor x by y in place and returns x. It is
// torch.Tensor.div_.
func (x *Tensor) Div_(y *Tensor) *Tensor {
	if !x.dtype.IsFloat() {
		panic(newError(ErrDType, "div_", []*Tensor{x, y}, "the result is float32, which %s cannot hold", x.dtype).advise("use Div"))
	}
	return inPlace(opDiv, x, y)
}
