package ebb

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/alloc"
	"github.com/ebb-ml/ebb/internal/site"
)

// storage is one block of memory off the Go heap. It is freed when the last
// of those who count it is gone: records in owners, saved tensors of graph
// nodes, and calls that run on it (leases). All fields are guarded by
// core.mu, except that a lease's holder may read data.
type storage struct {
	blk      *alloc.Block
	data     unsafe.Pointer // blk's memory
	bytes    int64          // asked for
	refs     int32
	kind     Kind
	version  uint32      // in-place operations so far
	modified *site.Stack // the last of them
	site     *site.Stack // where it was allocated
	op       string
	module   string
	layout   *layout // what it was allocated for; nil: bytes
	number   int64   // of the allocation, from 1
	born     int64   // when, by core.clock
	event    uint64  // in the history: its allocation's number; 0: in none
	label    uint32  // in the history; of meaning if event is
}

// shape returns the shape of what st was allocated for.
func (st *storage) shape() []int {
	if st.layout == nil {
		return []int{int(st.bytes)}
	}
	return append([]int{}, st.layout.shape...)
}

// dtype returns the type of what st was allocated for.
func (st *storage) dtype() DType {
	if st.layout == nil {
		return Uint8
	}
	return st.layout.dtype
}

// record is a storage's entry in one owner. Tensors hold records, never
// storage: a released record is nowhere, and says where it was released. A
// record outside every owner belongs to a graph node (a saved tensor that its
// gradient rule looks at).
//
// A record is garbage when its handles are, which only Go's collector knows, so
// it is small. What a record has while it lives is its place, and is reused.
type record struct {
	*place
	core      *core
	allocated *site.Stack
	released  *site.Stack
	meta      meta
	graphs    uint32 // in-place operations that changed the graph; older views are re-derived
	given     int32  // gradients on their way during Backward
}

// place is where a living record is. Under core.mu only, since it may be
// another record's place the moment after.
type place struct {
	st         *storage
	owner      *owner // nil for saved tensors
	prev, next *place
	rec        *record
	node       *node   // the graph node the data come from; counted
	base       *meta   // see state; nil: rec's own
	layout     *layout // that tensor's layout
	kept       bool    // during Recycle
}

// nowhere is the place of every released record. It is never written.
var nowhere place

// state returns the gradient state of the tensor that views look at. The caller
// holds mu.
func (r *record) state() *meta {
	if r.base != nil {
		return r.base
	}
	return &r.meta
}

// settle gives r a place of its own, in no owner yet. The caller holds mu.
func (co *core) settle(r *record, st *storage, l *layout, allocated *site.Stack) {
	var p *place
	if n := len(co.places); n > 0 {
		p, co.places = co.places[n-1], co.places[:n-1]
	} else {
		p = new(place)
	}
	p.st, p.layout, p.rec = st, l, r
	r.place, r.core, r.allocated = p, co, allocated
}

// leave takes r's place away, at a site. The caller holds mu.
func (co *core) leave(r *record, at *site.Stack) {
	p := r.place
	r.place, r.released = &nowhere, at
	// What is left in p leads to nothing a user could have.
	p.rec = nil
	if p.node != nil {
		p.node = nil
	}
	if p.base != nil {
		p.base, p.layout = nil, nil
	}
	if len(co.places) < maxSpare {
		co.places = append(co.places, p)
	} else {
		*p = place{} // or those that are kept would hold a chain of them
	}
}

// reuse keeps a released record, which nobody refers to any more, for another
// tensor. The caller holds mu.
func (co *core) reuse(r *record) {
	*r = record{}
	if len(co.unused) < maxSpare {
		co.unused = append(co.unused, r)
	}
}

// newStorage allocates for a call. The caller holds core.mu.
func (co *core) newStorage(c *call, bytes int64, kind Kind, l *layout) (*storage, *Error) {
	if co.closed {
		return nil, co.closedError(c.op.name)
	}
	var st *storage
	if n := len(co.spare); n > 0 {
		st, co.spare = co.spare[n-1], co.spare[:n-1]
	} else {
		st = new(storage)
	}
	st.bytes, st.refs, st.kind, st.version = bytes, 1, kind, 0
	st.site, st.op, st.module, st.layout = c.site, c.op.name, c.module(), l
	h := co.history
	if h != nil {
		h.at = c.site
	}
	blk, err := co.alloc.Alloc(int(bytes))
	if err != nil {
		if h != nil {
			h.outOfMemory(co, st, c.target)
		}
		return nil, co.outOfMemory(st, c, err)
	}
	st.blk, st.data = blk, blk.Pointer()
	co.live.add(bytes)
	co.byKind[kind].add(bytes)
	co.made++
	if co.made%clockEvery == 0 {
		co.clock = sinceStart()
	}
	st.number, st.born, st.event = co.made, co.clock, 0
	if h != nil {
		h.alloc(co, st, c.target)
	}
	return st, nil
}

// maxSpare bounds the records of freed storages that are kept for reuse.
const maxSpare = 1024

// dropStorage gives back one count of st. The caller holds core.mu.
func (co *core) dropStorage(st *storage) {
	st.refs--
	if st.refs > 0 {
		return
	}
	if st.refs < 0 {
		panic("ebb: internal error: storage released twice")
	}
	co.live.sub(st.bytes)
	co.byKind[st.kind].sub(st.bytes)
	if co.history != nil {
		co.history.free(st)
	}
	co.alloc.Free(st.blk)
	st.data = nil
	if len(co.spare) < maxSpare {
		co.spare = append(co.spare, st)
	}
}

// setKind moves st's bytes to another kind. The caller holds core.mu.
func (co *core) setKind(st *storage, k Kind) {
	if st.kind == k {
		return
	}
	co.byKind[st.kind].sub(st.bytes)
	co.byKind[k].add(st.bytes)
	st.kind = k
	if co.history != nil {
		co.history.relabel(st, func(l *label) { l.kind = k })
	}
}

// release ends a record's life at a site. The caller holds mu.
func (co *core) release(r *record, at *site.Stack) {
	st, n := r.st, r.node
	if st == nil {
		return
	}
	if r.owner != nil {
		r.owner.records.remove(r.place)
		co.records--
	}
	co.leave(r, at)
	co.dropStorage(st)
	if n != nil {
		co.dropNode(n)
	}
}

// enter puts a living record into an owner. The caller holds core.mu.
func (co *core) enter(r *record, o *owner) {
	r.owner = o
	o.records.push(r.place)
	co.records++
}

// transfer moves a live record, graph and all, into another owner. The
// caller holds core.mu.
func (co *core) transfer(r *record, o *owner) {
	r.owner.records.remove(r.place)
	r.owner = o
	o.records.push(r.place)
	if co.history != nil {
		co.history.relabel(r.st, func(l *label) { l.owner = o.fullName() })
	}
}

// recordList is a doubly linked list of records by their places, oldest first.
type recordList struct{ first, last *place }

func (l *recordList) push(p *place) {
	p.prev, p.next = l.last, nil
	if l.last != nil {
		l.last.next = p
	} else {
		l.first = p
	}
	l.last = p
}

// remove takes p out, whose links are of no meaning then.
func (l *recordList) remove(p *place) {
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		l.first = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		l.last = p.prev
	}
}
