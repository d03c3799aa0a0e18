// Package replay runs the requests of a recorded trace through models of
// allocators: what would another one, or another setting, have reserved, and would
// the program have fit?
//
// The models decide on addresses alone. That of PyTorch's caching allocator
// predicts the addresses and segments of real traces; [Run] counts how many.
package replay

import (
	"strings"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
)

// Request is one allocation.
type Request struct {
	Size   uint64 // bytes asked for
	Stream uint64
	Pool   [2]int64
}

// Allocator is a model of an allocator. Addresses it returns are made up.
type Allocator interface {
	// Alloc hands out a block, or reports that the request does not fit.
	Alloc(r Request) (addr uint64, ok bool)
	// Free takes back the block at an address that Alloc returned.
	Free(addr uint64)
	// EmptyCache gives back what is reserved and free, as far as the allocator can.
	EmptyCache()
	// Figures returns what is reserved and handed out.
	Figures() Figures
}

// Figures are an allocator's, in bytes.
type Figures struct {
	Reserved uint64
	Live     uint64 // handed out, as rounded
	Segments int    // held
	Maps     int    // calls to the driver or system for memory, ever
	Retries  int    // times the cache was emptied for a request
}

// Result is what a replay found.
type Result struct {
	Allocator    string  `json:"allocator"`
	ReservedPeak uint64  `json:"reserved_peak_bytes"`
	PeakAt       int     `json:"peak_event"`
	LiveAtPeak   uint64  `json:"live_at_peak_bytes"` // as rounded, when most was reserved
	LivePeak     uint64  `json:"live_peak_bytes"`
	Asked        uint64  `json:"asked_peak_bytes"`
	ReservedEnd  uint64  `json:"reserved_end_bytes"`
	Segments     int     `json:"segments_peak"`
	Maps         int     `json:"driver_calls"`
	Retries      int     `json:"retries"`
	Fits         bool    `json:"fits"`
	Failed       *Failed `json:"failed,omitempty"`

	// How much of the trace the model predicts; only for PyTorch's rules.
	Addresses        int `json:"predicted_addresses,omitempty"`
	AddressesOf      int `json:"of_addresses,omitempty"`
	SegmentsRight    int `json:"predicted_segments,omitempty"`
	SegmentsRecorded int `json:"of_segments,omitempty"`
}

// Failed is the first request that did not fit. The replay ends there.
type Failed struct {
	Event    int    `json:"event"` // -1: memory from before the trace did not fit
	Asked    uint64 `json:"asked_bytes"`
	Reserved uint64 `json:"reserved_bytes"`
	Live     uint64 `json:"live_bytes"`
	Site     string `json:"site"`
}

// driver is what a predicting model asks for addresses of segments.
type driver interface {
	recorded(size uint64) (addr uint64, ok bool)
}

// predictor is a model whose addresses can be compared with the trace's.
type predictor interface{ setDriver(d driver) }

// Run replays a history through an allocator: what was there before the trace
// first, then event by event. The cache is emptied where the program did so.
func Run(h *timeline.History, name string, a Allocator) Result {
	r := &run{h: h, a: a, addrs: map[timeline.Ref]uint64{}, result: Result{Allocator: name, Fits: true}}
	if p, ok := a.(predictor); ok {
		p.setDriver(r)
		r.predicts = true
	}
	if r.before() {
		r.trace()
	}
	f := a.Figures()
	r.result.ReservedEnd, r.result.Maps, r.result.Retries = f.Reserved, f.Maps, f.Retries
	return r.result
}

type run struct {
	h        *timeline.History
	a        Allocator
	addrs    map[timeline.Ref]uint64 // where the model put the live blocks
	result   Result
	predicts bool
	pending  []snapshot.Event // segments that the trace allocated and the model did not yet
}

// recorded gives the model the address of the segment that the trace allocated at
// this point, if the model wants one of that size too.
func (r *run) recorded(size uint64) (uint64, bool) {
	for i, e := range r.pending {
		if e.Size == size {
			r.pending = append(r.pending[:i], r.pending[i+1:]...)
			r.result.SegmentsRight++
			return e.Addr, true
		}
	}
	return 0, false
}

func (r *run) before() bool {
	streams := map[uint64]*snapshot.Segment{}
	for i := range r.h.Device.Segments {
		g := &r.h.Device.Segments[i]
		for j := range g.Blocks {
			streams[g.Blocks[j].Addr] = g
		}
	}
	for i, b := range r.h.Before {
		q := Request{Size: b.Asked}
		if g := streams[b.Addr]; g != nil {
			q.Stream, q.Pool = g.Stream, g.Pool
		}
		if !r.alloc(timeline.Ref(-i-1), q, -1, b.Stack) {
			return false
		}
	}
	return true
}

// alloc hands out a block and follows the peaks.
func (r *run) alloc(ref timeline.Ref, q Request, event int, stack snapshot.StackID) bool {
	addr, ok := r.a.Alloc(q)
	f := r.a.Figures()
	if !ok {
		r.result.Fits = false
		r.result.Failed = &Failed{
			Event: event, Asked: q.Size, Reserved: f.Reserved, Live: f.Live,
			Site: timeline.NewNames(r.h.Snapshot).Site(stack),
		}
		return false
	}
	r.addrs[ref] = addr
	if f.Reserved > r.result.ReservedPeak {
		r.result.ReservedPeak, r.result.PeakAt, r.result.LiveAtPeak = f.Reserved, event+1, f.Live
	}
	r.result.LivePeak = max(r.result.LivePeak, f.Live)
	r.result.Segments = max(r.result.Segments, f.Segments)
	return true
}

func (r *run) trace() {
	w := r.h.Walk()
	r.result.Asked = w.Live
	emptying := false
	for {
		e, born, died, ok := w.Step()
		if !ok {
			return
		}
		if died != timeline.NoRef {
			if addr, ok := r.addrs[died]; ok {
				r.a.Free(addr)
				delete(r.addrs, died)
			}
		}
		r.result.Asked = max(r.result.Asked, w.Live)
		c := r.h.Snapshot.Class(e.Class)
		switch c.Action {
		case snapshot.SegmentAlloc:
			r.result.SegmentsRecorded++
			r.pending = append(r.pending, e)
		case snapshot.SegmentFree, snapshot.SegmentUnmap:
			if !emptying && r.emptied(e.Stack) {
				r.a.EmptyCache()
			}
			emptying = true
			continue
		}
		if born != timeline.NoRef {
			if !r.alloc(born, Request{Size: e.Size, Stream: c.Stream, Pool: c.Pool}, w.Instant()-1, e.Stack) {
				return
			}
			if r.predicts {
				r.result.AddressesOf++
				if r.addrs[born] == e.Addr {
					r.result.Addresses++
				}
				r.pending = r.pending[:0]
			}
		}
		emptying = false
	}
}

// emptied reports whether a stack is of a program that emptied the cache. Where
// the allocator did so for want of memory, the model decides by itself.
func (r *run) emptied(id snapshot.StackID) bool {
	for _, f := range r.h.Snapshot.Stack(id) {
		name := r.h.Snapshot.String(r.h.Snapshot.Frame(f).Name)
		if strings.Contains(name, "empty_cache") || strings.Contains(name, "emptyCache") || strings.Contains(name, "EmptyCache") {
			return true
		}
	}
	return false
}
