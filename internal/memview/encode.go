package memview

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
)

// column is one typed array in a blob, as the page's code makes it.
type column struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // u8, u32 or f64
	Offset int    `json:"offset"`
	Length int    `json:"length"`
}

// encoder numbers what is used of a snapshot's tables.
type encoder struct {
	s       *snapshot.Snapshot
	names   *timeline.Names
	stacks  map[snapshot.StackID]uint32
	order   []snapshot.StackID
	kinds   index
	sites   index
	modules index
}

// index numbers texts in the order in which they come.
type index struct {
	ids  map[string]uint32
	list []string
}

func (x *index) of(text string) uint32 {
	id, ok := x.ids[text]
	if !ok {
		if x.ids == nil {
			x.ids = map[string]uint32{}
		}
		id = uint32(len(x.list))
		x.ids[text] = id
		x.list = append(x.list, text)
	}
	return id
}

func newEncoder(names *timeline.Names) *encoder {
	return &encoder{names: names, stacks: map[snapshot.StackID]uint32{}}
}

func (e *encoder) stack(id snapshot.StackID) uint32 {
	n, ok := e.stacks[id]
	if !ok {
		n = uint32(len(e.order))
		e.stacks[id] = n
		e.order = append(e.order, id)
	}
	return n
}

// maxKinds is how many kinds the page tells apart; a byte each.
const maxKinds = 255

func (e *encoder) kind(b *timeline.Block) byte {
	k := e.names.Kind(b)
	if _, known := e.kinds.ids[k]; !known && len(e.kinds.list) >= maxKinds {
		k = "other"
	}
	return byte(min(e.kinds.of(k), maxKinds))
}

// forever is the life of a block that is never freed.
const forever = math.MaxUint32

// blockColumns are the blocks in order of their start. Instants count from the
// window's first event.
type blockColumns struct {
	start, life, stack, module []uint32
	size, addr                 []float64
	kind                       []byte
}

// device encodes a window of a history.
func (e *encoder) device(w Window) (deviceMeta, []byte) {
	h := w.History
	e.s = h.Snapshot
	base := h.Base(w.To)
	m := deviceMeta{Name: h.Device.Name(), Events: w.To - w.From, First: w.From, Base: fmt.Sprintf("0x%x", base), Epoch: float64(h.Time(w.From + 1))}
	m.Peak = h.PeakIn(w.From, w.To) - w.From
	var c blockColumns
	rows := map[timeline.Ref]int{}
	add := func(r timeline.Ref, instant int) {
		b := h.Block(r)
		rows[r] = len(c.start)
		c.start = append(c.start, uint32(instant))
		c.life = append(c.life, forever)
		c.size = append(c.size, float64(b.Asked))
		c.addr = append(c.addr, float64(b.Addr-base))
		c.stack = append(c.stack, e.stack(b.Stack))
		c.module = append(c.module, e.modules.of(e.names.Module(&b)))
		c.kind = append(c.kind, e.kind(&b))
	}
	walker := h.Walk()
	walker.To(w.From)
	for _, r := range walker.Refs() {
		add(r, 0)
	}
	m.Before = len(c.start)
	times := make([]uint32, 0, m.Events)
	last := h.Time(w.From + 1)
	for walker.Instant() < w.To {
		event, born, died, ok := walker.Step()
		if !ok {
			break
		}
		instant := walker.Instant() - w.From
		if died != timeline.NoRef {
			if row, ok := rows[died]; ok {
				c.life[row] = uint32(instant) - c.start[row]
				delete(rows, died)
			}
		}
		if born != timeline.NoRef {
			add(born, instant)
		}
		step := min(max(event.Time-last, 0), math.MaxUint32)
		last += step
		times = append(times, uint32(step))
	}
	m.Blocks = len(c.start)
	instants, addrs, sizes := segmentColumns(w, base)
	m.Segments = len(instants)
	b := &blob{}
	b.u32("start", c.start)
	b.u32("life", c.life)
	b.u32("stack", c.stack)
	b.u32("module", c.module)
	b.u32("times", times)
	b.u32("segInstant", instants)
	b.f64("size", c.size)
	b.f64("addr", c.addr)
	b.f64("segAddr", addrs)
	b.f64("segSize", sizes)
	b.u8("kind", c.kind)
	m.Columns = b.columns
	return m, b.data
}

// segmentColumns are the changes of what is reserved: what there was at instant 0
// and then event by event, with a negative size for what was given back.
func segmentColumns(w Window, base uint64) (instants []uint32, addrs, sizes []float64) {
	add := func(instant int, addr uint64, size float64) {
		instants = append(instants, uint32(instant))
		addrs = append(addrs, float64(addr-base))
		sizes = append(sizes, size)
	}
	for _, s := range w.History.LayoutAt(w.From).Spans() {
		add(0, s.Addr, float64(s.Size))
	}
	for i, e := range w.History.Device.Trace.Range(w.From, w.To) {
		switch w.History.Snapshot.Action(e.Class) {
		case snapshot.SegmentAlloc, snapshot.SegmentMap:
			add(i+1-w.From, e.Addr, float64(e.Size))
		case snapshot.SegmentFree, snapshot.SegmentUnmap:
			add(i+1-w.From, e.Addr, -float64(e.Size))
		}
	}
	return instants, addrs, sizes
}

// finish writes the tables that the devices share and returns the stacks: where
// each ends, its site, and the frames of all, innermost first.
func (e *encoder) finish(m *meta) []byte {
	m.Frames = [][4]any{}
	frames := map[snapshot.FrameID]uint32{}
	var ends, sites, flat []uint32
	for _, id := range e.order {
		for _, f := range e.s.Stack(id) {
			n, ok := frames[f]
			if !ok {
				n = uint32(len(m.Frames))
				frames[f] = n
				v := e.s.Frame(f)
				m.Frames = append(m.Frames, [4]any{e.s.String(v.Name), e.s.String(v.File), v.Line, e.names.Level(f)})
			}
			flat = append(flat, n)
		}
		ends = append(ends, uint32(len(flat)))
		sites = append(sites, e.sites.of(e.names.Site(id)))
	}
	m.Sites, m.Kinds, m.Modules, m.Stacks = e.sites.list, e.kinds.list, e.modules.list, len(e.order)
	m.Guessed = e.names.Guessed
	for _, list := range []*[]string{&m.Sites, &m.Kinds, &m.Modules} {
		if *list == nil {
			*list = []string{}
		}
	}
	b := &blob{}
	b.u32("ends", ends)
	b.u32("sites", sites)
	b.u32("frames", flat)
	return b.data
}

// blob is typed arrays one after another, each at a multiple of 8 bytes.
type blob struct {
	data    []byte
	columns []column
}

func (b *blob) begin(name, kind string, n int) {
	for len(b.data)%8 != 0 {
		b.data = append(b.data, 0)
	}
	b.columns = append(b.columns, column{name, kind, len(b.data), n})
}

func (b *blob) u8(name string, v []byte) {
	b.begin(name, "u8", len(v))
	b.data = append(b.data, v...)
}

func (b *blob) u32(name string, v []uint32) {
	b.begin(name, "u32", len(v))
	for _, x := range v {
		b.data = binary.LittleEndian.AppendUint32(b.data, x)
	}
}

func (b *blob) f64(name string, v []float64) {
	b.begin(name, "f64", len(v))
	for _, x := range v {
		b.data = binary.LittleEndian.AppendUint64(b.data, math.Float64bits(x))
	}
}
