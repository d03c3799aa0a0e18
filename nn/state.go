package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-ml/ebb"
)

// NamedTensor is a parameter or buffer with its name in a model.
type NamedTensor struct {
	Name   string
	Tensor *ebb.Tensor
}

// StateDict is the parameters and buffers of a model with their names, in the
// order of [NamedParameters]. The tensors are the model's own, not copies.
type StateDict []NamedTensor

// NewStateDict returns the state of model. It is torch.nn.Module.state_dict.
func NewStateDict(model any) StateDict {
	var d StateDict
	for name, t := range tensors(model) {
		d = append(d, NamedTensor{name, t.Detach()})
	}
	return d
}

// Get returns the tensor of the given name, or nil.
func (d StateDict) Get(name string) *ebb.Tensor {
	for _, e := range d {
		if e.Name == name {
			return e.Tensor
		}
	}
	return nil
}

// LoadStateDict copies state into model's parameters and buffers, converted to
// their types. If a name is missing, given twice or not the model's, or a
// tensor has another shape, was released or belongs to another runtime, nothing
// is copied and the error, of kind [ebb.ErrValue], lists all that is wrong. It
// is torch.nn.Module.load_state_dict with strict=True.
func LoadStateDict(model any, state StateDict) (err error) {
	defer ebb.Catch(&err)
	own := NewStateDict(model)
	if len(own) == 0 && len(state) == 0 {
		return nil
	}
	given := make(map[string]*ebb.Tensor, len(state))
	var wrong []string
	for _, e := range state {
		if _, twice := given[e.Name]; twice {
			wrong = append(wrong, e.Name+" is given twice")
		}
		given[e.Name] = e.Tensor
	}
	from := make([]*ebb.Tensor, len(own))
	for i, e := range own {
		t := given[e.Name]
		from[i] = t
		switch {
		case t == nil:
			wrong = append(wrong, e.Name+" is missing")
		case !slices.Equal(t.Shape(), e.Tensor.Shape()):
			wrong = append(wrong, fmt.Sprintf("%s has shape %v, expected %v", e.Name, t.Shape(), e.Tensor.Shape()))
		case t.Released():
			wrong = append(wrong, e.Name+" was released")
		case *t.Runtime() != *e.Tensor.Runtime():
			wrong = append(wrong, e.Name+" belongs to another runtime")
		}
		delete(given, e.Name)
	}
	for _, e := range state {
		if _, extra := given[e.Name]; extra {
			wrong = append(wrong, e.Name+" is not the model's")
			delete(given, e.Name)
		}
	}
	if len(wrong) > 0 {
		return &ebb.Error{Kind: ebb.ErrValue, Op: "load_state_dict", Given: strings.Join(wrong, "; "), Advice: "load the state of a model of the same structure"}
	}
	return own[0].Tensor.Runtime().Run(ebb.NoGrad, func(s *ebb.Scope) error {
		for i, e := range own {
			e.Tensor.In(s).Copy_(from[i])
		}
		return nil
	})
}
