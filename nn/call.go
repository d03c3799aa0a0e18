package nn

import (
	"reflect"
	"strconv"

	"github.com/ebb-ml/ebb"
)

// Forwarder is a module that [Call] can call: its Forward takes and returns one
// tensor, or several in a slice, array, map with string keys, or struct (or
// pointer to one) with exported fields, nested as needed.
type Forwarder[In, Out any] interface {
	Forward(In) Out
}

// frame is the tag of a call's scope: which module runs there, and its path.
type frame struct {
	module any
	path   string
}

// Call runs m.Forward in a scope of its own, directly below the one where
// results on in land. in's tensors are handed over directed into that scope, so
// that x.Scope() inside Forward is the scope, and what Forward makes dies with
// the call. What it returns moves out, graph and all; an argument or a weight it
// returns is handed back as the caller's. It is what calling a module does in
// PyTorch.
//
//	logits := nn.Call(model, batch.Input)
//
// The module's path in the model, the name of the field that holds it below its
// caller's, is in the errors and memory reports of what runs in the call.
func Call[In, Out any](m Forwarder[In, Out], in In) Out {
	args := tensorsOf(&in)
	scope := resultScope("call", args)
	var out Out
	moved := scope.Call(region(scope, m), args, func(args []*ebb.Tensor) []*ebb.Tensor {
		out = m.Forward(with(in, args))
		return tensorsOf(&out)
	})
	return with(out, moved)
}

// Chain calls layers one after another and frees what one handed over when the
// next has returned, so that between them only what the gradient needs stays.
// Without layers it returns x.
//
//	return nn.Chain(x, m.Fc1, m.Act, m.Fc2)
//
// A [Linear] and a [ReLU] directly behind it run as one, [ebb.LinearReLU], under
// the Linear's name: the result has the same bits, and the tensor between them is
// never made.
func Chain(x *ebb.Tensor, layers ...Module) *ebb.Tensor {
	return chain(x, layers, func(scope *ebb.Scope, i int) ebb.Region { return region(scope, layers[i]) })
}

// chain is Chain with a function that describes the call of layer i.
func chain(x *ebb.Tensor, layers []Module, describe func(scope *ebb.Scope, i int) ebb.Region) *ebb.Tensor {
	scope := resultScope("chain", []*ebb.Tensor{x})
	if len(layers) == 0 {
		return x
	}
	regions := make([]ebb.Region, 0, len(layers))
	steps := make([]func(*ebb.Tensor) *ebb.Tensor, 0, len(layers))
	for i := 0; i < len(layers); i++ {
		regions = append(regions, describe(scope, i))
		if l, ok := layers[i].(*Linear); ok && i+1 < len(layers) {
			if _, ok := layers[i+1].(*ReLU); ok { // in place or not
				steps = append(steps, l.forwardReLU)
				i++
				continue
			}
		}
		steps = append(steps, layers[i].Forward)
	}
	return ebb.Chain(x, regions, steps)
}

// resultScope returns where results on args land, or panics.
func resultScope(op string, args []*ebb.Tensor) *ebb.Scope {
	scope := ebb.ResultScope(args...)
	if scope == nil {
		panic(&ebb.Error{Kind: ebb.ErrNoScope, Op: op, Given: "every argument lies in a store, so the results have no scope to land in",
			Advice: "direct one into a scope: x.In(scope)"})
	}
	return scope
}

// region describes the scope of a call of m from scope.
func region(scope *ebb.Scope, m any) ebb.Region {
	f := &frame{module: m}
	if caller, ok := scope.Tag().(*frame); ok {
		name, _ := nameIn(caller.module, m)
		f.path = join(caller.path, name)
	}
	return ebb.Region{Name: "call", Module: f.path, Tag: f}
}

// Sequential calls its layers one after another as [Chain] does, a [Linear] and
// a [ReLU] behind it as one. They are named "0", "1", and so on. It is
// torch.nn.Sequential.
type Sequential struct {
	Layers []Module `ebb:",inline"`
}

// NewSequential returns a Sequential of the given layers.
func NewSequential(layers ...Module) *Sequential { return &Sequential{layers} }

// Forward applies the layers to x.
func (s *Sequential) Forward(x *ebb.Tensor) *ebb.Tensor {
	return chain(x, s.Layers, func(scope *ebb.Scope, i int) ebb.Region {
		caller, ok := scope.Tag().(*frame)
		if !ok || caller.module != any(s) {
			return region(scope, s.Layers[i])
		}
		// Known without a search, and right for one layer in several places.
		f := &frame{module: s.Layers[i], path: join(caller.path, strconv.Itoa(i))}
		return ebb.Region{Name: "call", Module: f.path, Tag: f}
	})
}

// tensorsOf returns the tensors in *v in a fixed order; nil ones count.
func tensorsOf[T any](v *T) []*ebb.Tensor {
	if t, ok := any(*v).(*ebb.Tensor); ok { // without reflection
		return []*ebb.Tensor{t}
	}
	var ts []*ebb.Tensor
	data(reflect.ValueOf(v).Elem(), func(t *ebb.Tensor) *ebb.Tensor {
		ts = append(ts, t)
		return t
	})
	return ts
}

// with returns v with its tensors, in tensorsOf's order, replaced by ts. Slices,
// maps and structs that v points to are copied: the caller's stay as they are.
func with[T any](v T, ts []*ebb.Tensor) T {
	if _, ok := any(v).(*ebb.Tensor); ok {
		return any(ts[0]).(T)
	}
	i := -1
	out := data(reflect.ValueOf(&v).Elem(), func(*ebb.Tensor) *ebb.Tensor {
		i++
		return ts[i]
	})
	r, _ := out.Interface().(T)
	return r
}

// data calls f with each tensor that v, an argument or result of a call,
// holds, and returns v with what f returned in their places.
func data(v reflect.Value, f func(*ebb.Tensor) *ebb.Tensor) reflect.Value {
	t := v.Type()
	if t == tensorType {
		return reflect.ValueOf(f(v.Interface().(*ebb.Tensor)))
	}
	if !infoOf(t).data {
		return v
	}
	switch t.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return data(v.Elem(), f)
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(t.Elem())
		c.Elem().Set(data(v.Elem(), f))
		return c.Convert(t)
	case reflect.Struct:
		c := reflect.New(t).Elem()
		c.Set(v)
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				c.Field(i).Set(data(v.Field(i), f))
			}
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(data(v.Index(i), f))
		}
		return c
	case reflect.Array:
		c := reflect.New(t).Elem()
		for i := range v.Len() {
			c.Index(i).Set(data(v.Index(i), f))
		}
		return c
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(t, v.Len())
		for _, k := range sortedKeys(v) {
			c.SetMapIndex(k, data(v.MapIndex(k), f))
		}
		return c
	}
	return v
}

// holdsData reports whether data may find tensors in a value of type t. Modules
// are no data. seen are the structs looked at.
func holdsData(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == tensorType {
		return true
	}
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer:
		return t.Elem().Kind() == reflect.Struct && holdsData(t.Elem(), seen)
	case reflect.Slice, reflect.Array:
		return holdsData(t.Elem(), seen)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && holdsData(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] || hasForward(t) {
			return false
		}
		seen[t] = true
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && holdsData(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
