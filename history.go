package ebb

import (
	varint "encoding/binary" // binary is a function of this package
	"slices"
	"time"

	"github.com/ebb-ml/ebb/internal/site"
)

// DefaultHistory is how many events [Runtime.RecordHistory] keeps if it is told
// no number: 40 MiB of them.
const DefaultHistory = 1 << 20

// RecordHistory records from now on every allocation and free, every segment
// mapped and unmapped, every request that failed and every [Runtime.Mark], each
// with its time, call stack, kind, owner, module, operation, type and shape. It
// starts anew if it was on. It is torch.cuda.memory._record_memory_history.
//
// The last so many events are kept (0 or less: [DefaultHistory]), 40 bytes each,
// and the descriptions they share, at most 24 MiB; older ones are dropped, which
// [Runtime.History] tells. Recording costs a fraction of a microsecond an event.
func (rt *Runtime) RecordHistory(events int) {
	co := rt.core
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.closed {
		return
	}
	co.stopHistory()
	if events <= 0 {
		events = DefaultHistory
	}
	h := newRecorder(events, co.events)
	co.history = h
	co.alloc.Observe(h.segment)
}

// StopHistory ends the recording and drops what was recorded. Nothing of it is
// left behind: [HistoryState.Hooks] is 0, and an allocation costs what it did.
func (rt *Runtime) StopHistory() {
	rt.core.mu.Lock()
	defer rt.core.mu.Unlock()
	rt.core.stopHistory()
}

func (co *core) stopHistory() {
	if co.history != nil {
		co.events = co.history.next
		co.history = nil
		co.alloc.Observe(nil)
	}
}

// Mark puts a mark into the history, if there is one: what the program began
// then. A loop whose marks count ("step 7") is found by them.
func (rt *Runtime) Mark(text string) {
	at := site.Here(1)
	rt.core.mu.Lock()
	defer rt.core.mu.Unlock()
	if h := rt.core.history; h != nil {
		h.marks[h.add(event{action: eventMark, stack: h.stackOf(at)})] = text
	}
}

// HistoryState says what is recorded.
type HistoryState struct {
	On      bool
	Since   time.Time // when recording began
	Events  int       // in the history now
	Max     int       // its bound
	Dropped int64     // older ones, dropped for newer
	Hooks   int       // what records: 2 if it is on, 0 if off
}

// History says whether a history is recorded, and of how many events.
func (rt *Runtime) History() HistoryState {
	co := rt.core
	co.mu.Lock()
	defer co.mu.Unlock()
	var s HistoryState
	if co.alloc.Observed() {
		s.Hooks++
	}
	if h := co.history; h != nil {
		s.Hooks++
		s.On, s.Since, s.Events, s.Max = true, timeOf(h.began), h.len(), h.max
		s.Dropped = int64(h.next-h.base) - int64(s.Events)
	}
	return s
}

// clockEvery is how many allocations may pass before core.clock is set.
const clockEvery = 64

var clockStart = time.Now()

// sinceStart is a clock in nanoseconds that never goes backward.
func sinceStart() int64 { return int64(time.Since(clockStart)) }

func timeOf(clock int64) time.Time { return clockStart.Add(time.Duration(clock)) }

// action is what an event records.
type action uint8

const (
	eventAlloc action = iota
	eventFree
	eventMap
	eventUnmap
	eventFailed // a request, for lack of memory
	eventMark
)

// event is an entry of the history. It holds no pointers, so the collector does
// not look at a million of them.
type event struct {
	time   int64  // sinceStart
	addr   uint64 // of the block or segment; of a failed request, what the limit still allowed, in bytes
	bytes  int64  // asked for; of a segment its size
	stack  uint32 // in recorder.stacks
	label  uint32 // in recorder.labels
	action action
	slack  uint8 // what rounding added to bytes
}

// label is what events have in common.
type label struct {
	kind              Kind
	dtype             DType
	bytes             bool  // it is for plain bytes, without type and shape
	shape             []int // nil: not kept
	op, module, owner string
}

// equal compares labels; the same text is mostly the same string.
func (l *label) equal(m *label) bool {
	return l.kind == m.kind && l.dtype == m.dtype && l.bytes == m.bytes && l.op == m.op && l.module == m.module && l.owner == m.owner &&
		slices.Equal(l.shape, m.shape)
}

// labelFor describes a storage that lies in an owner.
func labelFor(st *storage, o *owner) label {
	l := label{kind: st.kind, op: st.op, module: st.module, bytes: st.layout == nil}
	if !l.bytes {
		l.dtype, l.shape = st.layout.dtype, st.layout.shape
	}
	if o != nil {
		l.owner = o.fullName()
	}
	return l
}

const (
	eventChunk = 1 << 13
	maxLabels  = 1 << 16 // kept in full; further ones lose shape and owner, and at last all but the kind
)

// recorder is a runtime's history, a ring of events. It is guarded by core.mu.
type recorder struct {
	began      int64
	max        int
	base, next uint64 // numbers of the first event recorded and of the next
	peakFrom   uint64 // ResetPeak came before this event
	chunks     [][]event
	at         *site.Stack // of the call that allocates, for the segments it maps

	stacks   []*site.Stack
	stackIDs map[*site.Stack]uint32
	last     []uint32 // by stack: the label it was last seen with
	labels   []label
	labelIDs map[string]uint32
	key      []byte
	marks    map[uint64]string // by the number of their event
}

func newRecorder(events int, first uint64) *recorder {
	h := &recorder{
		began: sinceStart(), max: events, base: max(first, 1), next: max(first, 1), peakFrom: max(first, 1),
		stacks: []*site.Stack{nil}, stackIDs: map[*site.Stack]uint32{nil: 0}, last: []uint32{0},
		labelIDs: map[string]uint32{}, marks: map[uint64]string{},
	}
	for k := range kindNames { // so that the label of a kind is its number
		h.labels = append(h.labels, label{kind: Kind(k), bytes: true})
	}
	return h
}

// len returns how many events there are.
func (h *recorder) len() int { return int(min(h.next-h.base, uint64(h.max))) }

// has reports whether the event of a number is still there.
func (h *recorder) has(number uint64) bool {
	return number >= h.base && number < h.next && h.next-number <= uint64(h.max)
}

// event returns the event of a number that the history has, or is about to.
func (h *recorder) event(number uint64) *event {
	i := int((number - h.base) % uint64(h.max))
	return &h.chunks[i/eventChunk][i%eventChunk]
}

// add appends an event and returns its number.
func (h *recorder) add(e event) uint64 {
	if i := int(h.next - h.base); i < h.max && i%eventChunk == 0 {
		h.chunks = append(h.chunks, make([]event, min(eventChunk, h.max-i)))
	}
	e.time = sinceStart()
	number := h.next
	slot := h.event(number)
	if slot.action == eventMark && number-h.base >= uint64(h.max) {
		delete(h.marks, number-uint64(h.max))
	}
	*slot = e
	h.next++
	return number
}

func (h *recorder) stackOf(s *site.Stack) uint32 {
	id, ok := h.stackIDs[s]
	if !ok {
		id = uint32(len(h.stacks))
		h.stacks = append(h.stacks, s)
		h.last = append(h.last, 0)
		h.stackIDs[s] = id
	}
	return id
}

// labelOf interns a label. A line mostly makes the same again and again, so the
// stack's last label is tried first.
func (h *recorder) labelOf(l label, stack uint32) uint32 {
	if last := h.last[stack]; h.labels[last].equal(&l) {
		return last
	}
	id, ok := h.intern(&l, maxLabels)
	if !ok {
		l.shape, l.owner = nil, ""
		if id, ok = h.intern(&l, maxLabels+maxLabels/4); !ok {
			id = uint32(l.kind)
		}
	}
	h.last[stack] = id
	return id
}

func (h *recorder) intern(l *label, limit int) (uint32, bool) {
	k := append(h.key[:0], byte(l.kind), byte(l.dtype), byte(len(l.shape)))
	if l.bytes {
		k[1] = 0xff
	}
	for _, n := range l.shape {
		k = varint.AppendUvarint(k, uint64(n))
	}
	for _, text := range [...]string{l.op, l.module, l.owner} {
		k = append(varint.AppendUvarint(k, uint64(len(text))), text...)
	}
	h.key = k
	id, ok := h.labelIDs[string(k)]
	if ok || len(h.labels) >= limit {
		return id, ok
	}
	id = uint32(len(h.labels))
	kept := *l
	kept.shape = slices.Clone(l.shape) // the tensor's own would keep its handle
	h.labels = append(h.labels, kept)
	h.labelIDs[string(k)] = id
	return id, true
}

// alloc records that st was allocated for an owner.
func (h *recorder) alloc(co *core, st *storage, o *owner) {
	stack := h.stackOf(st.site)
	st.label = h.labelOf(labelFor(st, o), stack)
	st.event = h.add(event{action: eventAlloc, addr: st.blk.Addr(), bytes: st.bytes, stack: stack, label: st.label,
		slack: uint8(int64(st.blk.Size()) - st.bytes)})
	co.clock = h.event(st.event).time
	st.born = co.clock
}

// recorded reports whether st's allocation was recorded, be it dropped since.
func (h *recorder) recorded(st *storage) bool { return st.event >= h.base }

// free records that st is freed.
func (h *recorder) free(st *storage) {
	stack := h.stackOf(st.site)
	if !h.recorded(st) {
		st.label = h.labelOf(labelFor(st, nil), stack)
	}
	h.add(event{action: eventFree, addr: st.blk.Addr(), bytes: st.bytes, stack: stack, label: st.label,
		slack: uint8(int64(st.blk.Size()) - st.bytes)})
}

// relabel changes what is known of st, from its allocation on.
func (h *recorder) relabel(st *storage, change func(l *label)) {
	if !h.recorded(st) {
		return
	}
	l := h.labels[st.label]
	change(&l)
	st.label = h.labelOf(l, h.stackOf(st.site))
	if h.has(st.event) {
		h.event(st.event).label = st.label
	}
}

// segment records a mapping made or ended.
func (h *recorder) segment(addr, size uint64, mapped bool) {
	e := event{action: eventUnmap, addr: addr, bytes: int64(size)}
	if mapped {
		e.action = eventMap
	}
	e.stack = h.stackOf(h.at)
	h.add(e)
}

// outOfMemory records that there is no memory for st.
func (h *recorder) outOfMemory(co *core, st *storage, o *owner) {
	stack := h.stackOf(st.site)
	e := event{action: eventFailed, bytes: st.bytes, stack: stack, label: h.labelOf(labelFor(st, o), stack)}
	if s := co.alloc.Stats(); co.limit > s.Mapped {
		e.addr = uint64(co.limit - s.Mapped)
	}
	h.add(e)
}
