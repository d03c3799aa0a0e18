package ebb_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// squareSavingResult is x*x, and saves operand and result.
type squareSavingResult struct{}

func (squareSavingResult) Forward(ctx *ebb.FunctionContext, in []*ebb.Tensor) []*ebb.Tensor {
	y := in[0].Mul(in[0])
	ctx.SaveForBackward(in[0], y)
	return []*ebb.Tensor{y}
}

func (squareSavingResult) Backward(ctx *ebb.FunctionContext, grads []*ebb.Tensor) []*ebb.Tensor {
	x := ctx.Saved()[0]
	return []*ebb.Tensor{grads[0].Mul(x.Add(x))}
}

func TestCustomFunctionLeavesNothing(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2, 3}).SetRequiresGrad(true)
	before := rt.Stats()
	for range 100 { // Backward is never called
		if err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			y := ebb.Apply("square", squareSavingResult{}, w.In(s))[0]
			if got := rt.Stats().Tensors - before.Tensors; got != 1 {
				t.Fatalf("%d tensors after Apply, want the result alone", got)
			}
			y.Sum()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	after := rt.Stats()
	if after.Live.Current != before.Live.Current || after.Nodes != 0 || after.Owners != before.Owners {
		t.Fatalf("after 100 runs %+v, before %+v", after, before)
	}
	if err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		ebb.Apply("square", squareSavingResult{}, w.In(s))[0].Sum().Backward()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if g := w.Grad().Float32s(); g[0] != 2 || g[1] != 4 || g[2] != 6 {
		t.Fatalf("gradient %v, want 2x", g)
	}
}
