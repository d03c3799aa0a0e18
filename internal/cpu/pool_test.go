package cpu

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func withThreads(t *testing.T, n int) {
	SetNumThreads(n)
	t.Cleanup(func() {
		StopWorkers()
		SetNumThreads(0)
		goleak.VerifyNone(t)
	})
}

func TestParallelRunsEachTaskOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		SetNumThreads(threads)
		for _, n := range []int{-1, 0, 1, 2, 7, 1000} {
			counts := make([]atomic.Int32, max(n, 0))
			Parallel(n, func(i int) { counts[i].Add(1) })
			for i := range counts {
				if c := counts[i].Load(); c != 1 {
					t.Fatalf("%d threads, n=%d: task %d ran %d times", threads, n, i, c)
				}
			}
		}
	}
	withThreads(t, 1)
}

// Two tasks that wait for each other can only end if they run at the same time.
func TestParallelUsesWorkers(t *testing.T) {
	withThreads(t, 2)
	for range 100 {
		var both sync.WaitGroup
		both.Add(2)
		// A worker that has not yet come round from the last job may be missed
		// once; a job of tasks that need no company gives it time.
		for currentPool.Load() != nil && currentPool.Load().idle.Load() == 0 {
			runtime.Gosched()
		}
		Parallel(2, func(int) { both.Done(); both.Wait() })
	}
}

func TestParallelNested(t *testing.T) {
	withThreads(t, 4)
	var sum atomic.Int64
	Parallel(8, func(i int) {
		Parallel(8, func(j int) {
			Parallel(2, func(k int) { sum.Add(int64(i*16 + j*2 + k)) })
		})
	})
	if want := int64(127 * 128 / 2); sum.Load() != want {
		t.Errorf("sum %d, want %d", sum.Load(), want)
	}
}

func TestParallelFromManyGoroutinesWhileResized(t *testing.T) {
	withThreads(t, 4)
	stop := make(chan struct{})
	var resizer, callers sync.WaitGroup
	resizer.Go(func() {
		for n := 1; ; n = n%5 + 1 {
			select {
			case <-stop:
				return
			default:
				SetNumThreads(n)
				runtime.Gosched()
			}
		}
	})
	for range 8 {
		callers.Go(func() {
			for range 200 {
				var sum atomic.Int64
				Parallel(10, func(i int) { sum.Add(int64(i)) })
				if sum.Load() != 45 {
					t.Errorf("sum %d, want 45", sum.Load())
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	resizer.Wait()
}

func TestPanicSurfacesOnCaller(t *testing.T) {
	withThreads(t, 4)
	low, high := errors.New("low"), errors.New("high")
	for range 200 {
		var running atomic.Int32
		func() {
			defer func() {
				if v := recover(); v != low {
					t.Fatalf("panic %v, want the lowest task's", v)
				}
				if n := running.Load(); n != 0 {
					t.Fatalf("%d tasks still run after the panic", n)
				}
			}()
			Parallel(20, func(i int) {
				running.Add(1)
				defer running.Add(-1)
				switch i {
				case 3:
					time.Sleep(10 * time.Microsecond)
					panic(low)
				case 5, 11:
					panic(high)
				}
			})
			t.Fatal("no panic")
		}()
	}
	ran := false
	Parallel(1, func(int) { ran = true })
	if !ran {
		t.Error("the pool does not work after a panic")
	}
}

func TestOneThreadHasNoWorkers(t *testing.T) {
	withThreads(t, 4)
	Parallel(4, func(int) {})
	SetNumThreads(1)
	Parallel(4, func(int) {})
	goleak.VerifyNone(t) // waits for the old workers to end
	if currentPool.Load() != nil {
		t.Error("one thread started a pool")
	}
}

func TestNumThreads(t *testing.T) {
	withThreads(t, 3)
	if NumThreads() != 3 {
		t.Errorf("NumThreads() = %d, want 3", NumThreads())
	}
	for _, n := range []int{0, -5} {
		SetNumThreads(n)
		if got, want := NumThreads(), runtime.GOMAXPROCS(0); got != want {
			t.Errorf("after SetNumThreads(%d): %d, want GOMAXPROCS %d", n, got, want)
		}
	}
}

func BenchmarkParallelOverhead(b *testing.B) {
	SetNumThreads(2)
	defer SetNumThreads(0)
	for b.Loop() {
		Parallel(2, func(int) {})
	}
}

// A worker without work looks for some for a moment, then sleeps until it is woken.
func TestIdleWorkersSleep(t *testing.T) {
	withThreads(t, 4)
	Parallel(8, func(int) {})
	stacks := make([]byte, 1<<16)
	for deadline := time.Now().Add(10 * time.Second); ; {
		workers := 0
		for g := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(g, "cpu.(*pool).work") && strings.Contains(g, "[select") {
				workers++
			}
		}
		if workers == 3 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of 3 workers sleep", workers)
		}
		runtime.Gosched()
	}
}
