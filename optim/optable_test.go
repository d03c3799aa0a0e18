package optim_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/cpu"
	. "github.com/ebb-ml/ebb/internal/optest"
	"github.com/ebb-ml/ebb/optim"
)

// table has rows for every optimizer: one step with the gradient a, and what
// the parameter is then.
var table Table

func TestOptimizersHaveRows(t *testing.T) {
	table.Complete(t, "github.com/ebb-ml/ebb/optim", map[string]string{
		"NewSGD": "makes an SGD, which has rows",
	})
}

func TestTorchValues(t *testing.T)    { table.TorchValues(t) }
func TestOperationLeaks(t *testing.T) { table.Leaks(t) }
func TestNthAllocation(t *testing.T)  { table.Failures(t) }
func TestThreads(t *testing.T)        { table.Threads(t, cpu.SetNumThreads) }

// one is an optimizer of a parameter of ones, of the shape of a, and one step.
func one(shape ebb.Shape, opts ...optim.Option) func(*ebb.Store, ebb.DType) ([]*ebb.Tensor, Func) {
	return func(st *ebb.Store, dtype ebb.DType) ([]*ebb.Tensor, Func) {
		p := ebb.Ones(st, shape, dtype, ebb.Parameter, ebb.RequiresGrad)
		return nil, func(s *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor {
			opt := optim.NewSGD([]*ebb.Tensor{p}, opts...)
			defer opt.Close()
			defer p.ZeroGrad()
			p.Detach().Fill_(1.0) // it is called more than once
			p.SetGrad(in[0])
			opt.Step()
			return []*ebb.Tensor{p.Detach().In(s).Clone()}
		}
	}
}

func init() {
	step := func(options string) string {
		return "p = torch.ones(a.shape, dtype=a.dtype, requires_grad=True); p.grad = a.clone(); torch.optim.SGD([p], lr=0.1" + options + ").step(); p.detach().clone()"
	}
	in, large := []Input{F(3, 2).NoGrad()}, []Input{F(700, 900).NoGrad()}
	table.Add("optim", []Case{
		{Op: "SGD", In: in, Module: one(ebb.Shape{3, 2}, optim.LR(0.1)), Torch: step("")},
		{Op: "SGD", Name: "weight decay", In: in, Module: one(ebb.Shape{3, 2}, optim.LR(0.1), optim.WeightDecay(0.2)), Torch: step(", weight_decay=0.2")},
		{Op: "SGD", Name: "momentum", In: in, Module: one(ebb.Shape{3, 2}, optim.LR(0.1), optim.Momentum(0.9)), Torch: step(", momentum=0.9")},
		{Op: "SGD", Name: "nesterov", In: in, Module: one(ebb.Shape{3, 2}, optim.LR(0.1), optim.Momentum(0.9), optim.Nesterov()), Torch: step(", momentum=0.9, nesterov=True")},
		{Op: "SGD", Name: "maximize", In: in, Module: one(ebb.Shape{3, 2}, optim.LR(0.1), optim.Maximize()), Torch: step(", maximize=True")},
		{Op: "SGD", Name: "large", In: large, Module: one(ebb.Shape{700, 900}, optim.LR(0.1), optim.Momentum(0.9)), NoTorch: "for the number of threads", Large: large},
	})
}
