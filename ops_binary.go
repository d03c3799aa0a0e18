package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// binaryOp is an elementwise operation on two tensors of one type.
func binaryOp(name string, op elementwise.BinaryOp) *opdef {
	return &opdef{name: name, kernel: func(c *call) *Error {
		return divideError(elementwise.Binary(op, c.dst(0), c.src(0), c.src(1)))
	}}
}

// divideError is a kernel's error, which only a division of integers has.
func divideError(err error) *Error {
	if err == nil {
		return nil
	}
	return &Error{Kind: ErrValue, Given: err.Error(), Advice: "divide floating-point tensors, or mask the zeros"}
}

// binary runs op on x and y, promoted and broadcast, for a result of the
// promoted type (or of result, if valid).
func binary(op *opdef, x, y *Tensor, result DType) *Tensor {
	return binaryAs(op, nil, x, y, resultType(x, y), result)
}

// sameAsOperands is the result type of arithmetic.
const sameAsOperands = DType(255)

func binaryAs(op *opdef, attrs any, x, y *Tensor, common, result DType) *Tensor {
	shape := jointShape(op.name, x, y)
	if result == sameAsOperands {
		result = common
	}
	if x.dtype == common && y.dtype == common {
		return apply(op, attrs, result, shape, x.broadcastTo(shape), y.broadcastTo(shape))
	}
	a := converted(common, x, y)
	defer dropTemporary(a, x)
	b := converted(common, y, x)
	defer dropTemporary(b, y)
	return apply(op, attrs, result, shape, a.broadcastTo(shape), b.broadcastTo(shape))
}

// converted returns x in the given type: x itself, or a temporary copy in the
// scope where results on x and others land.
func converted(dtype DType, x *Tensor, others ...*Tensor) *Tensor {
	if x.dtype == dtype {
		return x
	}
	for _, y := range others {
		if s := y.Scope(); s != nil {
			if t := x.Scope(); t == nil || s.o.seq > t.o.seq {
				x = x.In(s)
			}
		}
	}
	return x.To(dtype)
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
	subtractable(x, y)
	return binary(opSub, x, y, sameAsOperands)
}

// subtractable panics if an operand is bool.
func subtractable(operands ...*Tensor) {
	for _, x := range operands {
		if x.dtype == Bool {
			panic(newError(ErrDType, "sub", operands, "a bool tensor cannot be subtracted, nor be subtracted from").advise("use LogicalXor, or LogicalNot to invert a mask"))
		}
	}
}

// Mul returns x * y, as [Tensor.Add]. For bool tensors it is "and". It is
// torch.mul.
func (x *Tensor) Mul(y *Tensor) *Tensor { return binary(opMul, x, y, sameAsOperands) }

// Div returns x / y, as [Tensor.Add], but of integers and bools in Float32. It
// is torch.div (true division).
func (x *Tensor) Div(y *Tensor) *Tensor {
	return binaryAs(opDiv, nil, x, y, floatType(resultType(x, y)), sameAsOperands)
}

// floatType is dtype if it is floating-point, else Float32, in which integers
// and bools are divided and given to the functions of real numbers.
func floatType(dtype DType) DType {
	if dtype.IsFloat() {
		return dtype
	}
	return Float32
}

// inPlace runs op with y's elements, broadcast, on x itself. The promoted type
// must be storable in x: its category no higher.
func inPlace(op *opdef, attrs any, x, y *Tensor) *Tensor {
	common := resultType(x, y)
	fitsInPlace(op.name, common, x, y)
	if common != x.dtype {
		z := binaryAs(op, attrs, x, y, common, sameAsOperands)
		defer dropTemporary(z, x)
		return x.Copy_(z)
	}
	if y.dtype == common {
		return applyInPlace(op, attrs, x, y.broadcastTo(x.shape))
	}
	a := converted(common, y, x)
	defer dropTemporary(a, y)
	return applyInPlace(op, attrs, x, a.broadcastTo(x.shape))
}

// fitsInPlace panics unless x can hold the result of an operation on x and
// others of the type common.
func fitsInPlace(op string, common DType, x *Tensor, others ...*Tensor) {
	for _, y := range others {
		if shape, ok := broadcastShape(x.shape, y.shape); !ok || !sameShape(shape, x.shape) {
			panic(newError(ErrShape, op, append([]*Tensor{x}, others...), "the operand does not broadcast to the tensor changed in place").advise("use the operation that returns a new tensor"))
		}
	}
	if common.category() > x.dtype.category() {
		panic(newError(ErrDType, op, append([]*Tensor{x}, others...), "the result is %s, which %s cannot hold", common, x.dtype).advise("convert with To, or use the operation that returns a new tensor"))
	}
}

// addInto adds g to the gradient x, both of the engine's.
func addInto(x, g *Tensor) { applyInPlace(opAddUntracked, nil, x, g) }

var opAddUntracked = &opdef{name: "accumulate_grad", kernel: opAdd.kernel, update: true}

// Add_ adds y to x in place and returns x. It is torch.Tensor.add_.
func (x *Tensor) Add_(y *Tensor) *Tensor { return inPlace(opAdd, nil, x, y) }

// Sub_ subtracts y from x in place and returns x. It is torch.Tensor.sub_.
func (x *Tensor) Sub_(y *Tensor) *Tensor {
	subtractable(x, y)
	return inPlace(opSub, nil, x, y)
}

// Mul_ multiplies x by y in place and returns x. It is torch.Tensor.mul_.
func (x *Tensor) Mul_(y *Tensor) *Tensor { return inPlace(opMul, nil, x, y) }

// Div_ divides the floating-point tensor x by y in place and returns x. It is
// torch.Tensor.div_.
func (x *Tensor) Div_(y *Tensor) *Tensor {
	fitsInPlace("div_", floatType(resultType(x, y)), x, y)
	return inPlace(opDiv, nil, x, y)
}
