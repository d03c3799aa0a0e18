package nn_test

import (
	"errors"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
)

// The peaks below are those of a step of PyTorch 1.13 with gradients set to none
// before each: bytes that tensors hold above parameters and batch. Scratch space
// of kernels is apart, as it is in PyTorch's count, which lacks its BLAS's.

// step runs a step of m on a batch of its own, a forward pass only if opt is
// nil, between before and after.
func step(rt *ebb.Runtime, m nn.Module, opt *optim.SGD, in ebb.Shape, classes int, before, after func()) error {
	mode := ebb.NoGrad
	if opt != nil {
		mode = ebb.EnableGrad
		opt.ZeroGrad()
	}
	return rt.Run(mode, func(s *ebb.Scope) error {
		x := ebb.Rand(s, in, ebb.Input)
		y := ebb.Randint(s, 0, classes, ebb.Shape{in[0]}, ebb.Input)
		before()
		defer after()
		logits := nn.Call(m, x)
		if opt != nil {
			nn.CrossEntropyLoss(logits, y).Backward()
			opt.Step()
		}
		return nil
	})
}

// peakOf returns the most that a step held above what was live before it,
// scratch space included.
func peakOf(t *testing.T, rt *ebb.Runtime, m nn.Module, opt *optim.SGD, in ebb.Shape, classes int) int64 {
	var peak int64
	err := step(rt, m, opt, in, classes, func() {
		rt.ResetPeak()
		peak = -rt.Stats().Live.Current
	}, func() { peak += rt.Stats().Live.Peak })
	if err != nil {
		t.Fatal(err)
	}
	return peak
}

// peakApart is peakOf without scratch space. The ledgers have no such figure, so
// it lets every allocation of the step fail in turn and adds up what each error
// says was live.
func peakApart(t *testing.T, rt *ebb.Runtime, m nn.Module, opt *optim.SGD, in ebb.Shape, classes int) int64 {
	var peak, before int64
	for n := 1; ; n++ {
		err := step(rt, m, opt, in, classes, func() {
			before = rt.Stats().Live.Current
			rt.FailNthAllocation(n)
		}, func() { rt.FailNthAllocation(0) })
		if err == nil {
			if n < 5 {
				t.Fatalf("%d allocations in a step", n)
			}
			return peak
		}
		var e *ebb.Error
		if !errors.As(err, &e) || e.Memory == nil {
			t.Fatal(err)
		}
		live := e.Memory.Live - e.Memory.ByKind[ebb.Workspace] - before
		if e.Memory.Kind != ebb.Workspace {
			live += e.Memory.Asked
		}
		peak = max(peak, live)
	}
}

// tower is depth times a Linear and a ReLU, run by a Chain of its own.
type tower struct{ Layers []nn.Module }

func newTower(st *ebb.Store, depth, width int) *tower {
	m := &tower{}
	for range depth {
		m.Layers = append(m.Layers, nn.NewLinear(st, width, width), &nn.ReLU{})
	}
	return m
}

func (m *tower) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Chain(x, m.Layers...) }

// byHand is a tower with one operation a line.
type byHand struct{ *tower }

func (m *byHand) Forward(x *ebb.Tensor) *ebb.Tensor {
	for _, l := range m.Layers {
		x = l.Forward(x)
	}
	return x
}

// TestPeakOfTower is the report of 23.2 GiB where 8.4 were needed: a region must
// not hold what is handed from layer to layer.
func TestPeakOfTower(t *testing.T) {
	for _, c := range []struct {
		depth, width      int
		training, without int64 // PyTorch's peaks
		measure           func(t *testing.T, rt *ebb.Runtime, m nn.Module, opt *optim.SGD, in ebb.Shape, classes int) int64
	}{
		// What PyTorch's comes to: 23 activations, the loss and the weight of
		// the mean in training; 2 activations without.
		{20, 96, 23*96*96*4 + 8, 2 * 96 * 96 * 4, peakApart},
		{6, 128, 9*128*128*4 + 8, 2 * 128 * 128 * 4, peakApart},
		{20, 1024, 96_469_000, 8_388_608 + 1<<20, peakOf}, // with 1 MiB of scratch space at most
	} {
		if testing.Short() && c.width > 1000 {
			continue
		}
		rt, st := newModelStore(t)
		m := newTower(st, c.depth, c.width)
		opt := optim.NewSGD(nn.Parameters(m), optim.LR(0.01))
		defer opt.Close()
		in := ebb.Shape{c.width, c.width}
		for name, m := range map[string]nn.Module{"Chain": m, "Sequential": nn.NewSequential(m.Layers...), "by hand": &byHand{m}} {
			training, without := c.measure(t, rt, m, opt, in, c.width), int64(0)
			opt.ZeroGrad()
			without = c.measure(t, rt, m, nil, in, c.width)
			t.Logf("%d x %d, %s: %d in training, %d under NoGrad; PyTorch %d and %d", c.depth, c.width, name, training, without, c.training, c.without)
			if name == "by hand" {
				continue
			}
			if training > c.training {
				t.Errorf("%d x %d, %s: %d bytes at the peak of a step, PyTorch %d", c.depth, c.width, name, training, c.training)
			}
			if without > c.without {
				t.Errorf("%d x %d, %s: %d bytes at the peak under NoGrad, PyTorch %d", c.depth, c.width, name, without, c.without)
			}
		}
	}
}

func TestPeakOfMLP(t *testing.T) {
	for _, c := range []struct {
		batch, hidden int
		torch         int64 // above parameters and batch
	}{
		{64, 128, 439_856},
		{512, 1024, 6_332_464},
	} {
		if testing.Short() && c.batch > 100 {
			continue
		}
		rt, st := newModelStore(t)
		m := newMLP(st, 784, c.hidden, 10)
		opt := optim.NewSGD(nn.Parameters(m), optim.LR(0.01))
		peak := peakApart(t, rt, m, opt, ebb.Shape{c.batch, 784}, 10)
		opt.ZeroGrad()
		opt.Close()
		logits := int64(c.batch) * 10 * 4 // which the caller may still read
		held := rt.Stats().Live.Current + int64(c.batch)*(784*4+8)
		t.Logf("%d x 784-%d-10: %d above %d of parameters and batch; PyTorch %d", c.batch, c.hidden, peak, held, c.torch)
		if peak > c.torch+logits {
			t.Errorf("%d x 784-%d-10: %d bytes at the peak of a step, PyTorch %d and %d of logits", c.batch, c.hidden, peak, c.torch, logits)
		}
	}
}
