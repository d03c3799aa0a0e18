package main

import (
	"context"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
)

// linear is linear regression on 100 random samples, step for step what the same
// program does in PyTorch.
var linear = &program{
	name:  "linear",
	short: "Linear regression: Linear(10, 1) on 100 random samples",
	flags: []string{"epochs", "steps", "batch-size", "lr", "momentum", "seed", "threads", "limit", "metrics", "report", "html", "snapshot", "cpuprofile", "trace", "quiet"},
	defaults: settings{
		epochs:    10,
		batchSize: 10,
		lr:        0.01,
	},
	run: runLinear,
}

// regression is a module with one linear layer.
type regression struct{ Fc *nn.Linear }

// Forward takes [N, 10] and returns [N, 1].
func (m *regression) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Call(m.Fc, x) }

func runLinear(ctx context.Context, j *job) error {
	weights := j.rt.NewStore("model")
	defer weights.Close()
	model := &regression{nn.NewLinear(weights, 10, 1)}
	j.enter(lifecycle.ModelCreated)

	samples := j.rt.NewStore("data")
	defer samples.Close()
	inputs := ebb.Randn(samples, ebb.Shape{100, 10}, ebb.Input)
	targets := ebb.Randn(samples, ebb.Shape{100, 1}, ebb.Input)
	set := data.NewTensorDataset(inputs, targets)
	loader := data.NewLoader(set, data.BatchSize(j.batchSize))
	defer loader.Close()
	j.enter(lifecycle.DataPrepared)

	opt := optim.NewSGD(nn.Parameters(model), optim.LR(j.lr), optim.Momentum(j.momentum))
	err := j.train(ctx, loader, func(b data.Batch) *ebb.Tensor {
		opt.ZeroGrad()
		loss := nn.MSELoss(nn.Call(model, b.Input), b.Target)
		loss.Backward()
		opt.Step()
		return loss
	}, nil)
	if err != nil {
		return err
	}
	j.enter(lifecycle.ModelRun)

	opt.Close()
	j.mark("optimizer released")
	nn.Release(model)
	j.mark("model released")
	loader.Close()
	j.mark("loader released")
	set.Close()
	j.mark("data set released")
	j.enter(lifecycle.VariablesCleared)
	return nil
}
