package ebb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// cube is x*x*x, with the gradient factor*x*x: right for 3.
type cube struct{ factor float64 }

func (cube) Forward(ctx *ebb.FunctionContext, in []*ebb.Tensor) []*ebb.Tensor {
	ctx.SaveForBackward(in[0])
	return []*ebb.Tensor{in[0].Mul(in[0]).Mul(in[0])}
}

func (c cube) Backward(ctx *ebb.FunctionContext, grads []*ebb.Tensor) []*ebb.Tensor {
	x := ctx.Saved()[0]
	return []*ebb.Tensor{grads[0].Mul(x).Mul(x).MulScalar(c.factor)}
}

// halfCube is cube with a gradient that stops a second one.
type halfCube struct{ cube }

func (c halfCube) Backward(ctx *ebb.FunctionContext, grads []*ebb.Tensor) []*ebb.Tensor {
	x := ctx.Saved()[0].Detach()
	return []*ebb.Tensor{grads[0].Mul(x).Mul(x).MulScalar(c.factor)}
}

func apply(f ebb.Function) func(in []*ebb.Tensor) []*ebb.Tensor {
	return func(in []*ebb.Tensor) []*ebb.Tensor { return ebb.Apply("cube", f, in...) }
}

func TestGradCheckFindsWrongGradients(t *testing.T) {
	rt := ebb.NewRuntime()
	st := rt.NewStore("inputs")
	x := ebb.FromSliceWith(st, []float64{0.5, -1, 2, 0.25}, ebb.Shape{2, 2}, ebb.RequiresGrad)
	for _, c := range []struct {
		name  string
		check func(func([]*ebb.Tensor) []*ebb.Tensor, []*ebb.Tensor, ...ebb.GradCheckOption) error
		f     func(in []*ebb.Tensor) []*ebb.Tensor
		want  string // part of the error, "" for none
	}{
		{"right", ebb.GradCheck, apply(cube{3}), ""},
		{"right twice", ebb.GradGradCheck, apply(cube{3}), ""},
		{"wrong", ebb.GradCheck, apply(cube{3.1}), "the gradient of element 0 of result 0 by element 0 of input 0 is 0.775, by differences 0.75"},
		{"stops the second", ebb.GradCheck, apply(halfCube{cube{3}}), ""},
		{"stops the second, seen", ebb.GradGradCheck, apply(halfCube{cube{3}}), "of result 0 by element"},
		{"one element alone", ebb.GradCheck, func(in []*ebb.Tensor) []*ebb.Tensor {
			y := in[0].Clone()
			y.Select(0, 1).Select(0, 0).Copy_(in[0].Select(0, 1).Select(0, 0).Detach())
			return []*ebb.Tensor{y}
		}, "the gradient of element 2 of result 0 by element 2 of input 0 is 0, by differences 1"},
		{"no gradient at all", ebb.GradCheck, func(in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{in[0].Detach().Exp()} }, "is 0, by differences"},
		{"constant", ebb.GradCheck, func(in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{in[0].Detach().Sign()} }, ""},
		{"several results", ebb.GradCheck, func(in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{in[0].Exp(), in[0].Sum(0)} }, ""},
		{"a panic", ebb.GradCheck, func(in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{in[0].View(3)} }, "cannot be seen as [3]"},
		{"float32", ebb.GradCheck, func(in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{in[0].To(ebb.Float32)} }, "too coarse"},
	} {
		before, data := rt.Stats(), x.Float64s()
		err := c.check(c.f, []*ebb.Tensor{x})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		after := rt.Stats()
		if after.Live.Current != before.Live.Current || after.Owners != before.Owners || after.Tensors != before.Tensors || after.Nodes != before.Nodes {
			t.Errorf("%s: before %+v, after %+v", c.name, before, after)
		}
		for i, v := range x.Float64s() {
			if v != data[i] {
				t.Errorf("%s: element %d of the input is %v, was %v", c.name, i, v, data[i])
			}
		}
		if x.Grad() != nil {
			t.Errorf("%s: the input has a gradient", c.name)
		}
	}
	st.Close()
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

func TestGradCheckArguments(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	st := rt.NewStore("inputs")
	defer st.Close()
	exp := func(in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{in[0].Exp()} }
	coarse := ebb.FromSliceWith(st, []float32{1, 2}, nil, ebb.RequiresGrad)
	plain := ebb.FromSlice(st, []float64{1, 2})
	for _, check := range []func(func([]*ebb.Tensor) []*ebb.Tensor, []*ebb.Tensor, ...ebb.GradCheckOption) error{ebb.GradCheck, ebb.GradGradCheck} {
		if err := check(exp, []*ebb.Tensor{coarse}); !errors.Is(err, ebb.ErrDType) {
			t.Errorf("float32 input: %v, want %v", err, ebb.ErrDType)
		}
		if err := check(exp, []*ebb.Tensor{plain}); !errors.Is(err, ebb.ErrGraph) {
			t.Errorf("no gradient wanted: %v, want %v", err, ebb.ErrGraph)
		}
		if err := check(exp, nil); !errors.Is(err, ebb.ErrGraph) {
			t.Errorf("no inputs: %v, want %v", err, ebb.ErrGraph)
		}
	}
	// A tolerance that is too wide lets anything pass: the option is used.
	x := ebb.FromSliceWith(st, []float64{1, 2}, nil, ebb.RequiresGrad)
	if err := ebb.GradCheck(apply(cube{3.1}), []*ebb.Tensor{x}, ebb.GradCheckTolerance(10, 1)); err != nil {
		t.Errorf("tolerance 10: %v", err)
	}
	if err := ebb.GradCheck(apply(cube{3}), []*ebb.Tensor{x}, ebb.GradCheckEps(0.5)); err == nil {
		t.Error("eps 0.5: no error, though differences of a cube are then wrong by 0.25")
	}
}
