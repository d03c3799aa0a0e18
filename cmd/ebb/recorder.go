package main

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/process"
)

// sample is what memory was at a moment.
type sample struct {
	at     time.Duration // since the recorder started
	kinds  [len(ebb.Kinds)]int64
	live   int64
	mapped int64
	anon   int64 // the system's figure: RssAnon, or RSS where that is not told
}

// event is a state that was entered, or a mark.
type event struct {
	name  string
	state bool
	sample
}

// A recorder keeps so many samples at most, and takes one so often at first.
const (
	mostSamples = 1024
	sampleEvery = time.Millisecond
)

// recorder follows a runtime's memory over time, in memory of bounded size: when
// it is full, of every two neighbours the one with more live memory stays, and
// from then on samples are half as frequent. A nil recorder records nothing.
type recorder struct {
	rt    *ebb.Runtime
	start time.Time
	done  chan struct{}
	ended sync.WaitGroup

	mu      sync.Mutex
	every   time.Duration
	samples []sample
	events  []event
}

// startRecorder starts one at InitialState.
func startRecorder(rt *ebb.Runtime) *recorder {
	r := &recorder{rt: rt, start: time.Now(), done: make(chan struct{}), every: sampleEvery}
	r.note("InitialState", true)
	r.ended.Go(r.follow)
	return r
}

// follow takes samples until the recorder is stopped.
func (r *recorder) follow() {
	every := r.every
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-ticker.C:
			if now := r.add(r.read()); now != every {
				every = now
				ticker.Reset(every)
			}
		}
	}
}

// read takes a sample.
func (r *recorder) read() sample {
	s := r.rt.Stats()
	x := sample{at: time.Since(r.start), live: s.Live.Current, mapped: s.Mapped}
	for i, k := range ebb.Kinds {
		x.kinds[i] = s.ByKind[k].Current
	}
	if p, err := process.Read(); err == nil {
		x.anon = p.Anon
		if !p.Split {
			x.anon = p.RSS
		}
	}
	return x
}

// add keeps a sample and returns how often they are to be taken.
func (r *recorder) add(x sample) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, x)
	if len(r.samples) == mostSamples {
		for i := range mostSamples / 2 {
			a, b := r.samples[2*i], r.samples[2*i+1]
			if b.live > a.live {
				a = b
			}
			r.samples[i] = a
		}
		r.samples = r.samples[:mostSamples/2]
		r.every *= 2
	}
	return r.every
}

// note takes a sample for a state or mark.
func (r *recorder) note(name string, state bool) {
	if r == nil {
		return
	}
	e := event{name, state, r.read()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// stop ends it, after the last thing that was tried: to prove memory freed.
func (r *recorder) stop(freed bool) {
	if r == nil {
		return
	}
	close(r.done)
	r.ended.Wait()
	if freed {
		r.note("MemoryFreed", true)
	} else {
		r.note("memory survived", false)
	}
}

// shown is in how many parts a picture divides the time.
const shown = 300

// all returns the events' samples and, of each part of the time, the one with
// the most live memory, in the order of time.
func (r *recorder) all() []sample {
	var end time.Duration
	all := make([]sample, 0, shown+len(r.events))
	for _, e := range r.events {
		all = append(all, e.sample)
		end = max(end, e.at)
	}
	part := -1
	for _, s := range r.samples {
		switch now := int(s.at * shown / (end + 1)); {
		case now != part:
			part = now
			all = append(all, s)
		case s.live > all[len(all)-1].live:
			all[len(all)-1] = s
		}
	}
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	return all
}
