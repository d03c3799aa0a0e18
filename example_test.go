package ebb_test

import (
	"fmt"

	"github.com/ebb-ml/ebb"
)

// A gradient of a number computed from weights. What is computed in the scope
// is gone when Run returns; the gradient lives where the weights do.
func Example() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	store := rt.NewStore("model")
	defer store.Close()
	w := ebb.FromSliceWith(store, []float32{1, 2, 3}, nil, ebb.Parameter, ebb.RequiresGrad)

	err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		x := ebb.FromSlice(s, []float32{10, 20, 30})
		loss := w.Mul(x).Sum()
		loss.Backward()
		fmt.Println("loss", loss.Item())
		return nil
	})
	fmt.Println("gradient", w.Grad().Float32s(), err)
	fmt.Println("live bytes", rt.Stats().Live.Current)
	// Output:
	// loss 140
	// gradient [10 20 30] <nil>
	// live bytes 24
}

// A wrong shape is an error, not the end of the program.
func ExampleRuntime_Run() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		a, b := ebb.Ones(s, ebb.Shape{2, 3}), ebb.Ones(s, ebb.Shape{4})
		a.Add(b)
		return nil
	})
	e := err.(*ebb.Error)
	fmt.Println(e.Op, e.Kind, e.Shapes)
	fmt.Println(e.Advice)
	// Output:
	// add shape [[2 3] [4]]
	// sizes must match from the right, or be 1
}

// MoveTo is the way out of a scope.
func ExampleTensor_MoveTo() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	kept := rt.NewStore("kept")
	defer kept.Close()
	var best *ebb.Tensor
	_ = rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		best = ebb.Arange(s, 0, 4, 1).MulScalar(2).MoveTo(kept)
		return nil
	})
	fmt.Println(best)
	// Output: tensor([0, 2, 4, 6])
}

// A running total is kept without the graph of what is added.
func ExampleTensor_Detach() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	store := rt.NewStore("model")
	defer store.Close()
	w := ebb.Ones(store, ebb.Shape{2}, ebb.RequiresGrad)
	total := ebb.Zeros(store, nil)
	for range 3 {
		_ = rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			loss := w.In(s).Mul(w).Sum()
			total.Add_(loss.Detach())
			return nil
		})
	}
	fmt.Println(total.Item())
	// Output: 6
}
