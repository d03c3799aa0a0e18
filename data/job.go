package data

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ebb-ml/ebb"
)

// job is a batch to be made, by a worker or by whoever asked for it, whichever
// claims it first.
type job[B any] struct {
	ctx     context.Context
	number  int // of the batch in its pass
	indices []int64
	scope   *ebb.Scope // where it is made; nil before and after
	claimed atomic.Bool
	ahead   bool          // a worker made it; set when it is asked for
	done    chan struct{} // closed when batch and err are set
	batch   B
	err     error
}

// claim reports whether the caller is the first to claim the job, which is then
// the caller's alone.
func (j *job[B]) claim() bool { return j.claimed.CompareAndSwap(false, true) }

// work makes batches until the loader ends.
func (w *works[B]) work() {
	ended := false
	defer func() {
		if !ended { // a data set called runtime.Goexit
			w.running.Go(w.work)
		}
	}()
	for {
		select {
		case j := <-w.jobs:
			if j.claim() {
				w.make(j)
			}
		case <-w.ctx.Done():
			ended = true
			return
		}
	}
}

var errGoexit = errors.New("the data set ended the goroutine that it was called on")

// make makes a claimed job's batch. Its faults end up in j.err, panics
// included: they surface where the batch is asked for.
func (w *works[B]) make(j *job[B]) {
	j.err = errGoexit
	defer close(j.done)
	defer func() {
		if p := recover(); p != nil {
			j.err = panicked(p, -1)
			w.set.Runtime().MarkFailed()
		}
	}()
	j.batch, j.err = w.set.Batch(j.ctx, j.scope, j.indices)
	w.learn(j.scope.Bytes())
}

// learn takes note of the bytes of a batch.
func (w *works[B]) learn(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.largest = max(w.largest, bytes)
}

// fits reports whether n batches may be prepared ahead: no more than the
// prefetch limit allows, and none before one was seen.
func (w *works[B]) fits(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return n <= w.ahead() && w.largest > 0 && int64(n) <= w.prefetch/w.largest
}
