// Command mnist trains a classifier of handwritten digits, tests it, frees its
// memory, and prints the proof.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/datasets"
	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/ebb-ml/ebb/memory"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
	"github.com/ebb-ml/ebb/transforms"
)

// SimpleNN has one hidden layer.
type SimpleNN struct {
	Fc1 *nn.Linear
	Act *nn.ReLU
	Fc2 *nn.Linear
}

// NewSimpleNN makes a model whose weights live in store.
func NewSimpleNN(store *ebb.Store) *SimpleNN {
	return &SimpleNN{nn.NewLinear(store, 28*28, 128), &nn.ReLU{}, nn.NewLinear(store, 128, 10)}
}

// Forward returns a number for each of the ten digits, for each of [N, 1, 28, 28]
// images.
func (m *SimpleNN) Forward(x *ebb.Tensor) *ebb.Tensor {
	return nn.Chain(x.Flatten(1, -1), m.Fc1, m.Act, m.Fc2)
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run takes the data from the folder that args names, if it names one.
func run(ctx context.Context, args []string) (err error) {
	var from []datasets.Option
	if len(args) > 0 {
		from = append(from, datasets.Dir(args[0]))
	}
	rt := ebb.NewRuntime()
	defer func() { err = errors.Join(err, rt.Close()) }()
	defer ebb.Catch(&err) // a wrong shape anywhere below becomes an error here
	rt.ManualSeed(0)      // the same numbers as torch.manual_seed(0)
	life := lifecycle.Start(rt, "mnist")

	model := NewSimpleNN(rt.NewStore("model"))
	life.Enter(lifecycle.ModelCreated)

	train, err := datasets.MNIST(ctx, rt.NewStore("train"), datasets.Train, transforms.ToTensor(), from...)
	if err != nil {
		return err
	}
	test, err := datasets.MNIST(ctx, rt.NewStore("test"), datasets.Test, transforms.ToTensor(), from...)
	if err != nil {
		return err
	}
	loader := data.NewLoader(train, data.BatchSize(64), data.Shuffle())
	life.Enter(lifecycle.DataPrepared)

	opt := optim.NewSGD(nn.Parameters(model), optim.LR(0.01))
	for epoch := range 2 {
		for batch, err := range loader.Batches(ctx) {
			if err != nil {
				return err
			}
			opt.ZeroGrad()
			loss := nn.CrossEntropyLoss(nn.Call(model, batch.Input), batch.Target)
			loss.Backward()
			opt.Step()
		} // the batch's scope closes here, and everything computed from the batch with it

		err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
			all, err := test.All(ctx, s)
			if err != nil {
				return err
			}
			right := nn.Call(model, all.Input).ArgMax(1).Eq(all.Target).Sum().Item()
			fmt.Printf("epoch %d: accuracy %.4f\n", epoch, right/float64(test.Len()))
			return nil
		})
		if err != nil {
			return err
		}
	}
	life.Enter(lifecycle.ModelRun)

	loader.Close() // del train_loader
	life.Mark("loader released")
	train.Close() // del train_dataset
	test.Close()
	life.Mark("data set released")
	memory.EmptyCache(rt) // torch.cuda.empty_cache()
	life.Mark("cache emptied")
	opt.Close()
	nn.Release(model) // del model
	life.Mark("model released")
	life.Enter(lifecycle.VariablesCleared)

	err = life.Free() // gc.collect() and empty_cache(), then the proof, or an error that names what survived
	fmt.Print(life.Report())
	return err
}
