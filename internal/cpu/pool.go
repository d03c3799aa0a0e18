package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The pool runs the tasks of one kernel call on several processors.
//
// Workers are goroutines that wait on a channel, so an idle pool uses no
// processor. Waking one takes 50 to 150 us, as much as many a kernel: a worker
// that ran out of tasks, and a caller whose last tasks others run, look for
// what they wait for a while before they sleep. A caller reserves the workers that are idle, hands each the job
// and takes part itself; tasks are claimed from a counter. Because the caller
// never waits for a worker to arrive, only for tasks already claimed, a call
// from inside a task cannot deadlock: it finds the workers reserved and does
// its tasks itself.
type pool struct {
	jobs    chan *job
	quit    chan struct{}
	idle    atomic.Int64 // workers that may be reserved
	running sync.WaitGroup
}

var (
	poolMu      sync.Mutex           // held to start and stop workers
	currentPool atomic.Pointer[pool] // nil until work needs workers
	threads     atomic.Int64         // 0: GOMAXPROCS
)

// NumThreads returns how many processors one kernel may use, the caller's
// included, like torch.get_num_threads. It is GOMAXPROCS unless SetNumThreads
// was called.
func NumThreads() int {
	if n := threads.Load(); n > 0 {
		return int(n)
	}
	return runtime.GOMAXPROCS(0)
}

// SetNumThreads sets how many processors one kernel may use, the caller's
// included, like torch.set_num_threads. Below 1 it goes back to GOMAXPROCS.
// The workers of the old pool finish the tasks they have and end; new ones
// start when work next needs them, so after SetNumThreads(1) there are none.
// Results do not depend on it. It is safe at any time, also inside a task.
func SetNumThreads(n int) {
	poolMu.Lock()
	defer poolMu.Unlock()
	threads.Store(int64(max(n, 0)))
	if p := currentPool.Swap(nil); p != nil {
		close(p.quit)
	}
}

// StopWorkers ends all workers and waits until they are gone, so that a test
// can count goroutines. Work that comes later starts new ones. It must not be
// called inside a task.
func StopWorkers() {
	poolMu.Lock()
	p := currentPool.Swap(nil)
	if p != nil {
		close(p.quit)
	}
	poolMu.Unlock()
	if p != nil {
		p.running.Wait()
	}
}

// Parallel calls f(0), ..., f(n-1), each once, in any order and some at the
// same time, and returns when all have returned.
//
// How a result's bits come about must follow from the problem's shape alone,
// never from NumThreads, so that they are the same on every machine: where the
// order of a sum depends on what a task covers, that must not depend on
// NumThreads either. A task should be worth 20 us or more, and a problem smaller
// than two such tasks should be one (n = 1 runs on the caller).
//
// A task may call Parallel; it is given the workers that are idle, usually
// none, and then runs inline. Many goroutines may call Parallel at once.
//
// If tasks panic, Parallel panics with the value of the one with the lowest
// index, after all tasks under way have returned; tasks after it may not have
// run. The panic carries the caller's stack: with SetNumThreads(1) it has the
// task's too.
func Parallel(n int, f func(i int)) {
	p, helpers := reserve(n - 1)
	if helpers == 0 {
		for i := range n {
			f(i)
		}
		return
	}
	j := &job{f: f, n: int64(n)}
	j.failed.Store(j.n)
	j.left.Store(j.n)
	j.all.Add(n)
	for range helpers {
		p.jobs <- j // never blocks: a slot for each worker, sent to once per reservation
	}
	for i := j.claim(); i < j.n; i = j.claim() {
		j.run(i)
		j.done()
	}
	j.wait()
	if j.failed.Load() < j.n {
		panic(j.value)
	}
}

// reserve takes up to want idle workers, starting the pool if need be.
func reserve(want int) (*pool, int) {
	if want <= 0 || NumThreads() == 1 {
		return nil, 0
	}
	p := currentPool.Load()
	if p == nil {
		if p = startPool(); p == nil {
			return nil, 0
		}
	}
	for {
		idle := p.idle.Load()
		take := min(idle, int64(want))
		if take == 0 {
			return nil, 0
		}
		if p.idle.CompareAndSwap(idle, idle-take) {
			return p, int(take)
		}
	}
}

// startPool returns the current pool, started now if there is none, or nil if
// the caller is to work alone.
func startPool() *pool {
	poolMu.Lock()
	defer poolMu.Unlock()
	if p := currentPool.Load(); p != nil {
		return p
	}
	workers := NumThreads() - 1
	if workers == 0 {
		return nil
	}
	p := &pool{jobs: make(chan *job, workers), quit: make(chan struct{})}
	p.idle.Store(int64(workers))
	for range workers {
		p.running.Go(p.work)
	}
	currentPool.Store(p)
	return p
}

func (p *pool) work() {
	for {
		for s := (spin{}); len(p.jobs) == 0 && s.more(); {
		}
		select {
		case j := <-p.jobs:
			j.help(p)
		case <-p.quit:
			return
		}
	}
}

// patience is how long a thread looks for what it waits for before it sleeps. It
// must be longer than a wake takes: else caller and worker wake each other in turn
// for ever (with 50 us two tasks of 300 took 500).
const patience = 200 * time.Microsecond

// A spin is one such wait.
type spin struct {
	turns int
	until time.Time
}

// more reports, after a moment, whether to look once more.
func (s *spin) more() bool {
	if s.turns%16 == 0 {
		now := time.Now()
		if s.turns == 0 {
			s.until = now.Add(patience)
		} else if now.After(s.until) {
			return false
		}
	}
	s.turns++
	pause()
	return true
}

// A job is one call of Parallel. It may outlive the call: a worker that comes
// late finds no task left and drops it.
type job struct {
	f    func(i int)
	n    int64
	next atomic.Int64   // the first task not claimed
	left atomic.Int64   // tasks that have not ended
	all  sync.WaitGroup // of the tasks

	failed atomic.Int64 // the lowest task that panicked, or n
	mu     sync.Mutex
	value  any // what it panicked with
}

func (j *job) claim() int64 { return j.next.Add(1) - 1 }

func (j *job) done() {
	j.left.Add(-1)
	j.all.Done()
}

// wait returns when all tasks have ended.
func (j *job) wait() {
	for s := (spin{}); s.more(); {
		if j.left.Load() == 0 {
			return
		}
	}
	j.all.Wait()
}

// help runs tasks until none is left. The worker is idle again before its
// last task counts as done, so that a caller's next job finds it.
func (j *job) help(p *pool) {
	i := j.claim()
	for i < j.n {
		j.run(i)
		if i = j.claim(); i >= j.n {
			p.idle.Add(1)
			j.done()
			return
		}
		j.done()
	}
	p.idle.Add(1)
}

// run runs task i unless a lower one has panicked. Tasks are claimed in
// order, so the lowest that panics always runs: which panic the caller sees
// does not depend on timing.
func (j *job) run(i int64) {
	if i > j.failed.Load() {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			j.mu.Lock()
			defer j.mu.Unlock()
			if i < j.failed.Load() {
				j.value = v
				j.failed.Store(i)
			}
		}
	}()
	j.f(int(i))
}
