package data_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
)

// faulty is a data set whose sample at does what fault does.
func faulty(rt *ebb.Runtime, n, at int, fault func() error) data.Dataset[data.Batch] {
	samples := make(data.Slice[int], n)
	for i := range samples {
		samples[i] = i
	}
	return data.Collate(rt, &faultySamples{samples, at, fault}, func(_ context.Context, s *ebb.Scope, xs []int) (data.Batch, error) {
		ys := make([]int64, len(xs))
		for i, x := range xs {
			ys[i] = int64(x)
		}
		return data.Batch{Input: ebb.FromSlice(s, ys).To(ebb.Float32), Target: ebb.FromSlice(s, ys), Scope: s}, nil
	})
}

type faultySamples struct {
	data.Slice[int]
	at    int
	fault func() error
}

func (f *faultySamples) Sample(ctx context.Context, s *ebb.Scope, i int) (int, error) {
	if i == f.at {
		if err := f.fault(); err != nil {
			return 0, err
		}
	}
	return f.Slice.Sample(ctx, s, i)
}

func TestFaultsNameTheSample(t *testing.T) {
	cause := errors.New("cannot be read")
	faults := map[string]func() error{
		"error":       func() error { return cause },
		"panic":       func() error { panic(cause) },
		"panic value": func() error { panic("a value") },
		"typed panic": func() error { panic(&ebb.Error{Kind: ebb.ErrValue, Given: "bad"}) },
		"bounds":      func() error { var a []int; _ = a[len(a)]; return nil },
	}
	for name, fault := range faults {
		eachWorkers(t, func(t *testing.T, workers int) {
			rt := runtimeOf(t)
			l := data.NewLoader(faulty(rt, 100, 57, fault), data.BatchSize(10), data.Workers(workers), data.Name("train"))
			defer l.Close()
			for range 2 { // the loader is usable after it
				n, got := 0, error(nil)
				for b, err := range l.Batches(t.Context()) {
					if err != nil {
						if b.Input != nil {
							t.Error("a batch beside the error")
						}
						got = err
						continue
					}
					n += b.Input.Size(0)
				}
				var e *data.Error
				if !errors.As(got, &e) || e.Sample != 57 || e.Batch != 5 || n != 50 {
					t.Fatalf("%s: after %d samples error %#v", name, n, got)
				}
				if s := e.Error(); !strings.Contains(s, "train") || !strings.Contains(s, "sample 57") || strings.Contains(s, "\n") && name != "typed panic" || strings.Contains(s, "goroutine") {
					t.Errorf("%s: %s", name, s)
				}
				if (name == "error" || name == "panic") && !errors.Is(got, cause) {
					t.Errorf("%s: the cause is lost: %v", name, got)
				}
				if panics := e.Stack != nil; panics != (name == "panic" || name == "panic value" || name == "bounds") {
					t.Errorf("%s: a stack: %v", name, panics)
				}
				if live(rt) != 0 {
					t.Errorf("%s: live %d", name, live(rt))
				}
			}
		})
	}
}

func TestGoexitInAWorker(t *testing.T) {
	rt := runtimeOf(t)
	var times atomic.Int32
	l := data.NewLoader(faulty(rt, 30, 5, func() error {
		if times.Add(1) == 1 {
			runtime.Goexit()
		}
		return nil
	}), data.Workers(1))
	defer l.Close()
	var failed error
	done := make(chan struct{})
	go func() { // the loop may meet the sample itself
		defer close(done)
		for _, err := range l.Batches(context.Background()) {
			time.Sleep(time.Millisecond)
			failed = errors.Join(failed, err)
		}
	}()
	<-done
	if times.Load() == 1 && failed == nil {
		t.Log("the loop made the batch itself")
	}
	if got := len(pass(t, l, -1)); got != 30 {
		t.Errorf("%d batches in the pass after it", got)
	}
}

func TestCancellation(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 1000, 3)
		defer set.Close()
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(workers))
		defer l.Close()
		before := live(rt)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var got error
		n := 0
		for _, err := range l.Batches(ctx) {
			if got = err; err == nil {
				n++
			}
			if n == 3 {
				cancel()
			}
		}
		if got != context.Canceled || n != 3 || live(rt) != before {
			t.Errorf("%d batches, error %v, live %d, before %d", n, got, live(rt), before)
		}
	})
}

// A data set that waits is told that the loop is left, by the context.
func TestCancellationReachesTheDataset(t *testing.T) {
	for _, how := range []string{"cancel", "break", "close"} {
		rt := runtimeOf(t)
		waits := make(chan struct{}, 100)
		set := data.Collate(rt, &waiting{make(data.Slice[int], 100), waits}, func(_ context.Context, s *ebb.Scope, xs []int) (data.Batch, error) {
			return data.Batch{Input: ebb.Zeros(s, ebb.Shape{len(xs)}), Scope: s}, nil
		})
		l := data.NewLoader(set, data.Workers(2))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for _, err := range l.Batches(ctx) {
			if err != nil {
				if how == "cancel" && err != context.Canceled || how == "close" && !errors.Is(err, ebb.ErrClosed) {
					t.Errorf("%s: %v", how, err)
				}
				continue
			}
			select {
			case <-waits:
			case <-time.After(time.Millisecond):
				continue
			}
			switch how {
			case "cancel":
				cancel()
			case "close":
				l.Close()
			}
			if how == "break" {
				break
			}
		}
		l.Close()
		if live(rt) != 0 {
			t.Errorf("%s: live %d", how, live(rt))
		}
	}
}

type waiting struct {
	data.Slice[int]
	waits chan struct{}
}

func (w *waiting) Sample(ctx context.Context, _ *ebb.Scope, i int) (int, error) {
	if i < 3 {
		return i, nil
	}
	w.waits <- struct{}{}
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestCloseDuringAPass(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 1000, 3)
		defer set.Close()
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(workers))
		before := live(rt)
		n := 0
		var got error
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				got = err
				break
			}
			if n++; n == 3 {
				l.Close()
				if !b.Input.Released() || live(rt) != before {
					t.Errorf("after Close live is %d, before it was %d", live(rt), before)
				}
				l.Close()
			}
		}
		if n != 3 || !errors.Is(got, ebb.ErrClosed) {
			t.Errorf("%d batches, error %v", n, got)
		}
		for _, err := range l.Batches(t.Context()) {
			if !errors.Is(err, ebb.ErrClosed) {
				t.Errorf("a pass of a closed loader: %v", err)
			}
		}
	})
}
