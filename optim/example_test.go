package optim_test

import (
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/optim"
)

func ExampleSGD() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	store := rt.NewStore("model")
	defer store.Close()
	w := ebb.Full(store, ebb.Shape{1}, 1.0, ebb.Parameter, ebb.RequiresGrad)
	opt := optim.NewSGD([]*ebb.Tensor{w}, optim.LR(0.25))
	for range 3 {
		_ = rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			opt.ZeroGrad()
			w.In(s).Mul(w).Sum().Backward() // the gradient of w^2 is 2w
			opt.Step()
			return nil
		})
		fmt.Println(w.Item())
	}
	// Output:
	// 0.5
	// 0.25
	// 0.125
}
