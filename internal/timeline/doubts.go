package timeline

import "github.com/ebb-ml/ebb/internal/snapshot"

// Totals are a device's figures now, summed over the segments' blocks.
type Totals struct {
	Reserved  uint64 // bytes of segments
	Live      uint64 // bytes of active blocks, as rounded
	Requested uint64 // bytes asked for by them
	Pending   uint64 // the part of Live that its holders dropped and a stream still uses
	Blocks    int    // active blocks
}

// Now sums the segments; in a file without segments, what the trace says of its
// end.
func (h *History) Now() Totals {
	if len(h.Device.Segments) == 0 {
		return Totals{Reserved: h.ReservedEnd, Live: h.EndBytes, Requested: h.EndBytes, Blocks: h.EndBlocks}
	}
	var t Totals
	for i := range h.Device.Segments {
		g := &h.Device.Segments[i]
		t.Reserved += g.Size
		for j := range g.Blocks {
			k := &g.Blocks[j]
			if !k.Active() {
				continue
			}
			t.Live += k.Size
			t.Requested += k.Requested
			t.Blocks++
			if k.State == snapshot.PendingFree {
				t.Pending += k.Size
			}
		}
	}
	return t
}

// doubts writes down what of the trace does not hold together.
func (h *History) doubts() {
	n := h.Device.Trace.Len()
	if h.Device.Overflowed {
		h.warnf("the trace is a ring that wrapped: its oldest events are lost; memory from before them is counted as far as it shows")
	}
	if now := h.Now(); len(h.Device.Segments) > 0 && n > 0 && now.Requested != h.EndBytes {
		h.warnf("the trace ends with %d bytes live (asked for), the segments hold %d: the trace is cut or events are missing; live now is the segments'",
			h.EndBytes, now.Requested)
	}
	if h.Unmatched > 0 {
		h.warnf("%d blocks are active in the segments, but the trace freed them", h.Unmatched)
	}
	if h.LostFrees > 0 {
		h.warnf("%d blocks were handed out where one was live already: their frees are missing from the trace and taken to be just before", h.LostFrees)
	}
	if h.UnknownFrees > 0 {
		h.warnf("%d frees are of blocks that were not live; they were left out", h.UnknownFrees)
	}
	if h.onRequest && n > 0 {
		h.warnf("the trace has no free_completed; blocks are taken to be free from free_requested on")
	}
	if h.timesBackward > 0 {
		h.warnf("time goes backward %d times in the trace; the order of events is the file's", h.timesBackward)
	}
	h.doubtStacks(n)
	h.doubtPlaces()
}

func (h *History) doubtStacks(n int) {
	allocs, bare := 0, 0
	for _, e := range h.Device.Trace.All() {
		if h.Snapshot.Action(e.Class) == snapshot.Alloc {
			allocs++
			if e.Stack == 0 {
				bare++
			}
		}
	}
	switch {
	case n == 0 && len(h.Device.Segments) > 0:
		h.warnf("there is no trace: recording was off, or on for the state alone")
	case bare > 0 && bare == allocs:
		h.warnf("no allocation has a stack: it was recorded with context off, or not for allocations")
	case bare > 0:
		h.warnf("%d of %d allocations have no stack: they were made before recording was on, or by a thread without Python", bare, allocs)
	}
}

// doubtPlaces counts allocations outside every segment the device had.
func (h *History) doubtPlaces() {
	if len(h.Device.Segments) == 0 {
		return
	}
	outside, allocs := 0, 0
	layout := h.LayoutAt(0)
	for _, e := range h.Device.Trace.All() {
		switch a := h.Snapshot.Action(e.Class); {
		case segmentDelta(a, 1) != 0:
			layout.apply(a, e.Addr, e.Size)
		case a == snapshot.Alloc:
			allocs++
			if !layout.holds(e.Addr) {
				outside++
			}
		}
	}
	if outside > 0 {
		h.warnf("%d of %d allocations lie in no segment of their moment: trace and segments do not match", outside, allocs)
	}
}
