package snapshot

import (
	"errors"
	"math"
)

// The keys a snapshot has, interned first so that their ids are these numbers.
const (
	_ StringID = iota
	kAction
	kAddr
	kAddress
	kSize
	kTotalSize
	kRequestedSize
	kRealSize
	kState
	kStream
	kTimeUs
	kFrames
	kFilename
	kLine
	kName
	kBlocks
	kHistory
	kDevice
	kSegmentType
	kSegmentPoolID
	kPoolID
	kIsExpandable
	kDeviceFree
	kCompileContext
	kUserMetadata
	kCategory
	kSegments
	kDeviceTraces
	kTraces
	kSettings
	kAnnotations
	kHostSegments
	kHostTraces
	kMaxEntries
	kOverflowed
	kStage
	kStart
	kSmall
	kActive
	kPending
	kAwaiting
	kAllocatedSize
	kActiveSize
	kFirstAction // the actions follow in order
)

var keyNames = [kFirstAction]string{
	"", "action", "addr", "address", "size", "total_size", "requested_size", "real_size", "state", "stream",
	"time_us", "frames", "filename", "line", "name", "blocks", "history", "device", "segment_type",
	"segment_pool_id", "pool_id", "is_expandable", "device_free", "compile_context", "user_metadata",
	"category", "segments", "device_traces", "traces", "allocator_settings", "external_annotations",
	"host_segments", "host_traces", "trace_alloc_max_entries", "trace_alloc_overflowed", "stage", "START",
	"small", "active_allocated", "active_pending_free", "active_awaiting_free", "allocated_size", "active_size",
}

// Bounds on what one file may make the reader keep. A dump of 100 M events stays
// far below.
const (
	maxObjects = 1 << 28
	maxDepth   = 10_000   // open lists and dicts
	maxOpen    = 32 << 20 // values of lists and dicts that are not complete
)

var (
	errObjects = errors.New("it has too many objects")
	errDepth   = errors.New("lists are nested too deep")
	errOpen    = errors.New("a list or dict goes on without end")
)

// builder turns the lists and dicts of a file into records as they are
// completed. What it keeps of a dict is its kind and an index: a dict that
// records an event goes straight into the event columns.
type builder struct {
	s        *Snapshot
	objects  words // of lists and dicts: record kind in the upper 4 bits, index in the rest
	lists    []list
	plain    [][]value // keys and values in turns
	events   eventTable
	blocks   []blockRecord
	segments []segmentRecord
	uses     []blockRecord
	wide     []wideInt
	floats   []float64
	scratch  []FrameID
	texts    map[value]StringID // of metadata that is no string
}

type wideInt struct {
	bits     uint64 // two's complement
	negative bool
}

type blockRecord struct {
	Block
	hasAddr bool
}

type segmentRecord struct {
	Segment
	device    int64
	blocks    value
	taken     bool
	declared  [3]uint64 // allocated, active and requested bytes as the file states them
	hasTotals bool
}

func newBuilder() *builder {
	b := &builder{s: New(), texts: map[value]StringID{}}
	for _, name := range keyNames {
		b.s.Intern(name)
	}
	for _, name := range actionNames[1:] {
		b.s.Intern(name)
	}
	return b
}

// object makes an empty list (vList) or dict (vDict).
func (b *builder) object(kind value) (value, error) {
	if b.objects.n >= maxObjects {
		return 0, errObjects
	}
	b.objects.append(0)
	return kind | value(b.objects.n-1), nil
}

const recordShift = 28

func (b *builder) record(object value) value {
	word := b.objects.at(object.index())
	return value(word>>recordShift)<<kindShift | value(word&(1<<recordShift-1))
}

func (b *builder) setRecord(object, record value) {
	b.objects.set(object.index(), uint32(record>>kindShift)<<recordShift|uint32(record.index()))
}

// resolve returns what a dict turned out to be.
func (b *builder) resolve(v value) value {
	if v.kind() == vDict {
		if r := b.record(v); r != 0 {
			return r
		}
	}
	return v
}

// list returns the items of a list; nil for anything else and for an empty one.
func (b *builder) list(v value) *list {
	if v.kind() != vList {
		return nil
	}
	if r := b.record(v); r != 0 {
		return &b.lists[r.index()]
	}
	return nil
}

// append adds values to a list.
func (b *builder) append(to value, items []value) error {
	if len(items) == 0 {
		return nil
	}
	r := b.record(to)
	if r == 0 {
		if len(b.lists) >= maxObjects {
			return errObjects
		}
		b.lists = append(b.lists, list{})
		r = vList | value(len(b.lists)-1)
		b.setRecord(to, r)
	}
	l := &b.lists[r.index()]
	for _, v := range items {
		l.append(b.resolve(v))
	}
	return nil
}

// tuple makes a tuple of values.
func (b *builder) tuple(items []value) (value, error) {
	if len(items) == 2 && items[0].kind() == vInt && items[1].kind() == vInt {
		if v, ok := pairValue(items[0].int(), items[1].int()); ok {
			return v, nil
		}
	}
	t, err := b.object(vList)
	if err != nil {
		return 0, err
	}
	return t, b.append(t, items)
}

// set adds keys and values, in turns, to a dict.
func (b *builder) set(dict value, items []value) error {
	r := b.record(dict)
	if r == 0 || r.kind() == vPlain {
		kind := classify(items)
		if kind == vPlain {
			return b.setPlain(dict, r, items)
		}
		if r != 0 { // the keys before the one that tells come along
			items = append(b.plain[r.index()], items...)
		}
		var err error
		if r, err = b.makeRecord(kind); err != nil {
			return err
		}
		if kind != vFrame {
			b.setRecord(dict, r)
		}
	}
	switch r.kind() {
	case vEvent:
		b.setEvent(r.index(), items)
	case vFrame:
		b.setFrame(dict, items)
	case vBlock:
		b.setBlock(&b.blocks[r.index()], items)
	case vUse:
		b.setBlock(&b.uses[r.index()], items)
	case vSegment:
		b.setSegment(&b.segments[r.index()], items)
	}
	return nil
}

// classify tells from its keys what a dict is.
func classify(items []value) value {
	for i := 0; i+1 < len(items); i += 2 {
		switch items[i] {
		case vString | value(kAction):
			return vEvent
		case vString | value(kFilename):
			return vFrame
		case vString | value(kState):
			return vBlock
		case vString | value(kBlocks), vString | value(kTotalSize):
			return vSegment
		case vString | value(kRealSize):
			return vUse
		}
	}
	return vPlain
}

func (b *builder) setPlain(dict, r value, items []value) error {
	if r == 0 {
		if len(b.plain) >= maxObjects {
			return errObjects
		}
		b.plain = append(b.plain, nil)
		r = vPlain | value(len(b.plain)-1)
		b.setRecord(dict, r)
	}
	b.plain[r.index()] = append(b.plain[r.index()], items...)
	return nil
}

func (b *builder) makeRecord(kind value) (value, error) {
	var n int
	switch kind {
	case vEvent:
		n = b.events.n
		b.events.append(Event{})
	case vBlock:
		n = len(b.blocks)
		b.blocks = append(b.blocks, blockRecord{})
	case vUse:
		n = len(b.uses)
		b.uses = append(b.uses, blockRecord{})
	case vSegment:
		n = len(b.segments)
		b.segments = append(b.segments, segmentRecord{})
	}
	if n >= maxObjects {
		return 0, errObjects
	}
	return kind | value(n), nil
}

func (b *builder) setEvent(index int, items []value) {
	e := b.events.at(index)
	c := *b.s.Class(e.Class)
	var free value
	for i := 0; i+1 < len(items); i += 2 {
		key, v := items[i], items[i+1]
		if key.kind() != vString {
			continue
		}
		switch StringID(key.index()) {
		case kAction:
			c.Action, c.Name = OtherAction, 0
			if v.kind() == vString {
				c.Name = StringID(v.index())
				if a := c.Name - kFirstAction; c.Name >= kFirstAction && a < StringID(numActions)-1 {
					c.Action, c.Name = Action(a)+1, 0
				}
			}
		case kAddr:
			e.Addr = b.uint(v)
		case kDeviceFree:
			free = v
		case kSize:
			e.Size = b.uint(v)
		case kStream:
			c.Stream = b.uint(v)
		case kTimeUs:
			e.Time = int64(b.uint(v))
		case kFrames:
			e.Stack = b.stack(v)
		case kCompileContext:
			if c.Context = b.text(v); b.s.String(c.Context) == "N/A" {
				c.Context = 0
			}
		case kUserMetadata:
			c.Metadata = b.text(v)
		case kCategory:
			c.Category = b.text(v)
		case kPoolID, kSegmentPoolID:
			c.Pool, c.HasPool = b.pair(v)
		}
	}
	if c.Action == OutOfMemory && free != 0 {
		e.Addr = b.uint(free)
	}
	e.Class = b.s.classes.intern(c)
	b.events.set(index, e)
}

func (b *builder) setFrame(dict value, items []value) {
	var f Frame
	if r := b.record(dict); r.kind() == vFrame {
		f = b.s.Frame(FrameID(r.index()))
	}
	for i := 0; i+1 < len(items); i += 2 {
		key, v := items[i], items[i+1]
		switch key {
		case vString | value(kFilename):
			f.File = b.text(v)
		case vString | value(kName):
			f.Name = b.text(v)
		case vString | value(kLine):
			f.Line = int32(min(b.uint(v), math.MaxInt32))
		}
	}
	b.setRecord(dict, vFrame|value(b.s.frames.intern(f)))
}

func (b *builder) setBlock(k *blockRecord, items []value) {
	for i := 0; i+1 < len(items); i += 2 {
		key, v := items[i], items[i+1]
		if key.kind() != vString {
			continue
		}
		switch StringID(key.index()) {
		case kAddress, kAddr:
			k.Addr, k.hasAddr = b.uint(v), true
		case kSize:
			k.Size = b.uint(v)
		case kRequestedSize, kRealSize:
			k.Requested = b.uint(v)
		case kState:
			switch v {
			case vString | value(kActive):
				k.State = Allocated
			case vString | value(kPending), vString | value(kAwaiting):
				k.State = PendingFree
			default:
				k.State = Inactive
			}
		case kFrames:
			k.Stack = b.stack(v)
		case kHistory: // the first entry is the present use
			if l := b.list(v); l != nil {
				if use := b.resolve(l.runs[0].first); use.kind() == vUse {
					k.Requested, k.Stack = b.uses[use.index()].Requested, b.uses[use.index()].Stack
				}
			}
		case kCategory:
			k.Category = b.text(v)
		case kUserMetadata:
			k.Metadata = b.text(v)
		}
	}
}

func (b *builder) setSegment(g *segmentRecord, items []value) {
	for i := 0; i+1 < len(items); i += 2 {
		key, v := items[i], items[i+1]
		if key.kind() != vString {
			continue
		}
		switch StringID(key.index()) {
		case kDevice:
			g.device = int64(b.uint(v))
		case kAddress:
			g.Addr = b.uint(v)
		case kTotalSize:
			g.Size = b.uint(v)
		case kAllocatedSize:
			g.declared[0], g.hasTotals = b.uint(v), true
		case kActiveSize:
			g.declared[1] = b.uint(v)
		case kRequestedSize:
			g.declared[2] = b.uint(v)
		case kStream:
			g.Stream = b.uint(v)
		case kSegmentType:
			g.Small = v == vString|value(kSmall)
		case kSegmentPoolID:
			g.Pool, _ = b.pair(v)
		case kIsExpandable:
			g.Expandable = b.uint(v) != 0
		case kFrames:
			g.Stack = b.stack(v)
		case kBlocks:
			g.blocks = v
		}
	}
}

// stack interns a list of frames. The work is done once for each list, however
// often the file refers to it.
func (b *builder) stack(v value) StackID {
	l := b.list(v)
	if l == nil {
		return 0
	}
	if !l.known {
		l.known = true
		b.scratch = b.scratch[:0]
		l.each(func(v value) bool {
			if v = b.resolve(v); v.kind() == vFrame {
				b.scratch = append(b.scratch, FrameID(v.index()))
			}
			return len(b.scratch) < maxStack
		})
		l.stack = b.s.stacks.intern(b.scratch)
	}
	return l.stack
}

// uint returns a number as 64 bits; negative ones in two's complement, since
// some writers cast addresses to signed numbers. Anything else is 0.
func (b *builder) uint(v value) uint64 {
	switch v.kind() {
	case vBool, vInt:
		return uint64(v.int())
	case vWide:
		return b.wide[v.index()].bits
	case vFloat:
		if f := b.floats[v.index()]; f >= 0 && f < 1<<63 {
			return uint64(f)
		}
	}
	return 0
}

func (b *builder) number(n int64) value {
	v, ok := intValue(n)
	if !ok {
		b.wide = append(b.wide, wideInt{uint64(n), n < 0})
		return vWide | value(len(b.wide)-1)
	}
	return v
}

func (b *builder) float(f float64) value {
	b.floats = append(b.floats, f)
	return vFloat | value(len(b.floats)-1)
}

// pair returns a pool's id.
func (b *builder) pair(v value) (p [2]int64, ok bool) {
	if v.kind() == vPair {
		return v.pair(), true
	}
	n := 0
	if l := b.list(v); l != nil {
		l.each(func(v value) bool {
			if n < 2 {
				p[n] = int64(b.uint(v))
			}
			n++
			return n < 3
		})
	}
	return p, n == 2
}
