// Package timeline reconstructs what was live when from a memory snapshot: it
// replays a device's trace from the blocks that were there before it, and answers
// what was held at an instant, by whom, how it lay in the segments, what a loop
// leaves behind, and how two snapshots differ.
//
// Sizes of a trace are what was asked for; the allocator rounds them up. Where a
// figure comes from the segments, which state both, it says so.
package timeline

import (
	"fmt"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// Ref stands for a block of a history: an event's index for one that the trace
// handed out, negative for one from before it.
type Ref int32

// NoRef stands for no block.
const NoRef Ref = -1 << 31

// Block is one use of a piece of memory.
type Block struct {
	Addr     uint64
	Asked    uint64 // bytes asked for
	Size     uint64 // bytes as rounded, where a segment tells; else Asked
	Stack    snapshot.StackID
	Category snapshot.StringID
	Metadata snapshot.StringID
	Start    int // the event that handed it out; -1 before the trace
}

// History is one device's trace, replayed once. Instants are numbers of events:
// instant i is after the first i events, instant 0 before the first.
type History struct {
	Snapshot *snapshot.Snapshot
	Device   *snapshot.Device
	Before   []Block // live when the trace began, as far as the file shows

	BeforeBytes   uint64 // asked for by them
	PeakBytes     uint64 // the most live at once, with what was there before
	PeakAt        int    // the instant
	TracePeak     uint64 // the most live at once of what the trace handed out
	EndBytes      uint64 // live after the last event
	EndBlocks     int
	ReservedStart uint64 // bytes of segments before the first event
	ReservedPeak  uint64
	ReservedEnd   uint64 // after the last event, by the segments where there are any

	LostFrees     int  // blocks handed out at an address that was live: a free is missing
	UnknownFrees  int  // frees of what had been freed
	Unmatched     int  // blocks active in the segments that the trace freed
	onRequest     bool // the trace has no free_completed: free_requested frees
	timesBackward int
	sigs          *signatures
	Warnings      []string
}

// New replays a device's trace.
func New(s *snapshot.Snapshot, d *snapshot.Device) *History {
	h := &History{Snapshot: s, Device: d}
	h.scanActions()
	h.replay()
	h.reserved()
	h.doubts()
	return h
}

func (h *History) warnf(format string, args ...any) {
	h.Warnings = append(h.Warnings, h.Device.Name()+": "+fmt.Sprintf(format, args...))
}

// scanActions finds out how the trace records frees. Where it has no
// free_completed, blocks may be free from free_requested on, or the trace may be
// too short to have any: an address used again, or the segments, tell.
func (h *History) scanActions() {
	requested := map[uint64]bool{}
	for id := range h.Snapshot.NumClasses() {
		switch h.Snapshot.Action(snapshot.ClassID(id)) {
		case snapshot.FreeCompleted, snapshot.Free:
			return
		}
	}
	for _, e := range h.Device.Trace.All() {
		switch h.Snapshot.Action(e.Class) {
		case snapshot.FreeRequested:
			requested[e.Addr] = true
		case snapshot.Alloc:
			if requested[e.Addr] {
				h.onRequest = true
				return
			}
		}
	}
	for i := range h.Device.Segments {
		for j := range h.Device.Segments[i].Blocks {
			if k := &h.Device.Segments[i].Blocks[j]; k.Active() && requested[k.Addr] {
				return // still waited for
			}
		}
	}
	h.onRequest = len(requested) > 0
}

// frees reports whether an action ends a block's use.
func (h *History) frees(a snapshot.Action) bool {
	return a == snapshot.FreeCompleted || a == snapshot.Free || h.onRequest && a == snapshot.FreeRequested
}

// replay finds the blocks from before the trace and the peaks.
func (h *History) replay() {
	table := newAddrTable()
	var before []Block
	var live, traceLive, gone uint64 // gone: of what was there before
	var net, maxNet int64            // live against the start
	count := 0
	last := int64(0)
	for i, e := range h.Device.Trace.All() {
		c := h.Snapshot.Class(e.Class)
		if e.Time != 0 {
			if e.Time < last {
				h.timesBackward++
			}
			last = e.Time
		}
		switch {
		case c.Action == snapshot.Alloc:
			slot := table.slot(e.Addr)
			if *slot >= 0 {
				size := h.Device.Trace.At(int(*slot)).Size
				live -= size
				traceLive -= size
				net -= int64(size)
				count--
				h.LostFrees++
			}
			*slot = Ref(i)
			live += e.Size
			traceLive += e.Size
			net += int64(e.Size)
			count++
		case h.frees(c.Action):
			slot := table.slot(e.Addr)
			switch {
			case *slot >= 0:
				size := h.Device.Trace.At(int(*slot)).Size
				live -= size
				traceLive -= size
				net -= int64(size)
				count--
			case *slot == NoRef: // never seen: it was there before
				before = append(before, Block{
					Addr: e.Addr, Asked: e.Size, Size: e.Size, Stack: e.Stack, Start: -1,
					Category: c.Category, Metadata: c.Metadata,
				})
				gone += e.Size
				net -= int64(e.Size)
			default:
				h.UnknownFrees++
			}
			*slot = freed
		}
		if net > maxNet {
			maxNet, h.PeakAt = net, i+1
		}
		h.TracePeak = max(h.TracePeak, traceLive)
	}
	h.EndBytes, h.EndBlocks = live, count
	h.addGhosts(table, before, gone)
	h.PeakBytes = h.BeforeBytes + uint64(maxNet)
}

// freed marks an address that the trace has seen and that is free.
const freed Ref = NoRef + 1

// addGhosts adds the blocks that the segments show as active and the trace never
// mentions: they were there before it.
func (h *History) addGhosts(table *addrTable, before []Block, gone uint64) {
	var ghosts []Block
	bytes := gone
	for i := range h.Device.Segments {
		for j := range h.Device.Segments[i].Blocks {
			k := &h.Device.Segments[i].Blocks[j]
			if !k.Active() {
				continue
			}
			switch ref := table.get(k.Addr); {
			case ref >= 0:
			case ref == freed:
				h.Unmatched++
			default:
				ghosts = append(ghosts, ofSegment(k))
				bytes += k.Requested
				h.EndBytes += k.Requested
				h.EndBlocks++
			}
		}
	}
	h.Before = append(before, ghosts...)
	h.BeforeBytes = bytes
}

func ofSegment(k *snapshot.Block) Block {
	return Block{
		Addr: k.Addr, Asked: k.Requested, Size: k.Size, Stack: k.Stack, Start: -1,
		Category: k.Category, Metadata: k.Metadata,
	}
}

// segmentDelta returns by how much an event changes what is reserved.
func segmentDelta(a snapshot.Action, size uint64) int64 {
	switch a {
	case snapshot.SegmentAlloc, snapshot.SegmentMap:
		return int64(size)
	case snapshot.SegmentFree, snapshot.SegmentUnmap:
		return -int64(size)
	}
	return 0
}

// reserved computes the bytes of segments over the trace, from its end backwards
// where there are segments.
func (h *History) reserved() {
	var net, least, most int64
	for _, e := range h.Device.Trace.All() {
		net += segmentDelta(h.Snapshot.Action(e.Class), e.Size)
		least, most = min(least, net), max(most, net)
	}
	for i := range h.Device.Segments {
		h.ReservedEnd += h.Device.Segments[i].Size
	}
	start := int64(h.ReservedEnd) - net
	if len(h.Device.Segments) == 0 {
		start = -least
		h.ReservedEnd = uint64(start + net)
	}
	if start+least < 0 {
		h.warnf("the trace gives back more segments than there were")
		start = -least
	}
	h.ReservedStart, h.ReservedPeak = uint64(start), uint64(start+most)
}

// Block returns the block a ref stands for.
func (h *History) Block(r Ref) Block {
	if r < 0 {
		return h.Before[-r-1]
	}
	e := h.Device.Trace.At(int(r))
	c := h.Snapshot.Class(e.Class)
	return Block{
		Addr: e.Addr, Asked: e.Size, Size: e.Size, Stack: e.Stack, Start: int(r),
		Category: c.Category, Metadata: c.Metadata,
	}
}

// Asked returns the bytes asked for by the block a ref stands for.
func (h *History) Asked(r Ref) uint64 {
	if r < 0 {
		return h.Before[-r-1].Asked
	}
	return h.Device.Trace.At(int(r)).Size
}

// Time returns the time of an instant in microseconds since the Unix epoch: that
// of the event before it. It is 0 where the file has no times.
func (h *History) Time(instant int) int64 {
	if n := h.Device.Trace.Len(); n > 0 {
		return h.Device.Trace.At(min(max(instant-1, 0), n-1)).Time
	}
	return 0
}

// ReservedAt returns the bytes of segments at an instant.
func (h *History) ReservedAt(instant int) uint64 {
	reserved := int64(h.ReservedStart)
	for _, e := range h.Device.Trace.Range(0, instant) {
		reserved += segmentDelta(h.Snapshot.Action(e.Class), e.Size)
	}
	return uint64(max(reserved, 0))
}

// Until returns the history of the trace's first events, without the segments,
// which are those of its end.
func (h *History) Until(instant int) *History {
	d := *h.Device
	d.Segments = nil
	d.Trace = h.Device.Trace.Part(0, instant)
	part := &History{Snapshot: h.Snapshot, Device: &d, Before: h.Before, BeforeBytes: h.BeforeBytes, onRequest: h.onRequest}
	return part
}

// Expandable reports whether the recorded allocator used expandable segments.
func (h *History) Expandable() bool {
	for i := range h.Device.Segments {
		if h.Device.Segments[i].Expandable {
			return true
		}
	}
	for id := range h.Snapshot.NumClasses() {
		if h.Snapshot.Action(snapshot.ClassID(id)) == snapshot.SegmentMap {
			return true
		}
	}
	return false
}

// PeakIn returns the instant between two at which most was live, the first of
// them where there are several.
func (h *History) PeakIn(from, to int) int {
	if from <= h.PeakAt && h.PeakAt <= to {
		return h.PeakAt
	}
	w := h.Walk()
	w.To(from)
	at, most := from, w.Live
	for w.Instant() < to {
		if _, _, _, ok := w.Step(); !ok {
			break
		}
		if w.Live > most {
			at, most = w.Instant(), w.Live
		}
	}
	return at
}

// Base returns the lowest address of the trace up to an instant, from which pages count
// so that their numbers stay exact.
func (h *History) Base(to int) uint64 {
	base := uint64(1<<64 - 1)
	for i := range h.Device.Segments {
		base = min(base, h.Device.Segments[i].Addr)
	}
	for i := range h.Before {
		base = min(base, h.Before[i].Addr)
	}
	for _, e := range h.Device.Trace.Range(0, to) {
		if a := h.Snapshot.Action(e.Class); a == snapshot.Alloc || segmentDelta(a, 1) != 0 {
			base = min(base, e.Addr)
		}
	}
	if base == 1<<64-1 {
		return 0
	}
	return base
}
