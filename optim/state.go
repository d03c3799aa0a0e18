package optim

import (
	"fmt"
	"slices"

	"github.com/ebb-ml/ebb"
)

// StateDict is what an optimizer needs to go on where it stopped. Parameters
// are numbered in the order they were given, through all groups, as in
// torch.optim.Optimizer.state_dict. The tensors are the optimizer's own, not
// copies.
type StateDict struct {
	State  map[int]map[string]*ebb.Tensor // by parameter and name: "momentum_buffer"
	Groups []GroupState
}

// GroupState is the configuration of a parameter group.
type GroupState struct {
	LR, Momentum, Dampening, WeightDecay float64
	Nesterov, Maximize                   bool
	Params                               []int
}

// StateDict returns the optimizer's state.
func (o *SGD) StateDict() StateDict {
	d := StateDict{State: map[int]map[string]*ebb.Tensor{}}
	n := 0
	for _, g := range o.groups {
		s := GroupState{g.lr, g.momentum, g.dampening, g.weightDecay, g.nesterov, g.maximize, nil}
		for _, p := range g.Params {
			if m := o.state[p]; m != nil {
				d.State[n] = map[string]*ebb.Tensor{"momentum_buffer": m}
			}
			s.Params = append(s.Params, n)
			n++
		}
		d.Groups = append(d.Groups, s)
	}
	return d
}

// LoadStateDict makes the optimizer go on from d, whose tensors are copied. Its
// groups must be as long as the optimizer's, and its tensors of their
// parameters' shapes; otherwise it is an error and nothing changes.
func (o *SGD) LoadStateDict(d StateDict) (err error) {
	defer ebb.Catch(&err)
	if o.closed {
		return &ebb.Error{Kind: ebb.ErrClosed, Op: "load_state_dict", Given: "the optimizer is closed", Advice: "make a new one"}
	}
	bad := func(format string, args ...any) error {
		return &ebb.Error{Kind: ebb.ErrValue, Op: "load_state_dict", Given: fmt.Sprintf(format, args...), Advice: "load the state of an optimizer of the same parameters"}
	}
	if len(d.Groups) != len(o.groups) {
		return bad("%d parameter groups, expected %d", len(d.Groups), len(o.groups))
	}
	var params []*ebb.Tensor
	configs := make([]config, len(d.Groups))
	for i, s := range d.Groups {
		if len(s.Params) != len(o.groups[i].Params) {
			return bad("%d parameters in group %d, expected %d", len(s.Params), i, len(o.groups[i].Params))
		}
		configs[i] = config{s.LR, s.Momentum, s.Dampening, s.WeightDecay, s.Nesterov, s.Maximize}
		configs[i].check()
		params = append(params, o.groups[i].Params...)
	}
	for n, s := range d.State {
		for name, t := range s {
			switch {
			case n < 0 || n >= len(params):
				return bad("state of parameter %d of %d", n, len(params))
			case name != "momentum_buffer":
				return bad("state %q of parameter %d, expected \"momentum_buffer\"", name, n)
			case t == nil:
				return bad("the momentum buffer of parameter %d is nil", n)
			case !slices.Equal(t.Shape(), params[n].Shape()):
				return bad("a momentum buffer of shape %v for parameter %d of shape %v", t.Shape(), n, params[n].Shape())
			}
		}
	}
	defer ebb.Claim("load_state_dict", params)()

	// The buffers are made anew, so that on failure the old ones are whole.
	fresh := &SGD{state: map[*ebb.Tensor]*ebb.Tensor{}}
	missing := step{opt: ebb.SGDOptions{First: true}}
	for n, p := range params {
		if d.State[n]["momentum_buffer"] != nil {
			missing.params = append(missing.params, p)
		}
	}
	fresh.prepare([]step{missing})
	err = copyState(fresh.state, params, d)
	if err != nil {
		fresh.Close()
		return err
	}
	o.Close()
	o.closed, o.state, o.stores = false, fresh.state, fresh.stores
	for i, c := range configs {
		o.groups[i].config = c
	}
	return nil
}

// copyState copies d's buffers into state.
func copyState(state map[*ebb.Tensor]*ebb.Tensor, params []*ebb.Tensor, d StateDict) error {
	return params[0].Runtime().Run(ebb.NoGrad, func(s *ebb.Scope) error {
		for n, p := range params {
			if t := d.State[n]["momentum_buffer"]; t != nil {
				state[p].In(s).Copy_(t)
			}
		}
		return nil
	})
}
