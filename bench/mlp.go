// Package bench measures Ebb's speed. Its benchmarks report GFLOP/s or GB/s beside
// the time:
//
//	go test ./bench -bench . -benchtime 200ms
//
// The command in compare runs the same work in PyTorch too, alternately, and
// machine knows what the processor and its memory can do at most. What was
// measured is in docs/benchmarks.md.
//
// A test holds a training step to a few kilobytes of Go garbage. No test asserts
// a time.
package bench

import (
	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
)

// MLP is the training of a network for MNIST's images, Linear(784, hidden), ReLU,
// Linear(hidden, 10) with cross entropy and SGD, on one batch in memory.
type MLP struct {
	rt    *ebb.Runtime
	model *nn.Sequential
	opt   *optim.SGD
	store *ebb.Store
	x, y  *ebb.Tensor
}

// NewMLP makes the network and then a batch of that size: uniform random images
// [batch, 784] and labels. In a runtime of the same seed as PyTorch's, both are
// what the same calls make there.
func NewMLP(rt *ebb.Runtime, batch, hidden int) *MLP {
	store := rt.NewStore("mlp")
	model := nn.NewSequential(nn.NewLinear(store, 784, hidden), &nn.ReLU{}, nn.NewLinear(store, hidden, 10))
	return &MLP{
		rt:    rt,
		model: model,
		opt:   optim.NewSGD(nn.Parameters(model), optim.LR(0.01)),
		store: store,
		x:     ebb.Rand(store, ebb.Shape{batch, 784}, ebb.Input),
		y:     ebb.Randint(store, 0, 10, ebb.Shape{batch}, ebb.Input),
	}
}

// Step takes one training step. As in a loop over a loader's batches, a scope of
// its own holds what the step computes.
func (m *MLP) Step() {
	scope := m.rt.NewScope("step")
	m.step(scope)
	scope.Close()
}

// Loss takes one training step and returns its loss.
func (m *MLP) Loss() float64 {
	scope := m.rt.NewScope("step")
	defer scope.Close()
	return m.step(scope).Item()
}

func (m *MLP) step(scope *ebb.Scope) *ebb.Tensor {
	m.opt.ZeroGrad()
	loss := nn.CrossEntropyLoss(nn.Call(m.model, m.x.In(scope)), m.y)
	loss.Backward()
	m.opt.Step()
	return loss
}

// ZeroGrad releases the gradients of the last step.
func (m *MLP) ZeroGrad() { m.opt.ZeroGrad() }

// Close releases the network and the batch.
func (m *MLP) Close() {
	m.opt.Close()
	m.store.Close()
}
