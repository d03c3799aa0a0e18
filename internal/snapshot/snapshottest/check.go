package snapshottest

import (
	"fmt"
	"slices"
)

// Check returns what in a written snapshot would trip one of the format's known
// readers: the opcodes (see [Unpickle]), the keys and their types, blocks that do
// not tile their segment, devices without a trace, categories without "unknown",
// and a trace that cannot be replayed backwards from the segments.
func Check(data []byte) []string {
	top, err := Unpickle(data)
	if err != nil {
		return []string{err.Error()}
	}
	c := &checker{}
	c.snapshot(top)
	return c.faults
}

type checker struct {
	faults     []string
	categories map[string]bool
}

func (c *checker) faultf(format string, args ...any) {
	if len(c.faults) < 50 {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// field returns a value of the type that the readers need, or reports a fault.
func field[T any](c *checker, d *Dict, what, key string) T {
	v, ok := d.Items[key].(T)
	if !ok {
		c.faultf("%s: %s is %T, not %T", what, key, d.Items[key], v)
	}
	return v
}

func (c *checker) frames(d *Dict, what string) {
	l := field[*List](c, d, what, "frames")
	if l == nil {
		return
	}
	for _, item := range l.Items {
		f, ok := item.(*Dict)
		if !ok {
			c.faultf("%s: a frame is %T", what, item)
			return
		}
		field[string](c, f, what+": frame", "name")
		field[string](c, f, what+": frame", "filename")
		field[int64](c, f, what+": frame", "line")
	}
}

type span struct{ addr, size int64 }

func (s span) contains(o span) bool { return s.addr <= o.addr && o.addr+o.size <= s.addr+s.size }

// device is a device's state while its trace is replayed backwards.
type device struct {
	segments []span
	blocks   map[int64]string // state by address
}

func (c *checker) snapshot(top any) {
	d, ok := top.(*Dict)
	if !ok {
		c.faultf("the object is %T, not a dict", top)
		return
	}
	c.categories = map[string]bool{}
	devices := map[int64]*device{}
	segments := field[*List](c, d, "snapshot", "segments")
	traces := field[*List](c, d, "snapshot", "device_traces")
	if segments == nil || traces == nil {
		return
	}
	for i, item := range segments.Items {
		g, ok := item.(*Dict)
		if !ok {
			c.faultf("segment %d is %T", i, item)
			continue
		}
		c.segment(g, fmt.Sprintf("segment %d", i), devices)
	}
	for index := range devices {
		if index < 0 || index >= int64(len(traces.Items)) {
			c.faultf("device %d has segments and no trace", index)
		}
	}
	for i, item := range traces.Items {
		l, ok := item.(*List)
		if !ok {
			c.faultf("trace %d is %T", i, item)
			continue
		}
		dev := devices[int64(i)]
		if dev == nil {
			dev = &device{blocks: map[int64]string{}}
		}
		c.trace(l, fmt.Sprintf("trace %d", i), dev)
	}
	if len(c.categories) > 0 && !c.categories["unknown"] {
		c.faultf("there are categories, but not %q", "unknown")
	}
}

func (c *checker) segment(g *Dict, what string, devices map[int64]*device) {
	index := field[int64](c, g, what, "device")
	dev := devices[index]
	if dev == nil {
		dev = &device{blocks: map[int64]string{}}
		devices[index] = dev
	}
	s := span{field[int64](c, g, what, "address"), field[int64](c, g, what, "total_size")}
	if s.addr >= 1<<53 {
		c.faultf("%s: address %#x is no exact number in JavaScript", what, s.addr)
	}
	if n := len(dev.segments); n > 0 && dev.segments[n-1].addr+dev.segments[n-1].size > s.addr {
		c.faultf("%s is out of order or overlaps", what)
	}
	dev.segments = append(dev.segments, s)
	field[int64](c, g, what, "stream")
	field[bool](c, g, what, "is_expandable")
	if kind := field[string](c, g, what, "segment_type"); kind != "small" && kind != "large" {
		c.faultf("%s: segment_type %q", what, kind)
	}
	field[[2]any](c, g, what, "segment_pool_id")
	c.frames(g, what)
	at := s.addr
	var allocated, active, requested int64
	for i, item := range field[*List](c, g, what, "blocks").Items {
		b, what := item.(*Dict), fmt.Sprintf("%s, block %d", what, i)
		addr, size := field[int64](c, b, what, "address"), field[int64](c, b, what, "size")
		if addr != at {
			c.faultf("%s is at %#x, the one before ends at %#x", what, addr, at)
		}
		at = addr + size
		state := field[string](c, b, what, "state")
		asked := field[int64](c, b, what, "requested_size")
		c.frames(b, what)
		switch state {
		case "active_allocated":
			allocated += size
			fallthrough
		case "active_pending_free":
			active += size
			requested += asked
			dev.blocks[addr] = state
			if asked > size {
				c.faultf("%s: %d bytes asked for in %d", what, asked, size)
			}
		case "inactive":
		default:
			c.faultf("%s: state %q", what, state)
		}
	}
	if at != s.addr+s.size {
		c.faultf("%s: blocks end at %#x, the segment at %#x", what, at, s.addr+s.size)
	}
	for _, total := range []struct {
		key  string
		want int64
	}{{"allocated_size", allocated}, {"active_size", active}, {"requested_size", requested}} {
		if got := field[int64](c, g, what, total.key); got != total.want {
			c.faultf("%s: %s is %d, the blocks sum to %d", what, total.key, got, total.want)
		}
	}
}

// trace replays a trace backwards, as the viewer's state history does.
func (c *checker) trace(l *List, what string, dev *device) {
	for i := len(l.Items) - 1; i >= 0; i-- {
		what := fmt.Sprintf("%s, event %d", what, i)
		e, ok := l.Items[i].(*Dict)
		if !ok {
			c.faultf("%s is %T", what, l.Items[i])
			continue
		}
		c.frames(e, what)
		if v, ok := e.Items["category"]; ok {
			name, ok := v.(string)
			if !ok {
				c.faultf("%s: category is %T", what, v)
			}
			c.categories[name] = true
		}
		if v, ok := e.Items["time_us"]; ok {
			if _, ok := v.(int64); !ok {
				c.faultf("%s: time_us is %T", what, v)
			}
		}
		action := field[string](c, e, what, "action")
		s := span{size: field[int64](c, e, what, "size")}
		field[int64](c, e, what, "stream")
		if action == "oom" {
			field[int64](c, e, what, "device_free")
			continue
		}
		s.addr = field[int64](c, e, what, "addr")
		c.undo(action, s, what, dev)
	}
}

func (c *checker) undo(action string, s span, what string, dev *device) {
	inSegment := func() {
		if !slices.ContainsFunc(dev.segments, func(g span) bool { return g.contains(s) }) {
			c.faultf("%s: %s of %d bytes at %#x lies in no segment of that moment", what, action, s.size, s.addr)
		}
	}
	state := dev.blocks[s.addr]
	switch action {
	case "alloc":
		inSegment()
		if state != "active_allocated" {
			c.faultf("%s: alloc at %#x, whose block is then %q", what, s.addr, state)
		}
		delete(dev.blocks, s.addr)
	case "free_requested":
		inSegment()
		if state != "active_pending_free" {
			c.faultf("%s: free_requested at %#x, whose block is then %q", what, s.addr, state)
		}
		dev.blocks[s.addr] = "active_allocated"
	case "free_completed":
		inSegment()
		if state != "" {
			c.faultf("%s: free_completed at %#x, whose block is then %q", what, s.addr, state)
		}
		dev.blocks[s.addr] = "active_pending_free"
	case "segment_alloc", "segment_map":
		c.unmap(s, what, dev)
	case "segment_free", "segment_unmap":
		dev.segments = append(dev.segments, s)
	}
}

// unmap takes a span out of the segments, which for an expandable one may be a
// part.
func (c *checker) unmap(s span, what string, dev *device) {
	for i, g := range dev.segments {
		if !g.contains(s) {
			continue
		}
		dev.segments = slices.Delete(dev.segments, i, i+1)
		if before := s.addr - g.addr; before > 0 {
			dev.segments = append(dev.segments, span{g.addr, before})
		}
		if after := g.addr + g.size - s.addr - s.size; after > 0 {
			dev.segments = append(dev.segments, span{s.addr + s.size, after})
		}
		return
	}
	c.faultf("%s: the segment of %d bytes at %#x is not there", what, s.size, s.addr)
}
