package timeline

import (
	"cmp"
	"slices"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// Window is the part of a history to keep: the events between two instants.
type Window struct {
	History  *History
	From, To int
}

// Trim returns a snapshot of the given windows: their events, and the segments as
// they were at the end of each, so that the trace can be replayed backwards from
// them. Where the trace has blocks in no segment, segments are made up for them;
// it returns how many. The events and stacks are shared with s.
func Trim(s *snapshot.Snapshot, windows []Window) (trimmed *snapshot.Snapshot, madeUp int) {
	trimmed = s.Without()
	trimmed.Settings = s.Settings
	first, last := int64(0), int64(0)
	for _, w := range windows {
		d := trimmed.Device(w.History.Device.Index)
		d.MaxEntries = w.History.Device.MaxEntries
		var n int
		d.Segments, n = w.History.segmentsAt(w)
		madeUp += n
		d.Trace = w.History.Device.Trace.Part(w.From, w.To)
		for _, e := range d.Trace.All() {
			if first == 0 || e.Time < first {
				first = e.Time
			}
			last = max(last, e.Time)
		}
	}
	for _, a := range s.Annotations {
		if first <= a.Time && a.Time <= last {
			trimmed.Annotations = append(trimmed.Annotations, a)
		}
	}
	return trimmed, madeUp
}

// segmentsAt returns the segments at a window's end with their blocks.
func (h *History) segmentsAt(w Window) (segments []snapshot.Segment, madeUp int) {
	layout := h.LayoutAt(w.To)
	spans := layout.Spans()
	extra := h.strays(w)
	for _, s := range extra {
		if layout.free(s) {
			spans = append(spans, s)
			madeUp++
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Addr, b.Addr) })
	blocks := h.placedAt(w.To)
	states := h.statesAt(w.To)
	i := 0
	for _, s := range spans {
		g := snapshot.Segment{Addr: s.Addr, Size: s.Size}
		if s.Segment != nil {
			g = *s.Segment
			g.Addr, g.Size, g.Blocks = s.Addr, s.Size, nil
		}
		for i < len(blocks) && blocks[i].Addr < s.Addr {
			i++
		}
		for ; i < len(blocks) && blocks[i].Addr < s.End(); i++ {
			b := &blocks[i]
			size := min(b.Size, s.End()-b.Addr)
			if i+1 < len(blocks) {
				size = min(size, blocks[i+1].Addr-b.Addr)
			}
			if size == 0 {
				continue
			}
			state := snapshot.Allocated
			if states[b.Addr] {
				state = snapshot.PendingFree
			}
			g.Blocks = append(g.Blocks, snapshot.Block{
				Addr: b.Addr, Size: size, Requested: min(b.Asked, size), State: state, Stack: b.Stack,
				Category: b.Category, Metadata: b.Metadata,
			})
		}
		segments = append(segments, g)
	}
	return segments, madeUp
}

// free reports whether a span touches none of the layout's.
func (l *Layout) free(s Span) bool {
	next, ok := l.after(s.Addr)
	return !ok || next.Addr >= s.End()
}

// strays returns spans around the window's blocks that lie in no segment.
func (h *History) strays(w Window) []Span {
	layout := h.LayoutAt(w.From)
	var list []Span
	stray := func(addr, size uint64) {
		s := Span{Addr: addr, Size: (size + 511) &^ 511, Event: -1}
		if s.Size > 0 && s.End() > addr && !layout.holds(addr) {
			list = append(list, s)
		}
	}
	for _, b := range h.LiveAt(w.From) {
		stray(b.Addr, b.Asked)
	}
	for _, e := range h.Device.Trace.Range(w.From, w.To) {
		a := h.Snapshot.Action(e.Class)
		layout.apply(a, e.Addr, e.Size)
		if a == snapshot.Alloc || h.frees(a) || a == snapshot.FreeRequested {
			stray(e.Addr, e.Size)
		}
	}
	slices.SortFunc(list, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.Size, a.Size)) })
	var merged []Span
	for _, s := range list {
		if n := len(merged); n > 0 && s.Addr < merged[n-1].End() {
			merged[n-1].Size = max(merged[n-1].End(), s.End()) - merged[n-1].Addr
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// statesAt returns the addresses of the blocks that their holders dropped and
// that are not free yet.
func (h *History) statesAt(instant int) map[uint64]bool {
	dropped := map[uint64]bool{}
	if h.onRequest {
		return dropped
	}
	for _, e := range h.Device.Trace.Range(0, instant) {
		switch h.Snapshot.Action(e.Class) {
		case snapshot.FreeRequested:
			dropped[e.Addr] = true
		case snapshot.Alloc, snapshot.FreeCompleted, snapshot.Free:
			delete(dropped, e.Addr)
		}
	}
	return dropped
}
