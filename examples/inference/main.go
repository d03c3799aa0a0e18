// Command inference runs a small classifier forward without gradients, frees it,
// and prints the proof.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/ebb-ml/ebb/nn"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (err error) {
	rt := ebb.NewRuntime()
	defer func() { err = errors.Join(err, rt.Close()) }()
	defer ebb.Catch(&err)
	rt.ManualSeed(0)
	life := lifecycle.Start(rt, "inference")

	weights := rt.NewStore("model")
	model := nn.NewSequential(
		nn.NewLinear(weights, 784, 128),
		&nn.ReLU{},
		nn.NewLinear(weights, 128, 10),
	)
	life.Enter(lifecycle.ModelCreated)

	images := rt.NewStore("images")
	x := ebb.Rand(images, ebb.Shape{64, 784}, ebb.Input)
	life.Enter(lifecycle.DataPrepared)

	// Without gradients no layer's result outlives the next layer.
	err = rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		logits := nn.Call(model, x.In(s))
		classes := logits.ArgMax(1)
		fmt.Println("classes of the first images:", classes.Int64s()[:8])
		return nil
	})
	if err != nil {
		return err
	}
	life.Enter(lifecycle.ModelRun)

	images.Close()
	nn.Release(model)
	life.Enter(lifecycle.VariablesCleared)

	err = life.Free()
	fmt.Print(life.Report())
	return err
}
