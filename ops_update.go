package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/update"
)

// SGDOptions are those of torch.optim.SGD for one step. First says that the
// momentum buffers have no values yet.
type SGDOptions struct {
	LR, Momentum, Dampening, WeightDecay float64
	Nesterov, Maximize                   bool
	First                                bool
}

// opSGD changes its parameters and, if there are any, their momentum buffers.
// The operands are all parameters, then all buffers, then all gradients.
var opSGD = &opdef{name: "sgd_", update: true, kernel: func(c *call) *Error {
	o := update.SGDOptions(*c.attrs.(*SGDOptions))
	n := len(c.in) - c.changes // of gradients, and so of parameters
	for i := range n {
		var m *cpu.Array
		if c.changes > n {
			a := c.src(n + i)
			m = &a
		}
		update.SGD(c.src(i), c.src(c.changes+i), m, o)
	}
	return nil
}}

// SGD_ takes one step of stochastic gradient descent on params in place, all in
// one operation, with torch.optim.SGD's order of operations. grads (nil: what
// Backward collected) and momenta (empty if and only if o.Momentum is 0) belong
// to params by index and have their shapes and floating-point types. Parameters
// may be leaves; no graph is recorded. It is torch.optim.sgd.sgd, and what
// optim.SGD is made of.
func SGD_(params, grads, momenta []*Tensor, o *SGDOptions) {
	if len(params) == 0 && len(grads) == 0 && len(momenta) == 0 {
		return
	}
	c := newCall(opSGD, o, params...)
	c.in = append(c.in, momenta...)
	if grads == nil {
		for _, p := range params {
			c.in = append(c.in, p.collected())
		}
		grads = c.in[len(params)+len(momenta):]
	} else {
		c.in = append(c.in, grads...)
	}
	buffers := len(params)
	if o.Momentum == 0 {
		buffers = 0
	}
	if len(grads) != len(params) || len(momenta) != buffers {
		panic(newError(ErrValue, "sgd_", nil, "%d parameters, %d gradients, %d momentum buffers", len(params), len(grads), len(momenta)).
			advise("give a gradient for each parameter, and a momentum buffer if and only if Momentum is not 0"))
	}
	for i, p := range params {
		others := [2]*Tensor{grads[i], grads[i]}
		if buffers > 0 {
			others[1] = momenta[i]
		}
		for _, t := range others {
			if p == nil || t == nil {
				panic(newError(ErrValue, "sgd_", nil, "operand %d is nil", i))
			}
			if !t.dtype.IsFloat() || t.dtype != p.dtype || !sameShape(t.shape, p.shape) {
				panic(newError(ErrShape, "sgd_", []*Tensor{p, t}, "operands %d of one shape and floating-point type expected", i))
			}
		}
	}
	c.inplace, c.changes = true, len(params)+buffers
	c.do()
}

// collected returns the gradient that Backward collected for x, without owner
// handles, or nil.
func (x *Tensor) collected() *Tensor {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	return x.meta.grad
}
