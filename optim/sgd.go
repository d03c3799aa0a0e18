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

	steps    []step // of the last Step, for reuse
	training []*ebb.Tensor
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

// step is what one call of the update changes: parameters of one group whose
// momentum buffers all have a value, or none has.
type step struct {
	params, momenta []*ebb.Tensor
	opt             ebb.SGDOptions
}

// Step changes every parameter that has a gradient. State that is missing is
// made before any weight is touched: if memory runs out, nothing has changed.
func (o *SGD) Step() {
	if o.closed {
		panic(&ebb.Error{Kind: ebb.ErrClosed, Op: "sgd step", Given: "the optimizer is closed", Advice: "make a new one"})
	}
	o.plan()
	o.training = o.training[:0]
	for i := range o.steps {
		o.training = append(o.training, o.steps[i].params...)
	}
	defer ebb.Claim("sgd step", o.training)()
	o.prepare(o.steps)
	for i := range o.steps {
		s := &o.steps[i]
		ebb.SGD_(s.params, nil, s.momenta, &s.opt)
	}
}

// plan sorts the parameters that have a gradient into steps: two for each
// group, of which the second has no momentum buffers yet.
func (o *SGD) plan() {
	o.steps = slices.Grow(o.steps[:0], 2*len(o.groups))[:2*len(o.groups)]
	for i, g := range o.groups {
		for first := range 2 {
			s := &o.steps[2*i+first]
			*s = step{s.params[:0], s.momenta[:0], ebb.SGDOptions{LR: g.lr, Momentum: g.momentum, Dampening: g.dampening,
				WeightDecay: g.weightDecay, Nesterov: g.nesterov, Maximize: g.maximize, First: first == 1}}
		}
		for _, p := range g.Params {
			if !p.HasGrad() {
				continue
			}
			s := &o.steps[2*i]
			if g.momentum != 0 {
				if m := o.state[p]; m != nil {
					s.momenta = append(s.momenta, m)
				} else {
					s = &o.steps[2*i+1]
				}
			}
			s.params = append(s.params, p)
		}
	}
}

// prepare makes the momentum buffers of the steps that have none; if one
// cannot be made, those made before it go again.
func (o *SGD) prepare(steps []step) {
	var made []*ebb.Tensor
	var stores map[*ebb.Store]*ebb.Store
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
	for i := range steps {
		s := &steps[i]
		if !s.opt.First {
			continue
		}
		for _, p := range s.params {
			home := p.Store()
			store := stores[home]
			if store == nil {
				if stores == nil {
					stores = map[*ebb.Store]*ebb.Store{}
				}
				store = home.NewStore("sgd")
				stores[home] = store
			}
			m := ebb.Empty(store, p.Shape(), p.DType(), ebb.OptimizerState)
			o.state[p] = m
			made = append(made, p)
			s.momenta = append(s.momenta, m)
		}
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
