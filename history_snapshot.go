package ebb

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ebb-ml/ebb/internal/alloc"
	"github.com/ebb-ml/ebb/internal/site"
	"github.com/ebb-ml/ebb/internal/snapshot"
)

// WriteSnapshot writes the runtime's memory as a snapshot in PyTorch's format,
// which PyTorch's viewer, its _memory_viz.py and ebb mem open: the segments, the
// blocks in them with what they are for, and the history if one is recorded. The
// processor is device 0. Call stacks show the paths of source files. It is
// torch.cuda.memory._dump_snapshot.
//
// The runtime may go on meanwhile; what is written is one moment's.
func (rt *Runtime) WriteSnapshot(w io.Writer) error { return rt.core.freeze().snapshot().Write(w) }

// frozen is one moment's memory and history.
type frozen struct {
	limit    int64
	most     int64 // live at the peak
	segments []frozenSegment
	events   []event
	marks    map[int]string // by event
	labels   []label
	stacks   []*site.Stack
	max      int
	peakFrom int // the peak counts from before this event on
	dropped  bool
	on       bool
}

type frozenSegment struct {
	addr, size uint64
	small      bool
	blocks     []frozenBlock
}

// frozenBlock is a block handed out.
type frozenBlock struct {
	addr, rounded uint64
	asked         int64
	known         bool // what it is for
	label         label
	stack         *site.Stack
}

// freeze copies what a snapshot needs.
func (co *core) freeze() *frozen {
	co.mu.Lock()
	defer co.mu.Unlock()
	type kept struct {
		st    *storage
		owner string
	}
	blocks := map[*alloc.Block]kept{}
	co.visitStorages(func(st *storage, owner string) { blocks[st.blk] = kept{st, owner} })
	f := &frozen{limit: co.limit, most: co.live.Peak}
	for seg := range co.alloc.Segments() {
		g := frozenSegment{addr: seg.Addr, size: uint64(seg.Size), small: seg.Small}
		for span := range seg.Spans() {
			if span.State != alloc.InUse {
				continue
			}
			b := frozenBlock{addr: span.Addr, rounded: uint64(span.Size), asked: span.Size}
			if k, ok := blocks[span.Block]; ok {
				b.known, b.asked, b.stack = true, k.st.bytes, k.st.site
				b.label = labelFor(k.st, nil)
				b.label.owner = k.owner
			}
			g.blocks = append(g.blocks, b)
		}
		f.segments = append(f.segments, g)
	}
	if h := co.history; h != nil {
		f.on, f.max, f.dropped = true, h.max, h.next-h.base > uint64(h.max)
		f.peakFrom = max(h.len()-int(h.next-h.peakFrom), 0)
		f.labels, f.stacks, f.events = h.labels[:len(h.labels):len(h.labels)], h.stacks[:len(h.stacks):len(h.stacks)], h.tail(h.len())
		first := h.next - uint64(h.len())
		f.marks = make(map[int]string, len(h.marks))
		for number, text := range h.marks {
			f.marks[int(number-first)] = text
		}
	}
	return f
}

// tail copies the last n events, oldest first.
func (h *recorder) tail(n int) []event {
	events := make([]event, 0, n)
	for number := h.next - uint64(n); number < h.next; {
		i := int((number - h.base) % uint64(h.max))
		chunk := h.chunks[i/eventChunk][i%eventChunk:]
		chunk = chunk[:min(uint64(len(chunk)), h.next-number)]
		events = append(events, chunk...)
		number += uint64(len(chunk))
	}
	return events
}

// metadata describes a label as the readers of Ebb's snapshots take it apart:
// "key=value" between spaces.
func (l *label) metadata() string {
	var b strings.Builder
	put := func(key, value string) {
		if value == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(strings.Join(strings.Fields(value), "_"))
	}
	put("op", l.op)
	put("module", l.module)
	if !l.bytes {
		put("dtype", l.dtype.String())
		if l.shape != nil {
			put("shape", strings.ReplaceAll(fmt.Sprint(l.shape), " ", ","))
		}
	}
	put("owner", l.owner)
	return b.String()
}

// snapshotter builds a snapshot.
type snapshotter struct {
	*snapshot.Snapshot
	f       *frozen
	stacks  map[*site.Stack]snapshot.StackID
	labels  []labelText // by label
	classes map[[2]uint32]snapshot.ClassID
}

// labelText is what a snapshot says of a label.
type labelText struct {
	done               bool
	category, metadata snapshot.StringID
}

func (f *frozen) snapshot() *snapshot.Snapshot {
	b := &snapshotter{Snapshot: snapshot.New(), f: f, stacks: map[*site.Stack]snapshot.StackID{},
		labels: make([]labelText, len(f.labels)), classes: map[[2]uint32]snapshot.ClassID{}}
	d := b.Device(0)
	for i := range f.segments {
		d.Segments = append(d.Segments, b.segment(&f.segments[i]))
	}
	d.MaxEntries, d.Overflowed = uint64(f.max), f.dropped
	for i := range f.events {
		b.event(&d.Trace, i)
	}
	b.Settings = []snapshot.Setting{
		{Key: "allocator", Value: "ebb"},
		{Key: "limit", Value: strconv.FormatInt(f.limit, 10)},
		{Key: "expandable_segments", Value: "False"},
		{Key: "max_split_size", Value: "-1"},
		{Key: "garbage_collection_threshold", Value: "0.0"},
	}
	if f.on {
		overflowed := "False"
		if f.dropped {
			overflowed = "True"
		}
		b.Settings = append(b.Settings, snapshot.Setting{Key: "trace_alloc_max_entries", Value: strconv.Itoa(f.max)},
			snapshot.Setting{Key: "trace_alloc_overflowed", Value: overflowed})
	}
	return b.Snapshot
}

func (b *snapshotter) segment(g *frozenSegment) snapshot.Segment {
	s := snapshot.Segment{Addr: g.addr, Size: g.size, Small: g.small}
	for i := range g.blocks {
		k := &g.blocks[i]
		block := snapshot.Block{Addr: k.addr, Size: k.rounded, Requested: uint64(k.asked), State: snapshot.Allocated, Stack: b.stack(k.stack)}
		block.Category = b.Intern("unknown")
		if k.known {
			block.Category, block.Metadata = b.Intern(k.label.kind.String()), b.Intern(k.label.metadata())
		}
		s.Blocks = append(s.Blocks, block)
	}
	return s
}

func (b *snapshotter) stack(s *site.Stack) snapshot.StackID {
	id, ok := b.stacks[s]
	if !ok {
		var frames []snapshot.FrameID
		for _, f := range s.Frames() {
			frames = append(frames, b.FrameOf(f.File, int32(f.Line), f.Function))
		}
		id = b.StackOf(frames)
		b.stacks[s] = id
	}
	return id
}

// actions are the snapshot's names for what an event is. A free is two.
var actions = [...][]snapshot.Action{
	eventAlloc:  {snapshot.Alloc},
	eventFree:   {snapshot.FreeRequested, snapshot.FreeCompleted},
	eventMap:    {snapshot.SegmentAlloc},
	eventUnmap:  {snapshot.SegmentFree},
	eventFailed: {snapshot.OutOfMemory},
}

func (b *snapshotter) event(t *snapshot.Trace, i int) {
	e := &b.f.events[i]
	s := snapshot.Event{Addr: e.addr, Size: uint64(e.bytes), Time: timeOf(e.time).UnixMicro(), Stack: b.stack(b.f.stacks[e.stack])}
	if e.action == eventMark {
		s.Class = b.ClassOf(snapshot.Class{Action: snapshot.Annotate, Metadata: b.Intern(b.f.marks[i])})
		t.Append(s)
		return
	}
	for _, a := range actions[e.action] {
		s.Class = b.class(a, e.label)
		t.Append(s)
	}
}

func (b *snapshotter) class(a snapshot.Action, id uint32) snapshot.ClassID {
	key := [2]uint32{uint32(a), id}
	class, ok := b.classes[key]
	if ok {
		return class
	}
	text := &b.labels[id]
	if l := &b.f.labels[id]; !text.done {
		text.done = true
		if a != snapshot.SegmentAlloc && a != snapshot.SegmentFree {
			text.category, text.metadata = b.Intern(l.kind.String()), b.Intern(l.metadata())
		}
	}
	class = b.ClassOf(snapshot.Class{Action: a, Category: text.category, Metadata: text.metadata})
	b.classes[key] = class
	return class
}

// Peak says which moment [Runtime.PeakHoldings] tells of.
type Peak struct {
	Bytes int64  // live then
	Exact bool   // no moment since ResetPeak had more
	Doubt string // why not, in words
}

// PeakHoldings lists what was live at the moment when the most was, with its
// owner as far as the history tells. The history must be on; without it, or where
// the peak was before its oldest event, that moment is the highest in the history
// and Peak.Exact is false.
func (rt *Runtime) PeakHoldings() ([]Holding, Peak) {
	f := rt.core.freeze()
	if !f.on {
		return nil, Peak{Doubt: "no history was recorded, which alone tells what was live at the peak"}
	}
	hs := f.peak()
	p := Peak{}
	for _, h := range hs {
		p.Bytes += h.Bytes
	}
	p.Exact = p.Bytes == f.most
	switch {
	case p.Exact:
	case f.dropped:
		p.Doubt = fmt.Sprintf("the runtime's peak is %s; this is the most in the last %d events", FormatBytes(f.most), len(f.events))
	default:
		p.Doubt = fmt.Sprintf("the runtime's peak is %s; this is the most since the history began", FormatBytes(f.most))
	}
	return hs, p
}

// peak goes back from what is live now to the moment when the most was.
func (f *frozen) peak() []Holding {
	live := map[uint64]*frozenBlock{}
	var bytes int64
	for i := range f.segments {
		for j := range f.segments[i].blocks {
			b := &f.segments[i].blocks[j]
			live[b.addr] = b
			bytes += b.asked
		}
	}
	most, at := bytes, len(f.events) // the moment is before event at
	for i, e := range slices.Backward(f.events) {
		switch e.action {
		case eventAlloc:
			bytes -= e.bytes
		case eventFree:
			bytes += e.bytes
		}
		if i >= f.peakFrom && bytes > most {
			most, at = bytes, i
		}
	}
	for _, e := range slices.Backward(f.events[at:]) {
		switch e.action {
		case eventAlloc:
			delete(live, e.addr)
		case eventFree:
			live[e.addr] = &frozenBlock{addr: e.addr, rounded: uint64(e.bytes) + uint64(e.slack), asked: e.bytes, known: true,
				label: f.labels[e.label], stack: f.stacks[e.stack]}
		}
	}
	hs := make([]Holding, 0, len(live))
	for _, b := range live {
		hs = append(hs, b.holding())
	}
	return hs
}

func (b *frozenBlock) holding() Holding {
	l := &b.label
	h := Holding{Kind: l.kind, DType: l.dtype, Shape: l.shape, Bytes: b.asked, Owner: l.owner, Module: l.module, Op: l.op, Site: Site{b.stack}}
	if l.bytes {
		h.DType, h.Shape = Uint8, []int{int(b.asked)}
	}
	return h
}
