package nn_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
)

// TestServing serves one model from many goroutines while another goroutine
// trains a copy of it: everyone gets the bits it gets alone.
func TestServing(t *testing.T) {
	goroutines, at := 10_000, 100
	if testing.Short() {
		goroutines = 500
	}
	rt, st := newModelStore(t)
	served, trained := newMLP(st, 16, 32, 4), newMLP(st, 16, 32, 4)
	if err := nn.LoadStateDict(trained, nn.NewStateDict(served)); err != nil {
		t.Fatal(err)
	}
	inputs := ebb.Rand(st, ebb.Shape{7, 3, 16}, ebb.Input)
	answer := func(i int) (y []float32) {
		err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
			y = nn.Call(served, inputs.Select(0, i%7).In(s)).Float32s()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return y
	}
	alone := make([][]float32, 7)
	for i := range alone {
		alone[i] = answer(i)
	}
	opt := optim.NewSGD(nn.Parameters(trained), optim.LR(0.1))
	before := ledgerOf(rt)

	stop := make(chan struct{})
	var training, serving sync.WaitGroup
	var losses []float64
	training.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
				opt.ZeroGrad()
				loss := nn.CrossEntropyLoss(nn.Call(trained, inputs.Select(0, 0).In(s)), ebb.FromSlice(s, []int64{0, 1, 2}))
				loss.Backward()
				opt.Step()
				losses = append(losses, loss.Item())
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	room := make(chan struct{}, at) // how many run at a time
	for i := range goroutines {
		serving.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if y := answer(i); !slices.Equal(y, alone[i%7]) {
				t.Errorf("goroutine %d got %v, alone %v", i, y, alone[i%7])
			}
		})
	}
	serving.Wait()
	close(stop)
	training.Wait()
	opt.ZeroGrad()
	if after := ledgerOf(rt); after != before {
		t.Errorf("the ledger was %+v and is %+v", before, after)
	}
	opt.Close()
	if n := len(losses); n < 2 || !(losses[n-1] < losses[0]) {
		t.Errorf("training went nowhere: %v", losses)
	}

	// Alone, training takes the same way.
	again := newMLP(st, 16, 32, 4)
	if err := nn.LoadStateDict(again, nn.NewStateDict(served)); err != nil {
		t.Fatal(err)
	}
	opt = optim.NewSGD(nn.Parameters(again), optim.LR(0.1))
	defer opt.Close()
	for range losses {
		run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
			opt.ZeroGrad()
			nn.CrossEntropyLoss(nn.Call(again, inputs.Select(0, 0).In(s)), ebb.FromSlice(s, []int64{0, 1, 2})).Backward()
			opt.Step()
		})
	}
	for i, p := range nn.Parameters(again) {
		if !slices.Equal(p.Float32s(), nn.Parameters(trained)[i].Float32s()) {
			t.Errorf("parameter %d trained beside the servers has other bits than alone", i)
		}
	}
}

// TestSharedModelInSteps serves and trains one model in turns.
func TestSharedModelInSteps(t *testing.T) {
	rt, st := newModelStore(t)
	m := newMLP(st, 8, 8, 2)
	x := ebb.Rand(st, ebb.Shape{4, 8}, ebb.Input)
	opt := optim.NewSGD(nn.Parameters(m), optim.LR(0.1))
	defer opt.Close()
	for range 20 {
		var outs [16][]float32
		var wg sync.WaitGroup
		for i := range outs {
			wg.Go(func() {
				if err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
					outs[i] = nn.Call(m, x.In(s)).Float32s()
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range outs {
			if !slices.Equal(outs[i], outs[0]) {
				t.Fatalf("two goroutines got other bits")
			}
		}
		run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
			opt.ZeroGrad()
			nn.Call(m, x.In(s)).Sum().Backward()
			opt.Step()
		})
	}
	opt.ZeroGrad()
}
