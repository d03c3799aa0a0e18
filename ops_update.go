package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/update"
)

// SGDOptions are those of torch.optim.SGD for one step. First says that the
// momentum buffer has no value yet.
type SGDOptions struct {
	LR, Momentum, Dampening, WeightDecay float64
	Nesterov, Maximize                   bool
	First                                bool
}

// opSGD changes operand 0, and operand 2 (momentum) if there is one.
var opSGD = &opdef{name: "sgd_", update: true, kernel: func(c *call) *Error {
	o := update.SGDOptions(c.attrs.(SGDOptions))
	if len(c.in) == 3 {
		m := c.src(2)
		update.SGD(c.src(0), c.src(1), &m, o)
	} else {
		update.SGD(c.src(0), c.src(1), nil, o)
	}
	return nil
}}

// SGD_ takes one step of stochastic gradient descent on x in place, with
// torch.optim.SGD's order of operations, and returns x. grad and momentum (nil
// if and only if o.Momentum is 0) have x's shape and floating-point type. x may
// be a leaf; no graph is recorded. It is what optim.SGD is made of.
func (x *Tensor) SGD_(grad, momentum *Tensor, o SGDOptions) *Tensor {
	in := []*Tensor{x, grad}
	if o.Momentum != 0 {
		in = append(in, momentum)
	}
	for _, t := range in {
		if t == nil {
			panic(newError(ErrValue, "sgd_", in[:1], "an operand is nil").advise("give a gradient, and a momentum buffer if Momentum is not 0"))
		}
		if !t.dtype.IsFloat() || t.dtype != x.dtype || !sameShape(t.shape, x.shape) {
			panic(newError(ErrShape, "sgd_", in, "operands of one shape and floating-point type expected"))
		}
	}
	return applyInPlace(opSGD, o, in...)
}
