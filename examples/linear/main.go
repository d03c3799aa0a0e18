// Command linear trains a linear regression, frees its memory, and prints the
// proof.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
)

// SimpleModel is a linear regression of ten features.
type SimpleModel struct {
	Fc *nn.Linear
}

// NewSimpleModel makes a model whose weights live in store.
func NewSimpleModel(store *ebb.Store) *SimpleModel {
	return &SimpleModel{Fc: nn.NewLinear(store, 10, 1)}
}

// Forward predicts a value for each of [N, 10] samples.
func (m *SimpleModel) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Call(m.Fc, x) }

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	rt := ebb.NewRuntime()
	defer func() { err = errors.Join(err, rt.Close()) }()
	defer ebb.Catch(&err) // a wrong shape anywhere below becomes an error here
	rt.ManualSeed(0)      // the same numbers as torch.manual_seed(0)
	life := lifecycle.Start(rt, "linear")

	model := NewSimpleModel(rt.NewStore("model"))
	life.Enter(lifecycle.ModelCreated)

	samples := rt.NewStore("data")
	set := data.NewTensorDataset(ebb.Randn(samples, ebb.Shape{100, 10}), ebb.Randn(samples, ebb.Shape{100, 1}))
	loader := data.NewLoader(set, data.BatchSize(10))
	life.Enter(lifecycle.DataPrepared)

	opt := optim.NewSGD(nn.Parameters(model), optim.LR(0.01))
	for epoch := range 10 {
		var last float64
		for batch, err := range loader.Batches(ctx) {
			if err != nil {
				return err
			}
			opt.ZeroGrad()
			loss := nn.MSELoss(nn.Call(model, batch.Input), batch.Target)
			loss.Backward()
			opt.Step()
			last = loss.Item()
		} // the batch's scope closes here, and everything computed from the batch with it
		fmt.Printf("epoch %d: loss %.6f\n", epoch, last)
	}
	life.Enter(lifecycle.ModelRun)

	loader.Close()
	set.Close()
	opt.Close()
	nn.Release(model)
	life.Enter(lifecycle.VariablesCleared)

	err = life.Free() // the proof, or an error that names what survived
	fmt.Print(life.Report())
	return err
}
