package data_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
)

func eachWorkers(t *testing.T, f func(t *testing.T, workers int)) {
	for _, workers := range []int{0, 1, 4} {
		t.Run(fmt.Sprintf("workers %d", workers), func(t *testing.T) { f(t, workers) })
	}
}

func live(rt *ebb.Runtime) int64 { return rt.Stats().Live.Current }

func TestBatches(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 10, 3)
		defer set.Close()
		l := data.NewLoader(set, data.BatchSize(4), data.Workers(workers))
		defer l.Close()
		if l.Len() != 3 {
			t.Errorf("%d batches", l.Len())
		}
		before := live(rt)
		n := 0
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Input.Kind() != ebb.Input || b.Target.Kind() != ebb.Input {
				t.Errorf("kinds %s, %s", b.Input.Kind(), b.Target.Kind())
			}
			if want := []int{min(4, 10-n), 3}; !cmp.Equal(b.Input.Shape(), want) {
				t.Errorf("shape %v, want %v", b.Input.Shape(), want)
			}
			y := b.Input.Add(b.Input)
			if y.Scope() != b.Scope || y.Kind() != ebb.Activation {
				t.Errorf("a result lands in %s as %s", y.Scope().Name(), y.Kind())
			}
			for i, v := range y.Float32s() {
				if v != float32(2*(n+i/3)) {
					t.Fatalf("element %d is %v", i, v)
				}
			}
			n += b.Input.Size(0)
		}
		if n != 10 || live(rt) != before {
			t.Errorf("%d samples, live %d, before %d", n, live(rt), before)
		}
	})
}

// A batch's scope is younger than what was opened while it was prepared.
func TestScopeOpensAtHandOver(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 40, 3)
		defer set.Close()
		l := data.NewLoader(set, data.Workers(workers))
		defer l.Close()
		epoch := rt.NewScope("epoch")
		defer epoch.Close()
		total := ebb.Zeros(epoch, ebb.Shape{3})
		for b, err := range l.Batches(t.Context(), data.NoGrad) {
			if err != nil {
				t.Fatal(err)
			}
			if !b.Scope.NoGrad() {
				t.Error("the scope records a graph")
			}
			if s := total.Add(b.Input).Scope(); s != b.Scope {
				t.Fatalf("the sum lands in %s", s.Name())
			}
			mid := rt.NewScope("mid")
			if s := total.In(mid).Add(b.Input).Scope(); s != mid {
				t.Fatalf("the sum lands in %s", s.Name())
			}
			mid.Close()
			total.Add_(b.Input.Reshape(3))
		}
		if got := total.Float32s(); got[0] != 780 {
			t.Errorf("sum %v", got)
		}
	})
}

func TestBreakReleasesAndMovedBatchStays(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 1000, 3)
		defer set.Close()
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(workers))
		kept := rt.NewStore("kept")
		defer kept.Close()
		before := rt.Stats()
		var last data.Batch
		var moved *ebb.Tensor
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			last = b
			if b.Target.Int64s()[0] == 30 {
				moved = b.Input.MoveTo(kept)
				break
			}
		}
		if !last.Input.Released() {
			t.Error("the batch outlives the loop")
		}
		after := rt.Stats()
		if got := after.Live.Current - before.Live.Current; got != moved.NBytes() || after.Owners != before.Owners {
			t.Errorf("%d bytes and %d owners more", got, after.Owners-before.Owners)
		}
		l.Close()
		if got := moved.Float32s(); got[0] != 30 || got[29] != 39 {
			t.Errorf("the moved batch has %v", got)
		}
	})
}

func TestBodysPanicGoesOn(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 1000, 3)
		defer set.Close()
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(workers))
		defer l.Close()
		before := live(rt)
		for range 2 { // the loader is usable after it
			func() {
				defer func() {
					if r := recover(); r != "the body's own" {
						t.Errorf("panic %v", r)
					}
				}()
				for b, err := range l.Batches(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if b.Target.Int64s()[0] == 50 {
						panic("the body's own")
					}
				}
				t.Error("no panic")
			}()
			if live(rt) != before {
				t.Errorf("live %d, before %d", live(rt), before)
			}
		}
	})
}

func TestBodysTypedPanicCanBeCaught(t *testing.T) {
	rt := runtimeOf(t)
	set := numbers(rt, 100, 3)
	defer set.Close()
	l := data.NewLoader(set, data.BatchSize(10), data.Workers(2))
	defer l.Close()
	before := live(rt)
	err := func() (err error) {
		defer ebb.Catch(&err)
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				return err
			}
			b.Input.Add(ebb.Zeros(b.Scope, ebb.Shape{7}))
		}
		return nil
	}()
	if !errors.Is(err, ebb.ErrShape) || live(rt) != before {
		t.Errorf("error %v, live %d, before %d", err, live(rt), before)
	}
}

// A data set that is closed under a loader is an error, not another's data.
func TestDatasetClosedDuringAPass(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 1000, 3)
		l := data.NewLoader(set, data.BatchSize(10), data.Workers(workers))
		defer l.Close()
		var got error
		for b, err := range l.Batches(t.Context()) {
			if got = err; err == nil && b.Target.Int64s()[0] == 20 {
				set.Close()
			}
		}
		var e *data.Error
		if !errors.Is(got, ebb.ErrReleased) || !errors.As(got, &e) || e.Batch < 3 {
			t.Errorf("error %v", got)
		}
		if live(rt) != 0 {
			t.Errorf("live %d", live(rt))
		}
	})
}

func TestPassesMayOverlap(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		set := numbers(rt, 30, 3)
		defer set.Close()
		l := data.NewLoader(set, data.BatchSize(7), data.Workers(workers))
		defer l.Close()
		sum := int64(0)
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, inner := range pass(t, l, -1) {
				sum += inner[0]
			}
			sum += 1000 * b.Target.Int64s()[0]
		}
		if want := int64(5*(7+14+21+28) + 1000*(7+14+21+28)); sum != want {
			t.Errorf("sum %d, want %d", sum, want)
		}
	})
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	rt := runtimeOf(t)
	set := numbers(rt, 10, 1)
	defer set.Close()
	s := data.SequentialSampler{}
	for name, opts := range map[string][]data.LoaderOption{
		"size 0":     {data.BatchSize(0)},
		"size -1":    {data.BatchSize(-1)},
		"size -7":    {data.BatchSize(-7)},
		"no size":    {data.WithBatchSampler(data.FixedBatches{Sampler: s})},
		"workers -1": {data.Workers(-1)},
		"workers":    {data.Workers(math.MaxInt)},
		"draws":      {data.WithSampler(data.WeightedRandomSampler{Weights: []float64{1}, NumSamples: -1})},
		"prefetch":   {data.Prefetch(-1)},
		"both":       {data.Shuffle(), data.WithSampler(s)},
		"batches":    {data.BatchSize(2), data.WithBatchSampler(data.FixedBatches{Sampler: s, Size: 2})},
		"drop":       {data.DropLast(), data.WithBatchSampler(data.FixedBatches{Sampler: s, Size: 2})},
	} {
		var err error
		func() {
			defer ebb.Catch(&err)
			data.NewLoader(set, opts...).Close()
		}()
		if !errors.Is(err, ebb.ErrValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, opt := range map[string]data.LoaderOption{
		"index":   data.WithSampler(data.SubsetRandomSampler{Samples: []int64{3, 10}}),
		"weights": data.WithSampler(data.WeightedRandomSampler{Weights: []float64{1, -1}, NumSamples: 2}),
	} {
		l := data.NewLoader(set, opt)
		var got error
		for _, err := range l.Batches(t.Context()) {
			got = err
		}
		var e *data.Error
		if !errors.As(got, &e) {
			t.Errorf("%s: %v", name, got)
		}
		l.Close()
	}
}

// A batch may be larger than any memory: it has the samples that there are.
func TestHugeBatchSize(t *testing.T) {
	rt := runtimeOf(t)
	set := numbers(rt, 3, 1)
	defer set.Close()
	for _, size := range []int{4, 1 << 40, math.MaxInt} {
		l := data.NewLoader(set, data.BatchSize(size))
		if diff := cmp.Diff([][]int64{{0, 1, 2}}, pass(t, l, -1)); diff != "" || l.Len() != 1 {
			t.Errorf("size %d: %d batches: %s", size, l.Len(), diff)
		}
		l.Close()
	}
}

func TestEmptyDataset(t *testing.T) {
	for _, opts := range [][]data.LoaderOption{{}, {data.Shuffle()}, {data.WithSampler(data.RandomSampler{Replacement: true, NumSamples: 3})}} {
		rt := runtimeOf(t)
		st := rt.NewStore("data")
		l := data.NewLoader(data.NewTensorDataset(ebb.Zeros(st, ebb.Shape{0, 2}), nil), opts...)
		for range l.Batches(t.Context()) {
			t.Error("a batch")
		}
		l.Close()
		st.Close()
	}
}

func TestBatchSampler(t *testing.T) {
	rt := runtimeOf(t)
	set := numbers(rt, 10, 1)
	defer set.Close()
	l := data.NewLoader(set, data.WithBatchSampler(data.FixedBatches{Sampler: data.SequentialSampler{}, Size: 4, DropLast: true}), data.Workers(2))
	defer l.Close()
	if diff := cmp.Diff([][]int64{{0, 1, 2, 3}, {4, 5, 6, 7}}, pass(t, l, -1)); diff != "" || l.Len() != 2 {
		t.Error(l.Len(), diff)
	}
}

func TestTensorDatasetIsStrict(t *testing.T) {
	rt := runtimeOf(t)
	st := rt.NewStore("data")
	defer st.Close()
	sc := rt.NewScope("scope")
	defer sc.Close()
	x := ebb.Zeros(st, ebb.Shape{3, 2})
	for kind, f := range map[ebb.ErrorKind]func(){
		ebb.ErrValue:   func() { data.NewTensorDataset(nil, x) },
		ebb.ErrShape:   func() { data.NewTensorDataset(x, ebb.Zeros(st, ebb.Shape{4})) },
		ebb.ErrOutward: func() { data.NewTensorDataset(x, ebb.Zeros(sc, ebb.Shape{3})) },
		ebb.ErrIndex: func() {
			if _, err := data.NewTensorDataset(x, nil).Batch(t.Context(), sc, []int64{3}); err != nil {
				panic(err)
			}
		},
	} {
		var err error
		func() {
			defer ebb.Catch(&err)
			f()
		}()
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	// Strided, and without a graph although it could have one.
	w := ebb.Arange(st, 0, 6, 1, ebb.Float32).View(2, 3).T()
	b, err := data.NewTensorDataset(w, nil).Batch(t.Context(), sc, []int64{2, 0})
	if err != nil || !cmp.Equal(b.Input.Float32s(), []float32{2, 5, 0, 3}) || b.Target != nil {
		t.Error(err, b.Input.Float32s())
	}
}
