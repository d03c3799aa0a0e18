package ebb

import (
	"sync"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/site"
)

// call is one application of an operation, from the check of its operands to
// the results. The dispatcher recycles calls; nothing keeps one.
type call struct {
	op      *opdef
	attrs   any       // what the kernel needs beside its operands
	in      []*Tensor // operands
	into    *owner    // creation only: where the results go, whatever the operands
	kind    Kind      // of the results; 0: their owner's
	inplace bool      // the result is in[0] itself
	changes int       // in place: how many operands change, from the first; 0: one
	work    int       // bytes of scratch space the kernel needs
	out     []*fresh  // results; the last hidden ones only the graph may keep
	made    []*Tensor // the handles of those that are not hidden

	// Set by the dispatcher.
	core       *core
	target     *owner // where results land; nil: in-place on stores alone
	handle     Owner
	grad       bool       // a graph is recorded
	needs      []bool     // which operands need a gradient
	held       []*storage // the leases: operands, results, scratch space
	scratch    *storage
	nhidden    int
	before     *fresh // what an in-place call's operand was, if saved
	saved      []saved
	site       *site.Stack
	prev, next *call
}

// callList is the doubly linked list of the calls that run now.
type callList struct {
	first *call
	n     int
}

func (l *callList) push(c *call) {
	c.prev, c.next = nil, l.first
	if l.first != nil {
		l.first.prev = c
	}
	l.first = c
	l.n++
}

func (l *callList) remove(c *call) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	l.n--
}

var calls = sync.Pool{New: func() any { return &call{} }}

// newCall starts a call of op on in.
func newCall(op *opdef, attrs any, in ...*Tensor) *call {
	c := calls.Get().(*call)
	c.op, c.attrs = op, attrs
	c.in = append(c.in[:0], in...)
	for _, x := range in {
		if x == nil {
			// A copy, so that the operands of calls that are right stay on the
			// stack.
			throw(ErrValue, op.name, append([]*Tensor{}, in...), "an operand is nil")
		}
	}
	if len(in) > 0 {
		c.core = in[0].rec.core
	}
	return c
}

// recycle gives c back to the pool. It clears field by field: while the
// collector runs, clearing the whole would cost more than the call.
func (c *call) recycle() {
	forget(c.in)
	forget(c.out)
	forget(c.made)
	for i := range c.saved {
		c.saved[i].layout = nil
	}
	c.in, c.out, c.made, c.saved, c.needs = c.in[:0], c.out[:0], c.made[:0], c.saved[:0], c.needs[:0]
	c.attrs, c.into, c.target, c.handle = nil, nil, nil, nil
	c.kind, c.inplace, c.changes, c.work, c.nhidden, c.grad = 0, false, 0, 0, 0, false
	if c.scratch != nil {
		c.scratch = nil
	}
	if c.before != nil {
		c.before = nil
	}
	calls.Put(c)
}

// forget clears pointers one by one.
func forget[T any](s []*T) {
	for i := 0; i < len(s); i++ {
		if s[i] != nil {
			s[i] = nil
		}
	}
}

// result adds a result of the given type and shape, which were checked.
func (c *call) result(dtype DType, shape []int) *call {
	f := newFresh(c.core, dtype, shape)
	c.out = append(c.out, f)
	c.made = append(c.made, &Tensor{layout: &f.layout, rec: &f.rec, meta: &f.meta})
	return c
}

// hidden adds a result that only the graph keeps, and saves it. For op.save.
func (c *call) hidden(dtype DType, shape []int) {
	c.out = append(c.out, newFresh(c.core, dtype, shape))
	c.nhidden++
	c.saveOut(c.results() - 1)
}

// saveIn keeps operand i for the gradient. Of the operand that an in-place
// call changes, by whatever name it is given, it keeps a copy. For op.save.
func (c *call) saveIn(i int) {
	if !c.inplace || !c.in[i].sameElements(c.in[0]) {
		c.saved = append(c.saved, saved{slot: i, layout: c.in[i].layout})
		return
	}
	if c.before == nil {
		c.out = append(c.out, newFresh(c.core, c.in[0].dtype, c.in[0].shape))
		c.nhidden++
		c.before = c.out[len(c.out)-1]
	}
	c.saved = append(c.saved, saved{slot: i, layout: &c.before.layout, copied: true})
}

// saveOut keeps result i for the gradient. For op.save.
func (c *call) saveOut(i int) { c.saved = append(c.saved, saved{slot: ^i, layout: c.resultLayout(i)}) }

// fresh returns result i, or nil for the operand of an in-place operation,
// which is its result 0.
func (c *call) fresh(i int) *fresh {
	if c.inplace {
		i--
	}
	if i < 0 {
		return nil
	}
	return c.out[i]
}

// resultLayout returns the layout of result i.
func (c *call) resultLayout(i int) *layout {
	if f := c.fresh(i); f != nil {
		return &f.layout
	}
	return c.in[0].layout
}

// results returns how many results there are, hidden ones included.
func (c *call) results() int {
	if c.inplace {
		return len(c.out) + 1
	}
	return len(c.out)
}

// src returns operand i as kernels see it.
func (c *call) src(i int) cpu.Array { return c.in[i].array(c.held[i].blk.Pointer()) }

// dst returns result i as kernels see it.
func (c *call) dst(i int) cpu.Array {
	if f := c.fresh(i); f != nil {
		return f.layout.array(f.rec.st.blk.Pointer())
	}
	return c.src(0)
}

// workspace returns the scratch space.
func (c *call) workspace() unsafe.Pointer {
	if c.scratch == nil {
		return nil
	}
	return c.scratch.blk.Pointer()
}

func (c *call) module() string {
	if c.target != nil {
		return c.target.module
	}
	return ""
}
