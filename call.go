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
	out     []*layout // results; the last hidden ones only the graph may keep

	// Room for what a kernel is given by reference.
	room struct {
		dims       [4]int
		bias, mask cpu.Array
	}

	// Set by the dispatcher.
	core    *core
	target  *owner // where results land; nil: in-place on stores alone
	handle  Owner
	grad    bool       // a graph is recorded
	needs   []bool     // which operands need a gradient
	held    []*storage // the leases: operands, results, scratch space
	scratch *storage
	nhidden int
	before  int       // in place: which of out is what an operand was; -1: none
	recs    []*record // of the results that are not hidden
	slab    []record  // for results to come, of whichever call
	saved   []saved
	site    *site.Stack
	running int // where in core.inflight
}

// callList holds the calls that run now, in no order.
type callList []*call

func (l *callList) push(c *call) {
	c.running = len(*l)
	*l = append(*l, c)
}

func (l *callList) remove(c *call) {
	n := len(*l) - 1
	if last := (*l)[n]; last != c {
		(*l)[c.running], last.running = last, c.running
	}
	(*l)[n] = nil
	*l = (*l)[:n]
}

var calls = sync.Pool{New: func() any { return &call{} }}

// recordsAtOnce is how many records share a Go allocation, of 480 bytes.
const recordsAtOnce = 6

// record returns one that nobody uses. The caller holds mu.
func (c *call) record() (r *record) {
	co := c.core
	if n := len(co.unused); n > 0 {
		r, co.unused = co.unused[n-1], co.unused[:n-1]
	} else {
		r, c.slab = &c.slab[0], c.slab[1:]
	}
	return r
}

// newCall starts a call of op on in.
func newCall(op *opdef, attrs any, in ...*Tensor) *call {
	c := calls.Get().(*call)
	c.op, c.attrs, c.before = op, attrs, -1
	for _, x := range in {
		if x == nil {
			// A copy, so that the operands of calls that are right stay on the
			// stack.
			throw(ErrValue, op.name, append([]*Tensor{}, in...), "an operand is nil")
		}
		c.in = append(c.in, x)
	}
	if len(in) > 0 {
		c.core = in[0].rec.core
	}
	return c
}

// recycle gives c back to the pool. It clears what leads to handles or must be
// clear, field by field: while the collector runs, clearing the whole would cost
// more than the call.
func (c *call) recycle() {
	forget(c.in)
	forget(c.recs)
	for i := range c.saved {
		c.saved[i].layout = nil
	}
	c.in, c.out, c.recs, c.saved, c.needs = c.in[:0], c.out[:0], c.recs[:0], c.saved[:0], c.needs[:0]
	c.handle = nil
	if c.attrs != nil {
		c.attrs = nil
	}
	if c.into != nil {
		c.into = nil
	}
	c.kind, c.inplace, c.changes, c.work, c.nhidden, c.grad = 0, false, 0, 0, 0, false
	if c.scratch != nil {
		c.scratch = nil
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
	c.out = append(c.out, c.core.dense(dtype, shape))
	return c
}

// hidden adds a result that only the graph keeps, and saves it. For op.save.
func (c *call) hidden(dtype DType, shape []int) {
	c.out = append(c.out, c.core.dense(dtype, shape))
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
	if c.before < 0 {
		c.before = len(c.out)
		c.out = append(c.out, c.core.dense(c.in[0].dtype, c.in[0].shape))
		c.nhidden++
	}
	c.saved = append(c.saved, saved{slot: i, layout: c.out[c.before], copied: true})
}

// saveOut keeps result i for the gradient. For op.save.
func (c *call) saveOut(i int) { c.saved = append(c.saved, saved{slot: ^i, layout: c.resultLayout(i)}) }

// fresh returns which of out result i is, or -1 for the operand of an in-place
// operation, which is its result 0.
func (c *call) fresh(i int) int {
	if c.inplace {
		i--
	}
	return i
}

// made returns the storage of out[i].
func (c *call) made(i int) *storage { return c.held[len(c.in)+i] }

// resultLayout returns the layout of result i.
func (c *call) resultLayout(i int) *layout {
	if i = c.fresh(i); i >= 0 {
		return c.out[i]
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
func (c *call) src(i int) cpu.Array { return c.in[i].array(c.held[i].data) }

// dst returns result i as kernels see it.
func (c *call) dst(i int) cpu.Array {
	if i = c.fresh(i); i >= 0 {
		return c.out[i].array(c.made(i).data)
	}
	return c.src(0)
}

// workspace returns the scratch space.
func (c *call) workspace() unsafe.Pointer {
	if c.scratch == nil {
		return nil
	}
	return c.scratch.data
}

func (c *call) module() string {
	if c.target != nil {
		return c.target.module
	}
	return ""
}
