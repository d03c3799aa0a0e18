package main

import (
	"context"
	"iter"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/datasets"
	"github.com/ebb-ml/ebb/transforms"
)

// loading takes batches from a loader of MNIST, pass after pass.
type loading struct {
	store  *ebb.Store
	set    *datasets.Images
	loader *data.Loader[data.Batch]
	next   func() (data.Batch, error, bool)
	stop   func()
}

func newLoading(ctx context.Context, rt *ebb.Runtime, folder string, batch int) (work, error) {
	w := &loading{store: rt.NewStore("data")}
	change := transforms.Compose(transforms.ToTensor(), transforms.Normalize([]float64{0.1307}, []float64{0.3081}))
	set, err := datasets.MNIST(ctx, w.store, datasets.Train, change, datasets.Dir(folder))
	if err != nil {
		return nil, err
	}
	w.set = set
	w.loader = data.NewLoader(set, data.BatchSize(batch), data.Shuffle())
	w.next, w.stop = iter.Pull2(func(yield func(data.Batch, error) bool) {
		for {
			for b, err := range w.loader.Batches(ctx) {
				if !yield(b, err) || err != nil {
					return
				}
			}
		}
	})
	return w, nil
}

func (w *loading) batch() data.Batch {
	b, err, ok := w.next()
	if err != nil {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "loader", Err: err})
	}
	if !ok {
		panic(&ebb.Error{Kind: ebb.ErrClosed, Op: "loader"})
	}
	return b
}

func (w *loading) first() []float64 {
	b := w.batch()
	return append(summary(b.Input.Float32s()), summary(b.Target.Int64s())...)
}

func (w *loading) step() { w.batch() }

func (w *loading) close() {
	w.stop()
	w.loader.Close()
	w.set.Close()
}
