package snapshot

import "iter"

// Action is what an event of a trace records.
type Action uint8

// PyTorch's actions. What Size means depends on them.
const (
	OtherAction   Action = iota // one this package does not know, see Class.Name
	Alloc                       // a block was handed out; Size is what was asked for
	FreeRequested               // its holder dropped it
	FreeCompleted               // it is back in the pool
	Free                        // both at once
	SegmentAlloc                // a segment was allocated from the driver
	SegmentFree                 // and given back
	SegmentMap                  // pages were mapped in an expandable segment
	SegmentUnmap                // and given back
	TakeSnapshot                // a snapshot was taken; Size is what was active
	OutOfMemory                 // a request failed; Size is what was asked for
	Annotate                    // the user marked a block (Addr) or the moment (Addr 0)
	numActions
)

var actionNames = [numActions]string{
	"", "alloc", "free_requested", "free_completed", "free", "segment_alloc", "segment_free",
	"segment_map", "segment_unmap", "snapshot", "oom", "annotate",
}

// String returns PyTorch's name of the action.
func (a Action) String() string { return actionNames[a] }

// Event is one entry of a trace.
type Event struct {
	Addr  uint64 // of the block or segment; for OutOfMemory, what the driver said is free, in bytes
	Size  uint64 // bytes
	Time  int64  // microseconds since the Unix epoch; 0 where the file has no times
	Stack StackID
	Class ClassID
}

// Class is what many events have in common.
type Class struct {
	Action   Action
	Name     StringID // the action's name where it is OtherAction
	Stream   uint64
	Pool     [2]int64
	HasPool  bool // older files do not say which pool an event is of
	Context  StringID
	Metadata StringID // what the user or the library said of the block
	Category StringID // the kind of memory
}

// ClassID stands for a [Class] in one snapshot.
type ClassID uint32

// Class returns what an event's class says.
func (s *Snapshot) Class(id ClassID) *Class {
	if int(id) >= len(s.classes.list) {
		id = 0
	}
	return &s.classes.list[id]
}

// Action returns the action of an event's class.
func (s *Snapshot) Action(id ClassID) Action { return s.Class(id).Action }

// ClassOf interns a class.
func (s *Snapshot) ClassOf(c Class) ClassID { return s.classes.intern(c) }

// NumClasses returns how many classes there are; their ids are below.
func (s *Snapshot) NumClasses() int { return len(s.classes.list) }

// classTable interns classes. Traces alternate between a few, hence the cache.
type classTable struct {
	list  []Class
	ids   map[Class]ClassID
	cache [256]ClassID
}

func (t *classTable) init() {
	t.ids = map[Class]ClassID{{}: 0}
	t.list = []Class{{}}
}

func (t *classTable) intern(c Class) ClassID {
	slot := &t.cache[(uint32(c.Action)+uint32(c.Stream)*13+uint32(c.Category)*31+uint32(c.Metadata)*61)%256]
	if t.list[*slot] == c {
		return *slot
	}
	id, ok := t.ids[c]
	if !ok {
		id = ClassID(len(t.list))
		t.list = append(t.list, c)
		t.ids[c] = id
	}
	*slot = id
	return id
}

// chunkEvents is how many events lie together. Columns grow by whole chunks, so
// that a long trace is never copied to make it longer.
const chunkEvents = 4096

type eventChunk struct {
	addr, size [chunkEvents]uint64
	time       [chunkEvents]int64
	stack      [chunkEvents]StackID
	class      [chunkEvents]ClassID
}

type eventTable struct {
	chunks []*eventChunk
	n      int
}

func (t *eventTable) append(e Event) {
	if t.n%chunkEvents == 0 {
		t.chunks = append(t.chunks, new(eventChunk))
	}
	t.n++
	t.set(t.n-1, e)
}

func (t *eventTable) set(i int, e Event) {
	c, k := t.chunks[i/chunkEvents], i%chunkEvents
	c.addr[k], c.size[k], c.time[k], c.stack[k], c.class[k] = e.Addr, e.Size, e.Time, e.Stack, e.Class
}

func (t *eventTable) at(i int) Event {
	c, k := t.chunks[i/chunkEvents], i%chunkEvents
	return Event{Addr: c.addr[k], Size: c.size[k], Time: c.time[k], Stack: c.stack[k], Class: c.class[k]}
}

// Trace is the events of one device, oldest first. The zero value is empty.
type Trace struct {
	table    *eventTable
	first, n int
}

// Len returns the number of events.
func (t *Trace) Len() int { return t.n }

// At returns the ith event, 0 <= i < Len.
func (t *Trace) At(i int) Event {
	if uint(i) >= uint(t.n) {
		panic("snapshot: no such event")
	}
	return t.table.at(t.first + i)
}

// All yields the events with their indices.
func (t *Trace) All() iter.Seq2[int, Event] { return t.Range(0, t.n) }

// Range yields the events from one index to another, the latter excluded.
func (t *Trace) Range(from, to int) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		for i := max(from, 0); i < min(to, t.n); i++ {
			if !yield(i, t.table.at(t.first+i)) {
				return
			}
		}
	}
}

// Append adds an event at the end. The trace must be one built by Append.
func (t *Trace) Append(e Event) {
	if t.table == nil {
		t.table = &eventTable{}
	}
	if t.first+t.n != t.table.n {
		panic("snapshot: Append to a part of a trace")
	}
	t.table.append(e)
	t.n++
}

// Part returns the events from one index to another, the latter excluded. It
// shares them with the trace and cannot be appended to.
func (t *Trace) Part(from, to int) Trace {
	from, to = max(from, 0), min(to, t.n)
	return Trace{table: t.table, first: t.first + from, n: max(to-from, 0)}
}
