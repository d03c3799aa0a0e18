package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/reduce"
)

var opSoftmax = &opdef{name: "softmax", kernel: func(c *call) *Error {
	reduce.SoftMax(c.dst(0), c.src(0), c.attrs.(int))
	return nil
}}

// opSoftmaxBackward: operands the gradient of softmax's result, and the result.
var opSoftmaxBackward = &opdef{name: "softmax_backward", kernel: func(c *call) *Error {
	reduce.SoftMaxBackward(c.dst(0), c.src(0), c.src(1), c.attrs.(int))
	return nil
}}

var opLogSoftmax = &opdef{name: "log_softmax", kernel: func(c *call) *Error {
	reduce.LogSoftMax(c.dst(0), c.src(0), c.attrs.(int))
	return nil
}}

// opLogSoftmaxBackward: operands the gradient of log softmax's result, and the
// result.
var opLogSoftmaxBackward = &opdef{name: "log_softmax_backward", kernel: func(c *call) *Error {
	reduce.LogSoftMaxBackward(c.dst(0), c.src(0), c.src(1), c.attrs.(int))
	return nil
}}

func init() {
	opSoftmax.save = func(c *call) { c.saveOut(0) }
	opSoftmax.grad = softmaxGrad(opSoftmaxBackward)
	opLogSoftmax.save = opSoftmax.save
	opLogSoftmax.grad = softmaxGrad(opLogSoftmaxBackward)

	opSoftmaxBackward.save = func(c *call) {
		if c.needs[1] {
			c.saveIn(0)
		}
		c.saveIn(1)
	}
	// Of y = o * (g - sum(g*o)), whose gradient is u.
	opSoftmaxBackward.grad = func(b *backward) {
		u, o, dim := b.grad(), b.in(1), b.n.attrs.(int)
		b.giveIf(0, func() *Tensor { return apply(opSoftmaxBackward, dim, u.dtype, u.shape, u, o) })
		b.giveIf(1, func() *Tensor {
			g := b.in(0)
			return u.Mul(g.Sub(g.Mul(o).SumKeep(dim))).Sub(g.Mul(u.Mul(o).SumKeep(dim)))
		})
	}
	opLogSoftmaxBackward.save = opSoftmaxBackward.save
	// Of y = g - exp(o) * sum(g), whose gradient is u.
	opLogSoftmaxBackward.grad = func(b *backward) {
		u, dim := b.grad(), b.n.attrs.(int)
		e := u.Mul(b.in(1).Exp())
		b.giveIf(0, func() *Tensor { return u.Sub(e.SumKeep(dim)) })
		b.giveIf(1, func() *Tensor { return e.Mul(b.in(0).SumKeep(dim)).Neg() })
	}
}

// softmaxGrad is the rule of both: one pass over the gradient and the result.
func softmaxGrad(op *opdef) func(b *backward) {
	return func(b *backward) {
		g := b.grad()
		b.give(0, apply(op, b.n.attrs, g.dtype, g.shape, g, b.out(0)))
	}
}

// Softmax returns exp(x) / sum(exp(x)) along dim, computed without overflow. A
// line with NaN or +Inf, or of nothing but -Inf, becomes NaN. It takes
// floating-point tensors; others are an [ErrDType] panic. It is torch.softmax.
func (x *Tensor) Softmax(dim int) *Tensor {
	wantFloat("softmax", x)
	return apply(opSoftmax, dimOf("softmax", x, dim), x.dtype, x.shape, x)
}

// LogSoftmax returns x - log(sum(exp(x))) along dim, as [Tensor.Softmax]. It is
// torch.log_softmax.
func (x *Tensor) LogSoftmax(dim int) *Tensor {
	wantFloat("log_softmax", x)
	return apply(opLogSoftmax, dimOf("log_softmax", x, dim), x.dtype, x.shape, x)
}
