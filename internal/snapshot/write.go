package snapshot

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strconv"
)

// Write writes the snapshot as PyTorch's pickle, protocol 4, so that PyTorch's
// viewer, its _memory_viz.py and other readers open it: only opcodes they know,
// batches of at most 1,000 items (the viewer fails beyond about 125,000), every
// block complete and the segments tiled, a trace for each device, "unknown" among
// the categories if there are any. Strings, frames and stacks are written once.
//
// Segments are completed: gaps between their blocks are written as inactive
// blocks, and their totals are computed.
func (s *Snapshot) Write(w io.Writer) error {
	p := &pickler{
		w: bufio.NewWriterSize(w, 256<<10), s: s,
		strings: make([]uint32, s.NumStrings()),
		frames:  make([]uint32, len(s.frames.list)),
		stacks:  make([]uint32, s.NumStacks()),
		keys:    map[string]uint32{},
	}
	p.snapshot()
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// batch is how many items CPython's pickler adds at once.
const batch = 1000

// pickler writes opcodes. What is shared is memoised; the tables hold the memo's
// index plus one.
type pickler struct {
	w       *bufio.Writer
	s       *Snapshot
	memos   uint32
	strings []uint32
	frames  []uint32
	stacks  []uint32
	keys    map[string]uint32 // strings that are in no table
	err     error
	buf     [16]byte
}

func (p *pickler) write(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

func (p *pickler) op(c ...byte) { p.write(c) }

// ref writes a reference to something memoised, or reports that it was not yet.
func (p *pickler) ref(slot *uint32) bool {
	if *slot == 0 {
		return false
	}
	if at := *slot - 1; at < 256 {
		p.op('h', byte(at))
	} else {
		p.buf[0] = 'j'
		binary.LittleEndian.PutUint32(p.buf[1:], at)
		p.write(p.buf[:5])
	}
	return true
}

func (p *pickler) memoise(slot *uint32) {
	p.op(0x94)
	p.memos++
	*slot = p.memos
}

func (p *pickler) text(s string, slot *uint32) {
	if p.ref(slot) {
		return
	}
	if len(s) < 256 {
		p.op(0x8c, byte(len(s)))
	} else {
		p.buf[0] = 'X'
		binary.LittleEndian.PutUint32(p.buf[1:], uint32(len(s)))
		p.write(p.buf[:5])
	}
	if p.err == nil {
		_, p.err = p.w.WriteString(s)
	}
	p.memoise(slot)
}

// key writes a string that is not interned in the snapshot.
func (p *pickler) key(s string) {
	slot := p.keys[s]
	known := slot != 0
	p.text(s, &slot)
	if !known {
		p.keys[s] = slot
	}
}

func (p *pickler) str(id StringID) { p.text(p.s.String(id), &p.strings[id]) }

func (p *pickler) uint(n uint64) {
	switch {
	case n < 1<<8:
		p.op('K', byte(n))
	case n < 1<<16:
		p.op('M', byte(n), byte(n>>8))
	case n < 1<<31:
		p.buf[0] = 'J'
		binary.LittleEndian.PutUint32(p.buf[1:], uint32(n))
		p.write(p.buf[:5])
	default: // LONG1, little-endian with room for the sign
		size := 5
		for size < 8 && n>>(8*size-1) != 0 {
			size++
		}
		if n>>63 != 0 {
			size = 9
		}
		clear(p.buf[:])
		p.buf[0], p.buf[1] = 0x8a, byte(size)
		binary.LittleEndian.PutUint64(p.buf[2:], n)
		p.write(p.buf[:2+size])
	}
}

func (p *pickler) bool(b bool) {
	if b {
		p.op(0x88)
	} else {
		p.op(0x89)
	}
}

func (p *pickler) pair(v [2]int64) {
	p.uint(uint64(v[0]))
	p.uint(uint64(v[1]))
	p.op(0x86)
}

func (p *pickler) dict(f func()) {
	p.op('}', '(')
	f()
	p.op('u')
}

// list writes a list of n items in batches.
func (p *pickler) list(n int, item func(i int)) {
	p.op(']')
	for from := 0; from < n; from += batch {
		p.op('(')
		for i := from; i < min(n, from+batch); i++ {
			item(i)
		}
		p.op('e')
	}
}

func (p *pickler) stack(id StackID) {
	if int(id) >= len(p.stacks) {
		id = 0
	}
	slot := &p.stacks[id]
	if p.ref(slot) {
		return
	}
	frames := p.s.Stack(id)
	p.op(']')
	p.memoise(slot)
	for len(frames) > 0 {
		n := min(len(frames), batch)
		p.op('(')
		for _, f := range frames[:n] {
			p.frame(f)
		}
		p.op('e')
		frames = frames[n:]
	}
}

func (p *pickler) frame(id FrameID) {
	slot := &p.frames[id]
	if p.ref(slot) {
		return
	}
	f := p.s.Frame(id)
	p.op('}')
	p.memoise(slot)
	p.op('(')
	p.key("name")
	p.str(f.Name)
	p.key("filename")
	p.str(f.File)
	p.key("line")
	p.uint(uint64(max(f.Line, 0)))
	p.op('u')
}

func (p *pickler) snapshot() {
	s := p.s
	var devices []*Device // in order of ordinal, gaps as nil
	var host *Device
	for _, d := range s.Devices {
		if d.Index == HostDevice {
			host = d
			continue
		}
		for len(devices) <= d.Index {
			devices = append(devices, nil)
		}
		devices[d.Index] = d
	}
	marker := p.needsUnknown()
	p.op(0x80, 4)
	p.dict(func() {
		p.key("segments")
		p.segments(devices)
		p.key("device_traces")
		p.list(len(devices), func(i int) {
			if devices[i] == nil {
				p.op(']')
				return
			}
			p.trace(devices[i], marker && i == s.firstDevice())
		})
		if host != nil {
			p.key("host_segments")
			p.segments([]*Device{host})
			p.key("host_traces")
			p.list(1, func(int) { p.trace(host, false) })
		}
		p.key("allocator_settings")
		p.settings()
		p.key("external_annotations")
		p.list(len(s.Annotations), func(i int) { p.annotation(&s.Annotations[i]) })
	})
	p.op('.')
}

func (s *Snapshot) firstDevice() int {
	for _, d := range s.Devices {
		if d.Index != HostDevice {
			return d.Index
		}
	}
	return 0
}

// needsUnknown reports whether a marker of the category "unknown" must be added:
// where there are categories and not that one, PyTorch's viewer fails.
func (p *pickler) needsUnknown() bool {
	some := false
	for _, d := range p.s.Devices {
		for _, e := range d.Trace.All() {
			switch p.s.String(p.s.Class(e.Class).Category) {
			case "":
			case "unknown":
				return false
			default:
				some = true
			}
		}
	}
	return some
}

func (p *pickler) segments(devices []*Device) {
	type owned struct {
		g      *Segment
		device int
	}
	var all []owned
	for _, d := range devices {
		if d == nil {
			continue
		}
		from := len(all)
		for i := range d.Segments {
			all = append(all, owned{&d.Segments[i], max(d.Index, 0)})
		}
		slices.SortStableFunc(all[from:], func(x, y owned) int { return cmp.Compare(x.g.Addr, y.g.Addr) })
	}
	p.list(len(all), func(i int) { p.segment(all[i].g, all[i].device) })
}

func (p *pickler) segment(g *Segment, device int) {
	blocks := g.Tiled()
	var size, allocated, active, requested uint64
	for i := range blocks {
		k := &blocks[i]
		size += k.Size
		if k.Active() {
			active += k.Size
			requested += k.Requested
		}
		if k.State == Allocated {
			allocated += k.Size
		}
	}
	p.dict(func() {
		p.key("device")
		p.uint(uint64(device))
		p.key("address")
		p.uint(g.Addr)
		p.key("total_size")
		p.uint(size)
		p.key("allocated_size")
		p.uint(allocated)
		p.key("active_size")
		p.uint(active)
		p.key("requested_size")
		p.uint(requested)
		p.key("stream")
		p.uint(g.Stream)
		p.key("segment_type")
		if g.Small {
			p.key("small")
		} else {
			p.key("large")
		}
		p.key("segment_pool_id")
		p.pair(g.Pool)
		p.key("is_expandable")
		p.bool(g.Expandable)
		p.key("frames")
		p.stack(g.Stack)
		p.key("blocks")
		p.list(len(blocks), func(i int) { p.block(&blocks[i]) })
	})
}

func (p *pickler) block(k *Block) {
	p.dict(func() {
		p.key("address")
		p.uint(k.Addr)
		p.key("size")
		p.uint(k.Size)
		p.key("requested_size")
		p.uint(k.Requested)
		p.key("state")
		p.key(k.State.String())
		p.key("frames")
		p.stack(k.Stack)
		if k.Category != 0 {
			p.key("category")
			p.str(k.Category)
		}
		if k.Metadata != 0 {
			p.key("user_metadata")
			p.str(k.Metadata)
		}
	})
}

func (p *pickler) trace(d *Device, marker bool) {
	n := d.Trace.Len()
	total := n
	if marker {
		total++
	}
	p.list(total, func(i int) {
		if i < n {
			p.event(d.Trace.At(i))
			return
		}
		var active uint64
		for i := range d.Segments {
			for j := range d.Segments[i].Blocks {
				if k := &d.Segments[i].Blocks[j]; k.Active() {
					active += k.Size
				}
			}
		}
		e := Event{Size: active}
		if n > 0 {
			e.Time = d.Trace.At(n - 1).Time
		}
		p.eventOf(e, &Class{Action: TakeSnapshot}, "unknown")
	})
}

func (p *pickler) event(e Event) { p.eventOf(e, p.s.Class(e.Class), "") }

// eventOf writes an event; category is used where its class has none.
func (p *pickler) eventOf(e Event, c *Class, category string) {
	p.dict(func() {
		p.key("action")
		if c.Action == OtherAction {
			p.str(c.Name)
		} else {
			p.key(c.Action.String())
		}
		if c.Action == OutOfMemory {
			p.key("device_free")
		} else {
			p.key("addr")
		}
		p.uint(e.Addr)
		p.key("size")
		p.uint(e.Size)
		p.key("stream")
		p.uint(c.Stream)
		if e.Time > 0 {
			p.key("time_us")
			p.uint(uint64(e.Time))
		}
		if c.HasPool {
			p.key("pool_id")
			p.pair(c.Pool)
		}
		if c.Context != 0 {
			p.key("compile_context")
			p.str(c.Context)
		}
		if c.Metadata != 0 {
			p.key("user_metadata")
			p.str(c.Metadata)
		}
		switch {
		case c.Category != 0:
			p.key("category")
			p.str(c.Category)
		case category != "":
			p.key("category")
			p.key(category)
		}
		p.key("frames")
		p.stack(e.Stack)
	})
}

// settings writes numbers and truth values as such, because readers compute with
// them.
func (p *pickler) settings() {
	p.op('}')
	for from := 0; from < len(p.s.Settings); from += batch {
		p.op('(')
		for _, set := range p.s.Settings[from:min(len(p.s.Settings), from+batch)] {
			p.key(set.Key)
			p.setting(set)
		}
		p.op('u')
	}
}

func (p *pickler) setting(set Setting) {
	switch set.Value {
	case "True", "False":
		p.bool(set.Value == "True")
		return
	case "-1":
		p.op('J', 0xff, 0xff, 0xff, 0xff)
		return
	}
	if n, err := strconv.ParseUint(set.Value, 10, 63); err == nil {
		p.uint(n)
	} else if f, err := strconv.ParseFloat(set.Value, 64); err == nil {
		p.buf[0] = 'G'
		binary.BigEndian.PutUint64(p.buf[1:], math.Float64bits(f))
		p.write(p.buf[:9])
	} else {
		p.key(set.Value)
	}
}

func (p *pickler) annotation(a *Annotation) {
	p.dict(func() {
		p.key("name")
		p.key(a.Name)
		p.key("stage")
		if a.Start {
			p.key("START")
		} else {
			p.key("END")
		}
		p.key("device")
		p.uint(uint64(max(a.Device, 0)))
		p.key("time_us")
		p.uint(uint64(max(a.Time, 0)))
	})
}
