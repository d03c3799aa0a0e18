package data

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ebb-ml/ebb"
)

// pass is one way through the data set. All of it runs on the goroutine of the
// loop; workers see its jobs only.
type pass[B any] struct {
	*Loader[B]
	user   context.Context // the caller's
	ctx    context.Context // ends with the caller's, the pass and the loader
	cancel func()
	mode   []ebb.Mode

	pull   func() ([]int64, bool) // the batch sampler's next
	unpull func()
	n      int // samples of the data set
	total  int // batches the sampler promises
	pulled int // batches pulled

	ring   []*job[B]  // pulled, not handed over, in order
	scope  *ebb.Scope // of the batch handed over
	narrow bool       // nothing is prepared ahead any more, since memory ran out
}

// begin starts a pass.
func (l *Loader[B]) begin(user context.Context, mode []ebb.Mode) *pass[B] {
	l.gen.Int63() // PyTorch's base seed
	p := &pass[B]{Loader: l, user: user, mode: mode, n: l.set.Len()}
	ctx, cancel := context.WithCancel(user)
	unhook := context.AfterFunc(l.ctx, cancel)
	p.ctx, p.cancel = ctx, func() { unhook(); cancel() }
	p.total = l.batches.Len(p.n)
	p.pull, p.unpull = iter.Pull(l.batches.Batches(p.n, l.set.Runtime().Generator()))
	return p
}

// end releases all that the pass holds, on whatever way it ended.
func (p *pass[B]) end() {
	p.release()
	p.cancel()
	for _, j := range p.ring {
		p.drop(j)
	}
	p.ring = nil
	p.unpull()
}

// release closes the scope of the batch handed over.
func (p *pass[B]) release() {
	if p.scope != nil {
		p.scope.Close()
		p.scope = nil
	}
}

// drop releases a job, after it has ended if it runs.
func (p *pass[B]) drop(j *job[B]) {
	if !j.claim() {
		<-j.done
	}
	if j.scope != nil {
		j.scope.Close()
	}
	// A worker's channel may hold the job a while longer.
	var none B
	j.scope, j.batch, j.err = nil, none, nil
}

// next closes the last batch and returns the next one, or false at the end.
func (p *pass[B]) next() (b B, ok bool, err error) {
	p.release()
	if err := p.ended(); err != nil {
		return b, false, err
	}
	if len(p.ring) == 0 && !p.queue() {
		return b, false, nil
	}
	j := p.ring[0]
	p.ring = p.ring[1:]
	err = p.finish(j)
	if errors.Is(err, ebb.ErrOutOfMemory) && !p.narrow && (j.ahead || len(p.ring) > 0) {
		// What was in the way may be gone, or be what was prepared ahead.
		j = p.retreat(j)
		err = p.finish(j)
	}
	if err == nil {
		b, p.scope = j.batch, j.scope
		var none B
		j.batch, j.scope = none, nil
		if err = begin(p.scope); err == nil {
			p.fill()
			return b, true, nil
		}
	}
	p.drop(j)
	var none B
	if end := p.ended(); end != nil {
		return none, false, end
	}
	return none, false, located(err, p.describe(), j.number)
}

// finish returns when j's batch is made, which it does itself unless a worker
// is at it.
func (p *pass[B]) finish(j *job[B]) error {
	if !j.claim() {
		j.ahead = true
		select {
		case <-j.done:
			return j.err
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
	if err := p.open(j); err != nil {
		return err
	}
	p.make(j)
	return j.err
}

// retreat drops all that was prepared ahead, and returns j anew. The pass goes
// on without preparing any more.
func (p *pass[B]) retreat(j *job[B]) *job[B] {
	p.narrow = true
	p.drop(j)
	for i, k := range p.ring {
		p.drop(k)
		p.ring[i] = p.job(k.number, k.indices)
	}
	return p.job(j.number, j.indices)
}

func (p *pass[B]) job(number int, indices []int64) *job[B] {
	return &job[B]{ctx: p.ctx, number: number, indices: indices, done: make(chan struct{})}
}

// open opens the scope that j's batch is made in.
func (p *pass[B]) open(j *job[B]) (err error) {
	if j.scope != nil {
		return nil
	}
	defer ebb.Catch(&err)
	j.scope = p.anchor.NewStaging("batch", p.mode...)
	return nil
}

// fill gives the workers batches to prepare, within the limits. It never draws
// the last one: a random sampler then draws once more, and where a loop that is
// left early leaves its generator must not depend on workers.
func (p *pass[B]) fill() {
	for !p.narrow && p.pulled < p.total-1 && p.fits(len(p.ring)+1) && p.queue() {
		j := p.ring[len(p.ring)-1]
		if p.open(j) != nil {
			return // said again when it is asked for
		}
		select {
		case p.jobs <- j:
		default: // the workers have enough to do
			return
		}
	}
}

// queue puts the next batch's indices into the ring and reports whether there
// was one. A fault of the sampler surfaces when its batch is asked for.
func (p *pass[B]) queue() bool {
	indices, err := p.draw()
	if indices == nil && err == nil {
		p.total = p.pulled
		return false
	}
	j := p.job(p.pulled, indices)
	p.pulled++
	if err != nil {
		p.total = p.pulled
		j.err = err
		j.claimed.Store(true)
		close(j.done)
	}
	p.ring = append(p.ring, j)
	return true
}

// draw returns a copy of the next batch's indices, or nil at the end.
func (p *pass[B]) draw() (indices []int64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r, -1)
		}
	}()
	next, ok := p.pull()
	if !ok {
		return nil, nil
	}
	for _, i := range next {
		if i < 0 || i >= int64(p.n) {
			return nil, &Error{Sample: i, Err: &ebb.Error{Kind: ebb.ErrIndex, Op: p.name, Given: fmt.Sprintf("the sampler gave index %d for a data set of %d samples", i, p.n)}}
		}
	}
	return append(make([]int64, 0, len(next)), next...), nil
}

// ended returns the error of a pass that must not go on: the caller's context
// ended or the loader was closed.
func (p *pass[B]) ended() error {
	if err := p.user.Err(); err != nil {
		return err
	}
	if p.Loader.ctx.Err() != nil {
		return &ebb.Error{Kind: ebb.ErrClosed, Op: p.name, Given: "the loader is closed", Advice: "close it after the last pass"}
	}
	return nil
}

func begin(s *ebb.Scope) (err error) {
	defer ebb.Catch(&err)
	s.Begin()
	return nil
}
