package nn

import (
	"iter"
	"reflect"

	"github.com/ebb-ml/ebb"
)

// Module is a layer from one tensor to one tensor, which [Chain] and
// [Sequential] take. [Call] takes modules with other arguments and results as
// well.
type Module interface {
	Forward(x *ebb.Tensor) *ebb.Tensor
}

// walk yields every tensor and module of model, and what holds them (structs,
// slices, maps), each once: a thing before what is in it, and its tensors
// before the rest, as PyTorch does.
func walk(model any, yield func(path string, v reflect.Value) bool) {
	root := holder(reflect.ValueOf(model))
	if !root.IsValid() || root.Type() == tensorType {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "nn", Given: "the model is nil, or nothing that holds modules", Advice: "give a pointer to a struct of layers"})
	}
	seen := map[any]bool{}
	var visit func(path string, v reflect.Value) bool
	visit = func(path string, v reflect.Value) bool {
		// Go may give all values of a type without size one address.
		if v.Kind() == reflect.Pointer && v.Type().Elem().Size() > 0 {
			if seen[v.Interface()] {
				return true
			}
			seen[v.Interface()] = true
		}
		if !yield(path, v) {
			return false
		}
		if v.Type() == tensorType {
			return true
		}
		part := func(tensors bool) func(string, reflect.Value) bool {
			return func(name string, c reflect.Value) bool {
				return (c.Type() == tensorType) != tensors || visit(join(path, name), c)
			}
		}
		return children(v, part(true)) && children(v, part(false))
	}
	visit("", root)
}

// tensors yields the tensors of model with their names, each once.
func tensors(model any) iter.Seq2[string, *ebb.Tensor] {
	return func(yield func(string, *ebb.Tensor) bool) {
		walk(model, func(path string, v reflect.Value) bool {
			return v.Type() != tensorType || yield(path, v.Interface().(*ebb.Tensor))
		})
	}
}

// NamedParameters yields the parameters of model, the tensors of kind
// [ebb.Parameter], with their names: those of a module before those of the
// modules in it, shared ones once. It also gives their memory these names in
// reports. It is torch.nn.Module.named_parameters.
func NamedParameters(model any) iter.Seq2[string, *ebb.Tensor] {
	return func(yield func(string, *ebb.Tensor) bool) {
		for name, t := range tensors(model) {
			if t.Kind() == ebb.Parameter && !yield(name, t.SetName(name)) {
				return
			}
		}
	}
}

// Parameters returns the parameters of model, as [NamedParameters].
func Parameters(model any) []*ebb.Tensor {
	var ps []*ebb.Tensor
	for _, p := range NamedParameters(model) {
		ps = append(ps, p)
	}
	return ps
}

// NamedBuffers yields the tensors of model that are no parameters, as
// [NamedParameters]. It is torch.nn.Module.named_buffers.
func NamedBuffers(model any) iter.Seq2[string, *ebb.Tensor] {
	return func(yield func(string, *ebb.Tensor) bool) {
		for name, t := range tensors(model) {
			if t.Kind() != ebb.Parameter && !t.Released() && !yield(name, t) {
				return
			}
		}
	}
}

// NamedModules yields model, by the name "", and every module below it, shared
// ones once. It is torch.nn.Module.named_modules.
func NamedModules(model any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		walk(model, func(path string, v reflect.Value) bool {
			return path != "" && !isModule(v.Type()) || yield(path, v.Interface())
		})
	}
}

// SetRequiresGrad freezes the parameters of model (on false) or makes them
// train again. A frozen one gets no gradient; gradients still pass to what
// comes before it. It is torch.nn.Module.requires_grad_.
func SetRequiresGrad(model any, on bool) {
	for _, p := range NamedParameters(model) {
		p.SetRequiresGrad(on)
	}
}

// ZeroGrad releases the gradients of model's parameters.
func ZeroGrad(model any) {
	for _, p := range NamedParameters(model) {
		p.ZeroGrad()
	}
}

// Release closes the stores that model's parameters and buffers live in, and
// the stores above them that then hold nothing: what "del model" is in Python.
// With the stores go gradients and optimizer state. A tensor that two models
// share goes with the first. Releasing twice does nothing.
func Release(model any) {
	for _, t := range tensors(model) {
		s := t.Store()
		if s == nil {
			continue
		}
		s.Close()
		for up := s.Parent(); up != nil && up.Empty(); up = up.Parent() {
			up.Close()
		}
	}
}
