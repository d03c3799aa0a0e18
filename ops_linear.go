package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/cpu/gemm"
)

// opLinear is a matrix product with the second operand transposed and a bias
// added, in one pass. Operands: x [rows, in], weight [out, in], bias [out].
var opLinear = &opdef{name: "linear", kernel: func(c *call) *Error {
	multiplyLinear(c, gemm.Options{})
	return nil
}}

// opLinearReLU is opLinear and relu of its result, in one pass. Like opReLU it
// saves one bit of each element: where the gradient passes.
var opLinearReLU = &opdef{name: "linear_relu", kernel: func(c *call) *Error {
	o := gemm.Options{ReLU: true}
	if c.results() > 1 {
		c.room.mask = c.dst(1)
		o.Mask = &c.room.mask
	}
	multiplyLinear(c, o)
	return nil
}}

// multiplyLinear is the kernel of both.
func multiplyLinear(c *call, o gemm.Options) {
	if len(c.in) == 3 {
		c.room.bias = c.src(2)
		o.Bias = &c.room.bias
	}
	gemm.MatMul(c.dst(0), c.src(0), c.transposed(c.src(1)), c.scratchBytes(), o)
}

func init() {
	opLinear.save = saveLinear
	opLinear.grad = func(b *backward) { linearGrad(b, b.grad()) }
	opLinearReLU.save = func(c *call) {
		saveLinear(c)
		c.hidden(Uint8, []int{elementwise.MaskLen(size(c.out[0].shape))})
	}
	opLinearReLU.grad = func(b *backward) {
		g := b.grad()
		product := apply(opMaskMul, nil, g.dtype, g.shape, g, b.out(1))
		// As if relu's rule had ended here: what only it needs goes before the
		// linear layer's allocates.
		b.dropGrad()
		b.dropOut(1)
		linearGrad(b, product)
	}
}

func saveLinear(c *call) {
	if c.needs[1] {
		c.saveIn(0)
	}
	if c.needs[0] {
		c.saveIn(1)
	}
}

// linearGrad is linear's rule for the gradient g of its product.
func linearGrad(b *backward, g *Tensor) {
	if len(b.n.edges) == 3 {
		b.giveIf(2, func() *Tensor { return apply(opSum, overRows, g.dtype, b.input(2).shape, g) })
	}
	b.giveIf(1, func() *Tensor { return matMul(g.T(), b.in(0)) })
	b.dropIn(0)
	b.giveIf(0, func() *Tensor { return matMul(g, b.in(1)) })
}

// overRows is the attribute of a sum over a matrix's rows.
var overRows any = reduction{dims: []int{0}}

// Linear returns x times weight transposed, plus bias: x is [*, in], weight
// [out, in] or [in], bias [out] or nil, the result [*, out], all of one
// floating-point type. It is torch.nn.functional.linear. For the gradient it
// keeps x if weight needs one, and weight if x does.
func Linear(x, weight, bias *Tensor) *Tensor { return linear(opLinear, x, weight, bias) }

// LinearReLU returns [Linear] of its operands where it is greater than 0, else
// 0, with the bits of Linear(x, weight, bias).ReLU(), in one pass and without
// the tensor between. For the gradient it keeps what Linear keeps, and a bit per
// element. It is torch.nn.functional.relu of torch.nn.functional.linear, as in
// torch.ao.nn.intrinsic.LinearReLU.
func LinearReLU(x, weight, bias *Tensor) *Tensor { return linear(opLinearReLU, x, weight, bias) }

// linear runs opLinear or opLinearReLU.
func linear(op *opdef, x, weight, bias *Tensor) *Tensor {
	if x == nil || weight == nil {
		panic(newError(ErrValue, op.name, nil, "an operand is nil").advise("only the bias may be"))
	}
	c := newCall(op, nil, x, weight)
	if bias != nil {
		c.in = append(c.in, bias)
	}
	for _, t := range c.in {
		if !t.dtype.IsFloat() || t.dtype != x.dtype {
			panic(newError(ErrDType, op.name, c.in, "operands of one floating-point type expected").advise("convert with To"))
		}
	}
	r := len(x.shape)
	if len(weight.shape) == 1 {
		return linear(op, x, weight.Unsqueeze(0), bias).Squeeze(-1)
	}
	switch {
	case r == 0 || len(weight.shape) != 2 || x.shape[r-1] != weight.shape[1]:
		panic(newError(ErrShape, op.name, c.in, "input [*, in] and weight [out, in] expected").advise("the input's last size is the weight's last"))
	case bias != nil && (len(bias.shape) != 1 || bias.shape[0] != weight.shape[0]):
		panic(newError(ErrShape, op.name, c.in, "a bias of shape [%d] expected", weight.shape[0]))
	}
	rows := size(x.shape[:r-1])
	flat := x
	if r != 2 {
		flat = x.Reshape(rows, x.shape[r-1])
	}
	c.in[0] = flat
	c.result(x.dtype, []int{rows, weight.shape[0]})
	c.work = gemm.WorkspaceSize(c.out[0].form(), flat.form(), c.transposed(weight.form()))
	y := c.do()
	dropTemporary(flat, x)
	if r == 2 {
		return y
	}
	return y.View(append(append([]int{}, x.shape[:r-1]...), weight.shape[0])...)
}
