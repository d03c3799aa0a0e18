package data_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/internal/process"
)

// The tests below are reports of leaks in other systems' loaders.

// heap returns the bytes live on the Go heap.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// pytorch/pytorch#13246: memory grows through an epoch, times the workers,
// since each worker copies the parent's objects.
func TestManyPathsAreOneCopy(t *testing.T) {
	n := 2_000_000
	if testing.Short() {
		n = 50_000
	}
	rt := runtimeOf(t)
	paths := make(data.Slice[string], n)
	for i := range paths {
		paths[i] = fmt.Sprintf("data/images/%09d.png", i)
	}
	before := heap()
	set := data.Collate(rt, paths, func(_ context.Context, s *ebb.Scope, paths []string) (data.Batch, error) {
		lengths := make([]int64, len(paths))
		for i, p := range paths {
			lengths[i] = int64(len(p))
		}
		return data.Batch{Input: ebb.FromSlice(s, lengths), Scope: s}, nil
	})
	l := data.NewLoader(set, data.BatchSize(1000), data.Workers(16))
	defer l.Close()
	seen, most := 0, uint64(0)
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen += b.Input.Numel(); seen%(n/5) == 0 {
			most = max(most, heap())
		}
	}
	if seen != n {
		t.Errorf("%d samples", seen)
	}
	if most > before+1<<20 {
		t.Errorf("the Go heap grew from %d to %d bytes during the epoch", before, most)
	}
	runtime.KeepAlive(paths)
}

// pytorch/pytorch#97432: prefetch counted in batches fills the memory.
func TestPrefetchIsBoundedInBytes(t *testing.T) {
	rt := runtimeOf(t)
	const rows, batch = 400, 10 * (1000*4 + 8 + 8) // inputs, targets, indices
	set := numbers(rt, rows, 1000)
	before := live(rt)
	for _, fit := range []int64{0, 1, 3} {
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(4), data.Prefetch(fit*batch+batch/2))
		rt.ResetPeak()
		ahead, end := int64(0), time.Now().Add(10*time.Second)
		for _, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for { // give the workers time
				if ahead = max(ahead, live(rt)-before-batch); ahead >= fit*batch || time.Now().After(end) {
					break
				}
				time.Sleep(100 * time.Microsecond)
			}
		}
		peak := rt.Stats().ByKind[ebb.Input].Peak - before
		if peak > (fit+1)*batch {
			t.Errorf("%d batches fit: peak %d bytes, with the batch in use %d are allowed", fit, peak, (fit+1)*batch)
		}
		if ahead != fit*batch {
			t.Errorf("%d batches fit: %d bytes ahead", fit, ahead)
		}
		l.Close()
		if live(rt) != before {
			t.Errorf("after Close live is %d, before it was %d", live(rt), before)
		}
	}
	set.Close()
}

// pytorch/pytorch#91252: "too many open files" after making loaders again and
// again.
func TestTenThousandLoaders(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 300
	}
	rt := runtimeOf(t)
	set := numbers(rt, 40, 1)
	defer set.Close()
	var goroutines, descriptors int
	for i := range n + 1 {
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(i%3))
		if got := len(pass(t, l, i%4)); got == 0 {
			t.Fatal("no batches")
		}
		l.Close()
		if i == 0 {
			goroutines, descriptors = runtime.NumGoroutine(), openFiles(t)
		}
	}
	if got := settled(goroutines); got > goroutines {
		t.Errorf("%d goroutines, %d after the first", got, goroutines)
	}
	if got := openFiles(t); got > descriptors {
		t.Errorf("%d descriptors, %d after the first", got, descriptors)
	}
}

// settled returns the number of goroutines once it is no more than want, or
// after a second: one that has closed its channel may take a moment to end.
func settled(want int) int {
	for range 1000 {
		if runtime.NumGoroutine() <= want {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return runtime.NumGoroutine()
}

func openFiles(t *testing.T) int {
	n, err := process.Descriptors()
	if err != nil {
		t.Log("descriptors are not counted here:", err)
		return 0
	}
	return n
}

// pytorch/pytorch#5040: a worker is killed, the message hides that memory ran
// out.
func TestOutOfMemoryNamesTheLoader(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t, ebb.Limit(16<<20))
		set := data.Collate(rt, make(data.Slice[int], 20), func(_ context.Context, s *ebb.Scope, xs []int) (data.Batch, error) {
			return data.Batch{Input: ebb.Zeros(s, ebb.Shape{len(xs), 6 << 20}, ebb.Uint8), Scope: s}, nil
		})
		l := data.NewLoader(set, data.BatchSize(4), data.Workers(workers), data.Name("train"), data.Prefetch(8<<20))
		defer l.Close()
		var got error
		for _, err := range l.Batches(t.Context()) {
			got = err
		}
		if !errors.Is(got, ebb.ErrOutOfMemory) || !strings.Contains(got.Error(), "train") || !strings.Contains(got.Error(), "limit 16.00 MiB") {
			t.Errorf("error: %v", got)
		}
		if workers > 0 && !strings.Contains(got.Error(), fmt.Sprintf("%d workers, at most 8.00 MiB ahead", workers)) {
			t.Errorf("error: %v", got)
		}
	})
}

// A limit that leaves room for one batch, but not for those ahead, is enough.
func TestPrefetchGivesWayToALimit(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t, ebb.Limit(20<<20))
		set := data.Collate(rt, make(data.Slice[int], 12), func(_ context.Context, s *ebb.Scope, xs []int) (b data.Batch, err error) {
			defer ebb.Catch(&err)
			b.Scope = s
			b.Input = ebb.Zeros(s, ebb.Shape{len(xs), 12 << 20}, ebb.Uint8)
			return b, nil
		})
		for _, ahead := range []int64{12 << 20, 64 << 20} {
			l := data.NewLoader(set, data.Workers(workers), data.Prefetch(ahead))
			for range 3 {
				n := 0
				for b, err := range l.Batches(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					n += b.Input.Size(0)
				}
				if n != 12 {
					t.Errorf("%d samples", n)
				}
			}
			l.Close()
		}
		rt.MarkFailed() // the shortages were errors on the way
	})
}

// huggingface/transformers#28469: every evaluation adds workers until the
// machine dies.
func TestThousandEvaluations(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 50
	}
	rt := runtimeOf(t)
	set := numbers(rt, 40, 1)
	defer set.Close()
	evaluate := func() {
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(2))
		defer l.Close()
		pass(t, l, -1)
	}
	evaluate()
	before, owners, goroutines := heap(), rt.Stats().Owners, runtime.NumGoroutine()
	for range n {
		evaluate()
	}
	if got := heap(); got > before+256<<10 {
		t.Errorf("the Go heap grew from %d to %d bytes", before, got)
	}
	if s := rt.Stats(); s.Owners != owners {
		t.Errorf("%d owners, %d before", s.Owners, owners)
	}
	if got := settled(goroutines); got > goroutines {
		t.Errorf("%d goroutines, %d before", got, goroutines)
	}
}

// The same without Close: the collector finds it, its workers end, and the
// report names the line.
func TestForgottenLoaderIsReported(t *testing.T) {
	leaks := make(chan ebb.Leak, 10)
	rt := ebb.NewRuntime(ebb.OnLeak(func(l ebb.Leak) { leaks <- l }))
	set := numbers(rt, 40, 1)
	goroutines := runtime.NumGoroutine()
	forget(t, set)
	var leak ebb.Leak
	for i := 0; leak.Owner == ""; i++ {
		if i == 200 {
			t.Fatal("no report")
		}
		runtime.GC()
		select {
		case leak = <-leaks:
		case <-time.After(10 * time.Millisecond):
		}
	}
	if leak.Owner != "evaluation" || !strings.Contains(leak.Site.String(), "reports_test.go") {
		t.Errorf("report: %s", leak)
	}
	for i := 0; runtime.NumGoroutine() > goroutines; i++ {
		if i == 200 {
			t.Fatal("its workers live on")
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	set.Close()
	if err := rt.Close(); !errors.Is(err, ebb.ErrLeak) || !strings.Contains(err.Error(), "evaluation") {
		t.Errorf("Close: %v", err)
	}
}

//go:noinline
func forget(t *testing.T, set *data.TensorDataset) {
	l := data.NewLoader(set, data.BatchSize(10), data.Workers(3), data.Name("evaluation"))
	pass(t, l, 2)
}

// tracel-ai/burn#4792: memory jumps at each epoch. How many batches the workers
// are ahead differs from epoch to epoch, so the first need not be the one with
// the most; more than a segment or two beyond it is growth.
func TestEpochsMapNoMore(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 10
	}
	eachWorkers(t, func(t *testing.T, workers int) {
		if invariants && workers > 0 {
			t.Skip("between guard pages each tensor is a mapping of its own, and how many batches are ahead is the workers' affair")
		}
		rt := runtimeOf(t)
		set := numbers(rt, 1000, 100)
		defer set.Close()
		l := data.NewLoader(set, data.BatchSize(64), data.Shuffle(), data.Workers(workers))
		defer l.Close()
		var mapped, ahead int64
		if workers > 0 {
			ahead = 512 << 10
		}
		for epoch := range n {
			pass(t, l, -1)
			if m := rt.Stats().Mapped; epoch == 0 {
				mapped = m
			} else if m > mapped+ahead {
				t.Fatalf("epoch %d: %d bytes mapped, %d after the first", epoch, m, mapped)
			}
		}
	})
}

// wangkuiyi/gotorch#48: batches are freed only when the collector runs.
func TestThousandPassesWithoutTheCollector(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 50
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 100, 10)
		defer set.Close()
		before := rt.Stats()
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(workers))
		for i := range n {
			if got := len(pass(t, l, -1)); got != 10 {
				t.Fatalf("%d batches", got)
			}
			if s := rt.Stats(); s.Live.Current != before.Live.Current || s.Leases != 0 || s.Tensors != before.Tensors {
				t.Fatalf("after pass %d: live %d, tensors %d", i, s.Live.Current-before.Live.Current, s.Tensors-before.Tensors)
			}
		}
		l.Close()
		if s := rt.Stats(); s.Owners != before.Owners {
			t.Errorf("%d owners, %d before", s.Owners, before.Owners)
		}
	})
}

// fab2s/goDl: an epoch ends early without a word. See TestFaultsNameTheSample;
// here every place of the fault.
func TestNoFaultIsSwallowed(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		for at := range 23 {
			l := data.NewLoader(faulty(rt, 23, at, func() error { return errors.ErrUnsupported }), data.BatchSize(4), data.Workers(workers))
			n, failed := 0, false
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					failed = errors.Is(err, errors.ErrUnsupported)
					continue
				}
				n += b.Input.Size(0)
			}
			if !failed || n != at/4*4 {
				t.Errorf("fault at %d: %d samples, reported: %v", at, n, failed)
			}
			l.Close()
		}
	})
}

// For every n, failing the nth allocation of a pass leaves nothing behind.
func TestNthAllocationFails(t *testing.T) {
	for _, workers := range []int{0, 2} {
		rt := runtimeOf(t)
		set := numbers(rt, 12, 10)
		both := data.Concat(set, data.NewSubset(set, []int64{1, 2, 3}))
		before := live(rt)
		for n := 1; ; n++ {
			l := data.NewLoader(both, data.BatchSize(5), data.Shuffle(), data.Workers(workers))
			rt.FailNthAllocation(n)
			var got error
			for _, err := range l.Batches(t.Context()) {
				got = err
			}
			rt.FailNthAllocation(0)
			l.Close()
			if live(rt) != before {
				t.Fatalf("allocation %d: live %d, before %d", n, live(rt), before)
			}
			if got != nil && !errors.Is(got, ebb.ErrOutOfMemory) {
				t.Fatalf("allocation %d: %v", n, got)
			}
			if got == nil && n > 60 {
				break
			}
		}
		set.Close()
	}
}
