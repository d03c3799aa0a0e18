package ebb_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
)

// blocking is a custom operation that waits in Forward.
type blocking struct{ entered, leave chan struct{} }

func (b blocking) Forward(ctx *ebb.FunctionContext, in []*ebb.Tensor) []*ebb.Tensor {
	close(b.entered)
	<-b.leave
	return []*ebb.Tensor{in[0].Add(in[0])}
}

func (blocking) Backward(*ebb.FunctionContext, []*ebb.Tensor) []*ebb.Tensor {
	return []*ebb.Tensor{nil}
}

// An operation whose scope is closed meanwhile is an error, and leaves
// nothing.
func TestCloseDuringAnOperation(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("batch")
	x := ebb.Ones(s, ebb.Shape{10})
	op := blocking{make(chan struct{}), make(chan struct{})}
	result := make(chan error)
	go func() {
		var err error
		defer func() { result <- err }()
		defer ebb.Catch(&err)
		ebb.Apply("blocking", op, x)
	}()
	<-op.entered
	s.Close()
	close(op.leave)
	if err := <-result; !errors.Is(err, ebb.ErrReleased) && !errors.Is(err, ebb.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if got := flatOf(rt); got != (flat{}) {
		t.Errorf("left %+v", got)
	}
}

// Many goroutines use and close scopes of one runtime while others read what
// is in stores: no race, no crash, the right numbers, nothing left.
func TestCloseDuringKernels(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.Full(st, ebb.Shape{64, 64}, 0.5)
	var wg sync.WaitGroup
	var finished, interrupted atomic.Int64
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				s := rt.NewScope("request", ebb.NoGrad)
				x := ebb.Ones(s, ebb.Shape{4, 64})
				if (g+i)%2 == 0 {
					go s.Close()
				}
				var err error
				func() {
					defer ebb.Catch(&err)
					y := x.MatMul(w).MatMul(w)
					if v := y.Float32s()[0]; v != 1024 {
						t.Errorf("got %v, want 1024", v)
					}
				}()
				switch {
				case err == nil:
					finished.Add(1)
				case errors.Is(err, ebb.ErrReleased), errors.Is(err, ebb.ErrClosed):
					interrupted.Add(1)
				default:
					t.Error(err)
				}
				s.Close()
			}
		})
	}
	wg.Wait()
	if finished.Load() < 800 {
		t.Errorf("%d requests finished, %d were interrupted", finished.Load(), interrupted.Load())
	}
	want := flat{live: 64 * 64 * 4, count: 1, owners: 1, tensors: 1}
	if got := flatOf(rt); got != want {
		t.Errorf("left %+v, want %+v", got, want)
	}
}

// Ten thousand goroutines compute with the same weights, each in its own
// scope, and get the same bits.
func TestManyGoroutines(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.Randn(st, ebb.Shape{16, 16})
	b := ebb.Randn(st, ebb.Shape{16})
	x := ebb.Randn(st, ebb.Shape{3, 16})
	forward := func(s *ebb.Scope) []float32 { return ebb.Linear(ebb.Linear(x.In(s), w, b).ReLU(), w, b).Float32s() }
	var want []float32
	run(t, rt, func(s *ebb.Scope) { want = forward(s) })
	var wg sync.WaitGroup
	for range 10_000 {
		wg.Go(func() {
			err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
				got := forward(s)
				for i := range got {
					if got[i] != want[i] {
						return errors.New("other bits")
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := flatOf(rt); got.tensors != 3 || got.owners != 1 || got.nodes != 0 {
		t.Errorf("left %+v", got)
	}
}

// One goroutine trains a model while others serve another with the same
// runtime and read the frozen weights of the first.
func TestTrainWhileServing(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.Ones(st, ebb.Shape{8, 8}, ebb.RequiresGrad)
	frozen := ebb.Ones(st, ebb.Shape{8, 8})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
					if v := frozen.In(s).MatMul(frozen).Sum().Item(); v != 512 {
						t.Errorf("got %v, want 512", v)
					}
					return nil
				}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 200 {
		run(t, rt, func(s *ebb.Scope) {
			ebb.Linear(frozen.In(s), w, nil).Sum().Backward()
			ebb.SGD_([]*ebb.Tensor{w}, []*ebb.Tensor{w.Grad()}, nil, &ebb.SGDOptions{LR: 0.001})
			w.ZeroGrad()
		})
	}
	close(stop)
	wg.Wait()
}

// Closing the runtime waits for a lease, and in the end says who holds it.
func TestRuntimeCloseWaitsForLeases(t *testing.T) {
	defer ebb.SetCloseTimeout(30 * time.Millisecond)()
	rt := ebb.NewRuntime()
	x := ebb.Ones(rt.NewScope("batch"), ebb.Shape{10})
	x.Read(func(data []float32) {
		err := rt.Close()
		if !errors.Is(err, ebb.ErrTimeout) || !strings.Contains(err.Error(), "read") || !strings.Contains(err.Error(), "concurrency_test.go") {
			t.Errorf("got %v", err)
		}
		if data[9] != 1 {
			t.Error("the memory went under the lease")
		}
	})
	if s := rt.Stats(); s.Mapped != 0 || s.Live.Current != 0 {
		t.Errorf("after the lease %+v", s)
	}

	rt = ebb.NewRuntime()
	s := rt.NewScope("batch")
	op := blocking{make(chan struct{}), make(chan struct{})}
	x = ebb.Ones(s, ebb.Shape{10})
	done := make(chan error)
	go func() {
		x.Read(func([]float32) { close(op.entered); <-op.leave })
		close(done)
	}()
	<-op.entered
	s.Close()
	go func() { close(op.leave) }()
	if err := rt.Close(); err != nil {
		t.Errorf("Close did not wait for a short lease: %v", err)
	}
	<-done
}
