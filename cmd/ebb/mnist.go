package main

import (
	"context"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/datasets"
	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/ebb-ml/ebb/memory"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
	"github.com/ebb-ml/ebb/transforms"
)

// mnist classifies handwritten digits, step for step as the same program in
// PyTorch does.
var mnist = &program{
	name:  "mnist",
	short: "Handwritten digits: Linear(784, 128), ReLU, Linear(128, 10) on MNIST",
	flags: []string{"epochs", "steps", "batch-size", "lr", "momentum", "seed", "threads", "workers", "limit", "data", "metrics", "report", "html", "snapshot", "cpuprofile", "trace", "quiet"},
	defaults: settings{
		epochs:    2,
		batchSize: 64,
		lr:        0.01,
	},
	run: runMNIST,
}

// classifier is a module with one hidden layer.
type classifier struct {
	Fc1 *nn.Linear
	Act *nn.ReLU
	Fc2 *nn.Linear
}

// Forward takes [N, 1, 28, 28] and returns logits, [N, 10].
func (m *classifier) Forward(x *ebb.Tensor) *ebb.Tensor {
	return nn.Chain(x.Flatten(1, -1), m.Fc1, m.Act, m.Fc2)
}

func runMNIST(ctx context.Context, j *job) error {
	weights := j.rt.NewStore("model")
	defer weights.Close()
	model := &classifier{nn.NewLinear(weights, 28*28, 128), &nn.ReLU{}, nn.NewLinear(weights, 128, 10)}
	j.enter(lifecycle.ModelCreated)

	open := func(name string, split datasets.Split) (*datasets.Images, error) {
		opts := []datasets.Option{datasets.OnProgress(j.progress.download)}
		if j.data != "" {
			opts = append(opts, datasets.Dir(j.data))
		}
		return datasets.MNIST(ctx, j.rt.NewStore(name), split, transforms.ToTensor(), opts...)
	}
	train, err := open("train", datasets.Train)
	if err != nil {
		return err
	}
	defer train.Close()
	test, err := open("test", datasets.Test)
	if err != nil {
		return err
	}
	defer test.Close()
	loader := data.NewLoader(train, data.BatchSize(j.batchSize), data.Shuffle(), data.Workers(j.workers))
	defer loader.Close()
	j.enter(lifecycle.DataPrepared)

	opt := optim.NewSGD(nn.Parameters(model), optim.LR(j.lr), optim.Momentum(j.momentum))
	step := func(b data.Batch) *ebb.Tensor {
		opt.ZeroGrad()
		loss := nn.CrossEntropyLoss(nn.Call(model, b.Input), b.Target)
		loss.Backward()
		opt.Step()
		return loss
	}
	evaluate := func() (float64, error) { return accuracy(ctx, model, test) }
	if err := j.train(ctx, loader, step, evaluate); err != nil {
		return err
	}
	j.enter(lifecycle.ModelRun)

	loader.Close()
	j.mark("loader released")
	train.Close()
	test.Close()
	j.mark("data set released")
	memory.EmptyCache(j.rt)
	j.mark("cache emptied")
	opt.Close()
	nn.Release(model)
	j.mark("model released")
	j.enter(lifecycle.VariablesCleared)
	return nil
}

// chunk is how many images are evaluated at a time: few enough to take little
// memory beside the data.
const chunk = 500

// accuracy returns the share of test's images that model puts into their class.
func accuracy(ctx context.Context, model *classifier, test *datasets.Images) (float64, error) {
	right := 0.0
	indices := make([]int64, 0, chunk)
	for first := 0; first < test.Len(); first += chunk {
		indices = indices[:0]
		for i := first; i < min(first+chunk, test.Len()); i++ {
			indices = append(indices, int64(i))
		}
		err := test.Runtime().Run(ebb.NoGrad, func(s *ebb.Scope) error {
			b, err := test.Batch(ctx, s, indices)
			if err != nil {
				return err
			}
			right += nn.Call(model, b.Input).ArgMax(1).Eq(b.Target).Sum().Item()
			return ctx.Err()
		})
		if err != nil {
			return 0, err
		}
	}
	return right / float64(test.Len()), nil
}
