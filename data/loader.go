package data

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"github.com/ebb-ml/ebb"
)

// Loader makes batches of a data set, pass after pass. It is safe for use by
// many goroutines; passes may overlap. Its goroutines, if it has any, live until
// Close.
type Loader[B any] struct {
	*works[B]
	anchor *ebb.Scope // staging scopes lie below it
}

// works is what a Loader's goroutines share. It refers to no handle of the
// loader, so that the collector can tell when the user forgot one.
type works[B any] struct {
	options
	set     Dataset[B]
	jobs    chan *job[B]
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	largest int64 // bytes of the largest batch so far
}

// options are what LoaderOptions set.
type options struct {
	name     string
	size     int
	sized    bool // size was given
	shuffle  bool
	dropLast bool
	workers  int
	prefetch int64
	gen      *ebb.Generator
	sampler  Sampler
	batches  BatchSampler
}

// LoaderOption configures a [NewLoader].
type LoaderOption func(*options)

// BatchSize sets the samples of a batch, 1 or more; the default is 1. The last
// batch of a pass may be smaller.
func BatchSize(n int) LoaderOption { return func(o *options) { o.size, o.sized = n, true } }

// Shuffle takes the samples in a new random order in each pass.
func Shuffle() LoaderOption { return func(o *options) { o.shuffle = true } }

// DropLast leaves out the last batch of a pass if it is smaller than the others.
func DropLast() LoaderOption { return func(o *options) { o.dropLast = true } }

// mostWorkers bounds Workers: more is a mistake, and each takes memory.
const mostWorkers = 1 << 12

// Workers sets how many goroutines prepare batches ahead, 4096 at most. The
// default is 0: batches are made when they are asked for. The batches are the
// same.
func Workers(n int) LoaderOption { return func(o *options) { o.workers = n } }

// Prefetch bounds the bytes of the batches that workers prepare ahead. The
// default is 64 MiB, and two batches for each worker at most in any case. The
// first batch of a loader tells how large they are; one that is larger than all
// before may pass the bound by the difference.
func Prefetch(bytes int64) LoaderOption { return func(o *options) { o.prefetch = bytes } }

// WithGenerator sets the generator of the loader's draws and of Shuffle's. The
// default is the runtime's own.
func WithGenerator(g *ebb.Generator) LoaderOption { return func(o *options) { o.gen = g } }

// WithSampler sets in which order samples are taken, in the place of Shuffle.
func WithSampler(s Sampler) LoaderOption { return func(o *options) { o.sampler = s } }

// WithBatchSampler sets which samples make a batch together, in the place of
// BatchSize, Shuffle, DropLast and WithSampler.
func WithBatchSampler(s BatchSampler) LoaderOption { return func(o *options) { o.batches = s } }

// Name names the loader in errors and in reports of memory; the default is
// "loader".
func Name(name string) LoaderOption { return func(o *options) { o.name = name } }

// complete checks the options and fills in what was left open.
func (o *options) complete(rt *ebb.Runtime) {
	var given string
	switch {
	case o.workers < 0 || o.workers > mostWorkers:
		given = fmt.Sprintf("%d workers, expected 0 to %d", o.workers, mostWorkers)
	case o.prefetch < 0:
		given = fmt.Sprintf("at most %d bytes ahead", o.prefetch)
	case o.batches != nil && (o.sized || o.shuffle || o.dropLast || o.sampler != nil):
		given = "a batch sampler beside BatchSize, Shuffle, DropLast or WithSampler, which it replaces"
	case o.sampler != nil && o.shuffle:
		given = "a sampler beside Shuffle, which it replaces"
	}
	if given != "" {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: o.name, Given: given, Advice: "see the options of data.NewLoader"})
	}
	if o.batches == nil {
		if o.sampler == nil {
			o.sampler = SequentialSampler{}
			if o.shuffle {
				o.sampler = RandomSampler{Generator: o.gen}
			}
		}
		o.batches = FixedBatches{o.sampler, o.size, o.dropLast}
	}
	if o.gen == nil {
		o.gen = rt.Generator()
	}
}

// NewLoader returns a loader of set. Close it after use; one that is forgotten
// is reported as a leak, with the line that made it. Options that contradict
// each other are a panic with [ebb.ErrValue]. It is torch.utils.data.DataLoader.
func NewLoader[B any](set Dataset[B], opts ...LoaderOption) *Loader[B] {
	o := options{name: "loader", size: 1, prefetch: 64 << 20}
	for _, f := range opts {
		f(&o)
	}
	rt := set.Runtime()
	o.complete(rt)
	o.batches.Len(set.Len()) // checks them
	s := &works[B]{options: o, set: set}
	s.ctx, s.stop = context.WithCancel(context.Background())
	l := &Loader[B]{s, rt.NewScope(o.name)}
	if o.workers > 0 {
		s.jobs = make(chan *job[B], s.ahead())
		for range o.workers {
			s.running.Go(s.work)
		}
		runtime.AddCleanup(l, func(s *works[B]) { s.stop() }, s)
	}
	return l
}

// Len returns the number of batches of a pass.
func (l *Loader[B]) Len() int { return l.batches.Len(l.set.Len()) }

// Close ends the loader: passes under way end with an error, what was prepared
// and the batch in use are released, and the workers have ended when it
// returns. Closing twice does nothing. A data set must not close its loader.
func (l *Loader[B]) Close() {
	l.stop()
	l.running.Wait()
	l.anchor.Close()
}

// Batches returns one pass over the data set. Each batch lies in a scope of its
// own, of the given mode ([NoGrad], or none: with gradients), which closes when
// the loop goes on or ends, however it ends. An error (a data set's, ctx's, or
// the loader was closed) is the last thing a pass yields; it is ctx.Err(), an
// [*Error], or an [*ebb.Error] with [ebb.ErrClosed]. A panic of the data set in
// a worker is such an error too; one in the loop's body goes on.
func (l *Loader[B]) Batches(ctx context.Context, mode ...ebb.Mode) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		p := l.begin(ctx, mode)
		defer p.end()
		for {
			b, ok, err := p.next()
			if err != nil {
				l.set.Runtime().MarkFailed() // what the caller leaves open follows from it
				var none B
				yield(none, err)
				return
			}
			if !ok || !yield(b, nil) {
				return
			}
		}
	}
}

// ahead is how many batches of one pass may be prepared ahead.
func (s *works[B]) ahead() int { return 2 * s.workers }

// describe names the loader and its limits.
func (s *works[B]) describe() string {
	if s.workers == 0 {
		return s.name
	}
	return fmt.Sprintf("%s (%d workers, at most %s ahead)", s.name, s.workers, ebb.FormatBytes(s.prefetch))
}
