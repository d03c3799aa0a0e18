package timeline

import (
	"cmp"
	"slices"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// Walker replays a history event by event.
type Walker struct {
	h     *History
	table *addrTable
	at    int
	Live  uint64 // bytes live at the instant, as asked for
	Count int    // blocks live
}

// Walk returns a walker at instant 0.
func (h *History) Walk() *Walker {
	w := &Walker{h: h, table: newAddrTable()}
	for i := range h.Before {
		slot := w.table.slot(h.Before[i].Addr)
		if *slot != NoRef { // listed twice in a broken file
			w.Live -= h.Asked(*slot)
			w.Count--
		}
		*slot = Ref(-i - 1)
		w.Live += h.Before[i].Asked
		w.Count++
	}
	return w
}

// Instant returns how many events the walker has replayed.
func (w *Walker) Instant() int { return w.at }

// Step replays the next event and returns it, the block that it handed out and
// the one whose use it ended, NoRef where there is none. It reports false at the
// end of the trace.
func (w *Walker) Step() (e snapshot.Event, born, died Ref, ok bool) {
	if w.at >= w.h.Device.Trace.Len() {
		return snapshot.Event{}, NoRef, NoRef, false
	}
	e = w.h.Device.Trace.At(w.at)
	born, died = NoRef, NoRef
	action := w.h.Snapshot.Action(e.Class)
	if action == snapshot.Alloc || w.h.frees(action) {
		slot := w.table.slot(e.Addr)
		if *slot != NoRef && *slot != freed {
			died = *slot
			w.Live -= w.h.Asked(died)
			w.Count--
		}
		*slot = freed
		if action == snapshot.Alloc {
			born = Ref(w.at)
			*slot = born
			w.Live += e.Size
			w.Count++
		}
	}
	w.at++
	return e, born, died, true
}

// To replays up to an instant.
func (w *Walker) To(instant int) {
	for w.at < instant {
		if _, _, _, ok := w.Step(); !ok {
			return
		}
	}
}

// Refs returns the live blocks in order of address.
func (w *Walker) Refs() []Ref {
	var refs []Ref
	for i, r := range w.table.refs {
		if w.table.used[i/64]>>(i%64)&1 == 1 && r != NoRef && r != freed {
			refs = append(refs, r)
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(w.h.addr(a), w.h.addr(b)), cmp.Compare(a, b))
	})
	return refs
}

func (h *History) addr(r Ref) uint64 {
	if r < 0 {
		return h.Before[-r-1].Addr
	}
	return h.Device.Trace.At(int(r)).Addr
}

// LiveAt returns what was live at an instant, in order of address. Sizes are what
// was asked for.
func (h *History) LiveAt(instant int) []Block {
	blocks := h.placedAt(instant)
	for i := range blocks {
		blocks[i].Size = blocks[i].Asked
	}
	return blocks
}

// placedAt is LiveAt with the sizes that the blocks take: rounded up to 512
// bytes, PyTorch's smallest block, where no segment tells.
func (h *History) placedAt(instant int) []Block {
	w := h.Walk()
	w.To(instant)
	blocks := h.blocks(w.Refs())
	for i := range blocks {
		if b := &blocks[i]; b.Size == b.Asked {
			b.Size = (b.Asked + 511) &^ 511
		}
	}
	return blocks
}

func (h *History) blocks(refs []Ref) []Block {
	blocks := make([]Block, len(refs))
	for i, r := range refs {
		blocks[i] = h.Block(r)
	}
	return blocks
}

// LiveNow returns what is live now: the segments' active blocks or, in a file
// without segments, what is live at the end of the trace. A block recorded
// without a stack takes that of the trace's last allocation at its address.
func (h *History) LiveNow() []Block {
	if len(h.Device.Segments) == 0 {
		return h.LiveAt(h.Device.Trace.Len())
	}
	var blocks []Block
	bare := false
	for i := range h.Device.Segments {
		for j := range h.Device.Segments[i].Blocks {
			if k := &h.Device.Segments[i].Blocks[j]; k.Active() {
				blocks = append(blocks, ofSegment(k))
				bare = bare || k.Stack == 0 || k.Category == 0
			}
		}
	}
	if !bare || h.Device.Trace.Len() == 0 {
		return blocks
	}
	w := h.Walk()
	w.To(h.Device.Trace.Len())
	for i := range blocks {
		b := &blocks[i]
		r := w.table.get(b.Addr)
		if r < 0 {
			continue
		}
		t := h.Block(r)
		if b.Start = t.Start; b.Stack == 0 {
			b.Stack = t.Stack
		}
		if b.Category == 0 {
			b.Category = t.Category
		}
		if b.Metadata == 0 {
			b.Metadata = t.Metadata
		}
	}
	return blocks
}

// InstantOf returns the instant at a time in microseconds since the Unix epoch:
// after the last event not later than it.
func (h *History) InstantOf(us int64) int {
	t := &h.Device.Trace
	lo, hi := 0, t.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if t.At(mid).Time <= us {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
