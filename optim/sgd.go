package optim

import (
	"fmt"
	"slices"

	"github.com/ebb-ml/ebb"
)

// SGD is stochastic gradient descent with momentum, as torch.optim.SGD, with
// its order of operations. It is for one goroutine at a time; a step while a
// Backward or another step runs on the same parameters is an [ebb.ErrBusy]
// panic.
type SGD struct {
	groups []*Group
	state  map[*ebb.Tensor]*ebb.Tensor // momentum buffers
	stores []*ebb.Store                // where they lie, below the parameters' own
	closed bool
}

// NewSGD returns an optimizer of params, which must be leaves, each given once.
func NewSGD(params []*ebb.Tensor, opts ...Option) *SGD {
	if len(params) == 0 {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "SGD", Given: "no parameters", Advice: "give nn.Parameters(model)"})
	}
	o := &SGD{state: map[*ebb.Tensor]*ebb.Tensor{}}
	o.AddGroup(params, append([]Option{LR(0.001)}, opts...)...)
	return o
}

// AddGroup adds parameters whose configuration is the first group's changed by
// opts. It is torch.optim.Optimizer.add_param_group.
func (o *SGD) AddGroup(params []*ebb.Tensor, opts ...Option) *Group {
	g := &Group{Params: slices.Clone(params)}
	if len(o.groups) > 0 {
		g.config = o.groups[0].config
	}
	for _, opt := range opts {
		opt(&g.config)
	}
	g.check()
	seen := map[*ebb.Tensor]bool{}
	for _, old := range o.groups {
		for _, p := range old.Params {
			seen[p] = true
		}
	}
	for i, p := range params {
		bad := ""
		switch {
		case p == nil:
			bad = "is nil"
		case seen[p]:
			bad = "was given twice"
		case !p.IsLeaf():
			bad = "was computed, so it is no leaf"
		case p.Store() == nil:
			bad = "lies in a scope, and would die with it"
		default:
			seen[p] = true
			continue
		}
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "SGD", Given: fmt.Sprintf("parameter %d %s", i, bad), Advice: "give parameters of a store, as nn.Parameters(model) does"})
	}
	o.groups = append(o.groups, g)
	return g
}

// Groups returns the parameter groups.
func (o *SGD) Groups() []*Group { return o.groups }

// SetLR changes the group's learning rate, 0 or more.
func (g *Group) SetLR(lr float64) {
	c := g.config
	c.lr = lr
	c.check()
	g.config = c
}

// LR returns the group's learning rate.
func (g *Group) LR() float64 { return g.lr }

// ZeroGrad releases the gradients of all parameters.
func (o *SGD) ZeroGrad() {
	for _, g := range o.groups {
		for _, p := range g.Params {
			p.ZeroGrad()
		}
	}
}

// update is one parameter's part of a step.
type update struct {
	param, grad, momentum *ebb.Tensor
	opt                   ebb.SGDOptions
}

// Step changes every parameter that has a gradient. State that is missing is
// made before any weight is touched: if memory runs out, nothing has changed.
func (o *SGD) Step() {
	if o.closed {
		panic(&ebb.Error{Kind: ebb.ErrClosed, Op: "sgd step", Given: "the optimizer is closed", Advice: "make a new one"})
	}
	var params []*ebb.Tensor
	var updates []update
	for _, g := range o.groups {
		for _, p := range g.Params {
			if grad := p.Grad(); grad != nil {
				params = append(params, p)
				updates = append(updates, update{param: p, grad: grad, opt: ebb.SGDOptions{LR: g.lr, Momentum: g.momentum,
					Dampening: g.dampening, WeightDecay: g.weightDecay, Nesterov: g.nesterov, Maximize: g.maximize}})
			}
		}
	}
	defer ebb.Claim("sgd step", params)()
	o.prepare(updates)
	for _, u := range updates {
		u.param.SGD_(u.grad, u.momentum, u.opt)
	}
}

// prepare finds the momentum buffers and makes those that are missing; if one
// cannot be made, those made before it go again.
func (o *SGD) prepare(updates []update) {
	var made []*ebb.Tensor
	stores := map[*ebb.Store]*ebb.Store{}
	done := false
	defer func() {
		if done {
			return
		}
		for _, p := range made {
			delete(o.state, p)
		}
		for _, s := range stores {
			s.Close()
		}
	}()
	for i := range updates {
		u := &updates[i]
		if u.opt.Momentum == 0 {
			continue
		}
		u.momentum = o.state[u.param]
		if u.momentum != nil {
			continue
		}
		home := u.param.Store()
		store := stores[home]
		if store == nil {
			store = home.NewStore("sgd")
			stores[home] = store
		}
		u.momentum = ebb.Empty(store, u.param.Shape(), u.param.DType(), ebb.OptimizerState)
		u.opt.First = true
		o.state[u.param] = u.momentum
		made = append(made, u.param)
	}
	for _, s := range stores {
		o.stores = append(o.stores, s)
	}
	done = true
}

// Close releases the optimizer's state. Closing twice does nothing.
func (o *SGD) Close() {
	o.closed = true
	for _, s := range o.stores {
		s.Close()
	}
	o.stores, o.state = nil, nil
}
