package data_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
)

// squares makes tensors for each sample, in the scope it is given.
type squares struct {
	n       int
	targets bool
	ragged  bool
}

func (q squares) Len() int { return q.n }

func (q squares) Sample(_ context.Context, s *ebb.Scope, i int) (data.Sample, error) {
	x := ebb.FromSlice(s, []float32{float32(i)})
	if q.ragged && i == 3 {
		x = ebb.FromSlice(s, []float32{1, 2})
	}
	out := data.Sample{Input: x.Mul(x)}
	if q.targets {
		out.Target = ebb.FromSlice(s, []int64{int64(i)}, []int{}...)
	}
	return out, nil
}

// What a worker makes on the way is gone when the batch has been put together.
func TestStackSamples(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		for _, targets := range []bool{true, false} {
			l := data.NewLoader(data.Collate(rt, squares{n: 10, targets: targets}, data.StackSamples), data.BatchSize(4), data.Workers(workers), data.Prefetch(0))
			n := 0
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				size := min(4, 10-n)
				want := make([]float32, size)
				for i := range want {
					want[i] = float32((n + i) * (n + i))
				}
				if !cmp.Equal(b.Input.Float32s(), want) || !cmp.Equal(b.Input.Shape(), []int{size, 1}) {
					t.Errorf("inputs %v of shape %v", b.Input.Float32s(), b.Input.Shape())
				}
				bytes := int64(4 * size)
				if targets {
					bytes += int64(8 * size)
					if b.Target.Int64s()[0] != int64(n) || b.Target.Dim() != 1 {
						t.Errorf("targets %v", b.Target.Int64s())
					}
				} else if b.Target != nil {
					t.Error("targets from nowhere")
				}
				if live(rt) != bytes {
					t.Errorf("live %d, the batch has %d", live(rt), bytes)
				}
				n += size
			}
			l.Close()
		}
	})
}

func TestStackRaggedSamples(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := runtimeOf(t)
		l := data.NewLoader(data.Collate(rt, squares{n: 10, ragged: true}, data.StackSamples), data.BatchSize(2), data.Workers(workers))
		defer l.Close()
		var got error
		n := 0
		for _, err := range l.Batches(t.Context()) {
			if got = err; err == nil {
				n++
			}
		}
		var e *data.Error
		if !errors.Is(got, ebb.ErrShape) || !errors.As(got, &e) || e.Batch != 1 || n != 1 {
			t.Errorf("after %d batches error %v", n, got)
		}
	})
}

func TestSubsetsAreChecked(t *testing.T) {
	rt := runtimeOf(t)
	set := numbers(rt, 10, 1)
	defer set.Close()
	for kind, f := range map[ebb.ErrorKind]func(){
		ebb.ErrIndex: func() { data.NewSubset(set, []int64{1, 10}) },
		ebb.ErrValue: func() { data.RandomSplit(set, nil, 3, 8) },
	} {
		var err error
		func() {
			defer ebb.Catch(&err)
			f()
		}()
		if !errors.Is(err, kind) {
			t.Errorf("%v, want %s", err, kind)
		}
	}
	for _, bad := range []func(){
		func() { data.RandomSplit(set, nil, -1, 11) },
		func() { data.RandomSplit(set, nil) },
		func() { data.Fractions(10, 0.5, 0.6) },
		func() { data.Fractions(10, 1.5, -0.5) },
		func() { data.Fractions(10) },
		func() { data.Concat() },
	} {
		var err error
		func() {
			defer ebb.Catch(&err)
			bad()
		}()
		if !errors.Is(err, ebb.ErrValue) {
			t.Error(err)
		}
	}
}
