package timeline

import (
	"cmp"
	"slices"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/sorted"
)

// Span is a run of reserved addresses: a segment, or a mapped part of an
// expandable one.
type Span struct {
	Addr, Size uint64
	Segment    *snapshot.Segment // what the file says of it; nil where it is gone by then
	Event      int               // the event that reserved it; -1 before the trace
}

// End returns the first address after the span.
func (s *Span) End() uint64 { return s.Addr + s.Size }

// Layout is what is reserved at an instant.
type Layout struct {
	spans *sorted.List[Span] // by address, without overlap
}

func newLayout() *Layout {
	return &Layout{sorted.New(func(a, b Span) int { return cmp.Compare(a.Addr, b.Addr) })}
}

// LayoutAt returns what was reserved at an instant: the segments of the file with
// all later events undone.
func (h *History) LayoutAt(instant int) *Layout {
	l := newLayout()
	for i := range h.Device.Segments {
		g := &h.Device.Segments[i]
		l.add(Span{Addr: g.Addr, Size: g.Size, Segment: g, Event: -1})
	}
	t := &h.Device.Trace
	if len(h.Device.Segments) == 0 { // nothing to go back from
		for _, e := range t.Range(0, instant) {
			l.apply(h.Snapshot.Action(e.Class), e.Addr, e.Size)
		}
		return l
	}
	for i := t.Len() - 1; i >= instant; i-- {
		e := t.At(i)
		switch d := segmentDelta(h.Snapshot.Action(e.Class), e.Size); {
		case d > 0:
			l.remove(e.Addr, e.Size)
		case d < 0:
			l.add(Span{Addr: e.Addr, Size: e.Size, Event: -1})
		}
	}
	return l
}

// apply makes the change of a segment's event.
func (l *Layout) apply(a snapshot.Action, addr, size uint64) {
	switch d := segmentDelta(a, size); {
	case d > 0:
		l.add(Span{Addr: addr, Size: size, Event: -1})
	case d < 0:
		l.remove(addr, size)
	}
}

// Spans returns what is reserved in order of address.
func (l *Layout) Spans() []Span { return slices.Collect(l.spans.All()) }

// after returns the first span that ends after an address.
func (l *Layout) after(addr uint64) (Span, bool) {
	return l.spans.First(func(s Span) bool { return s.End() > addr })
}

// holds reports whether an address lies in a span.
func (l *Layout) holds(addr uint64) bool {
	s, ok := l.after(addr)
	return ok && s.Addr <= addr
}

// add reserves a span. What overlaps, in a broken file, is replaced.
func (l *Layout) add(s Span) {
	if s.Size == 0 || s.End() < s.Addr {
		return
	}
	l.remove(s.Addr, s.Size)
	l.spans.Insert(s)
}

// remove gives up a range, which may be a part of a span.
func (l *Layout) remove(addr, size uint64) {
	end := addr + size
	if end <= addr {
		return
	}
	for {
		s, ok := l.after(addr)
		if !ok || s.Addr >= end {
			return
		}
		l.spans.Delete(s)
		if s.Addr < addr {
			before := s
			before.Size = addr - s.Addr
			l.spans.Insert(before)
		}
		if s.End() > end {
			after := s
			after.Addr, after.Size = end, s.End()-end
			l.spans.Insert(after)
		}
	}
}

// Pin is a span that is partly free and what keeps it from being given back.
type Pin struct {
	Span   Span
	Free   uint64
	Live   uint64
	Blocks []Block
}

// Fragmentation says how the free part of what is reserved lies.
type Fragmentation struct {
	Free        uint64 // bytes reserved and not live
	LargestHole uint64
	Holes       int
	Releasable  uint64 // bytes of spans in which nothing is live
	Pins        []Pin  // spans partly free, the most free bytes first
	Unplaced    int    // live blocks in no span
	Unknown     uint64 // bytes of segments that the file's blocks do not cover
}

// Fragmentation returns how the device's memory lies at an instant. See placedAt for
// sizes.
func (h *History) Fragmentation(instant int) Fragmentation {
	layout := h.LayoutAt(instant)
	blocks := h.placedAt(instant)
	var f Fragmentation
	i := 0
	for s := range layout.spans.All() {
		for i < len(blocks) && blocks[i].Addr < s.Addr {
			f.Unplaced++
			i++
		}
		first := i
		for i < len(blocks) && blocks[i].Addr < s.End() {
			i++
		}
		f.span(s, blocks[first:i])
	}
	f.Unplaced += len(blocks) - i
	f.sortPins()
	return f
}

func (f *Fragmentation) span(s Span, blocks []Block) {
	var live uint64
	at := s.Addr
	for i := range blocks {
		b := &blocks[i]
		f.hole(at, b.Addr)
		end := min(b.Addr+b.Size, s.End())
		live += end - min(max(b.Addr, at), end)
		at = max(at, end)
	}
	f.hole(at, s.End())
	free := s.Size - min(live, s.Size)
	f.Free += free
	if len(blocks) == 0 {
		f.Releasable += s.Size
	} else if free > 0 {
		f.Pins = append(f.Pins, Pin{s, free, live, blocks})
	}
}

func (f *Fragmentation) hole(from, to uint64) {
	if to > from {
		f.Holes++
		f.LargestHole = max(f.LargestHole, to-from)
	}
}

func (f *Fragmentation) sortPins() {
	slices.SortStableFunc(f.Pins, func(a, b Pin) int { return cmp.Compare(b.Free, a.Free) })
}

// FragmentationNow returns how the memory lies in the segments of the file. Where
// it has none, it is that at the end of the trace.
func (h *History) FragmentationNow() Fragmentation {
	if len(h.Device.Segments) == 0 {
		return h.Fragmentation(h.Device.Trace.Len())
	}
	stacks := map[uint64]Block{}
	for _, b := range h.LiveNow() {
		stacks[b.Addr] = b
	}
	var f Fragmentation
	for i := range h.Device.Segments {
		g := &h.Device.Segments[i]
		pin := Pin{Span: Span{Addr: g.Addr, Size: g.Size, Segment: g, Event: -1}}
		var run uint64 // of free blocks side by side
		at := g.Addr
		for j := range g.Blocks {
			k := &g.Blocks[j]
			if k.Addr != at {
				run = 0
			}
			at = k.Addr + k.Size
			if k.Active() {
				pin.Live += k.Size
				pin.Blocks = append(pin.Blocks, stacks[k.Addr])
				run = 0
				continue
			}
			if run == 0 {
				f.Holes++
			}
			run += k.Size
			pin.Free += k.Size
			f.LargestHole = max(f.LargestHole, run)
		}
		f.Free += pin.Free
		if covered := pin.Free + pin.Live; covered < g.Size {
			f.Unknown += g.Size - covered
		}
		if len(pin.Blocks) == 0 {
			f.Releasable += g.Size
		} else if pin.Free > 0 {
			f.Pins = append(f.Pins, pin)
		}
	}
	f.sortPins()
	return f
}
