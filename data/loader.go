package data

import (
	"context"
	"fmt"
	"iter"

	"github.com/ebb-ml/ebb"
)

// Loader makes batches of a data set, pass after pass.
type Loader[B any] struct {
	set    Dataset[B]
	opts   options
	anchor *ebb.Scope
}

// options are what LoaderOptions set.
type options struct {
	size     int
	shuffle  bool
	dropLast bool
	gen      *ebb.Generator
	batches  BatchSampler
}

// LoaderOption configures a [NewLoader].
type LoaderOption func(*options)

// BatchSize sets the samples of a batch, 1 or more; the default is 1. The last
// batch of a pass may be smaller.
func BatchSize(n int) LoaderOption { return func(o *options) { o.size = n } }

// Shuffle takes the samples in a new random order in each pass.
func Shuffle() LoaderOption { return func(o *options) { o.shuffle = true } }

// DropLast leaves out the last batch of a pass if it is smaller than the others.
func DropLast() LoaderOption { return func(o *options) { o.dropLast = true } }

// WithGenerator sets the generator of the loader's draws and of Shuffle's. The
// default is the runtime's own.
func WithGenerator(g *ebb.Generator) LoaderOption { return func(o *options) { o.gen = g } }

// NewLoader returns a loader of set. Close it after use; one that is forgotten
// is reported as a leak.
func NewLoader[B any](set Dataset[B], opts ...LoaderOption) *Loader[B] {
	o := options{size: 1}
	for _, f := range opts {
		f(&o)
	}
	if o.size < 1 {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "loader", Given: fmt.Sprintf("batches of %d samples", o.size), Advice: "a batch has 1 sample or more"})
	}
	var s Sampler = SequentialSampler{}
	if o.shuffle {
		s = RandomSampler{Generator: o.gen}
	}
	o.batches = Batches{s, o.size, o.dropLast}
	if o.gen == nil {
		o.gen = set.Runtime().Generator()
	}
	return &Loader[B]{set: set, opts: o, anchor: set.Runtime().NewScope("loader")}
}

// Len returns the number of batches of a pass.
func (l *Loader[B]) Len() int { return l.opts.batches.Len(l.set.Len()) }

// Close ends the loader. Closing twice does nothing.
func (l *Loader[B]) Close() { l.anchor.Close() }

// Batches returns one pass over the data set.
func (l *Loader[B]) Batches(ctx context.Context, mode ...ebb.Mode) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		l.opts.gen.Int63()
		for indices := range l.opts.batches.Batches(l.set.Len(), l.set.Runtime().Generator()) {
			if !l.batch(ctx, indices, mode, yield) {
				return
			}
		}
	}
}

func (l *Loader[B]) batch(ctx context.Context, indices []int64, mode []ebb.Mode, yield func(B, error) bool) bool {
	var none B
	if err := ctx.Err(); err != nil {
		yield(none, err)
		return false
	}
	s := l.anchor.NewStaging("batch", mode...)
	defer s.Close()
	b, err := l.set.Batch(ctx, s, indices)
	if err != nil {
		yield(none, err)
		return false
	}
	s.Begin()
	return yield(b, nil)
}
