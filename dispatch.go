package ebb

import (
	"fmt"

	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/site"
)

// opdef is an operation: what the dispatcher needs to run it, to differentiate
// it and to run it again.
type opdef struct {
	name string // PyTorch's name

	// kernel computes the results on the processor, from c.src, c.attrs and
	// c.dst alone, so that running it again gives the same bits. An error
	// means that the data are wrong (an index out of range); results are then
	// discarded. In-place operations must check before they write.
	kernel func(c *call) *Error

	// save is called when a graph is recorded, before the kernel, and says
	// with c.saveIn, c.saveOut and c.hidden what the gradient needs.
	save func(c *call)

	// grad computes the gradients of the inputs that need one. Nil with a
	// floating-point result is a missing gradient: an error in Backward.
	grad func(b *backward)

	// custom marks a user's Function, which may keep what it sees.
	custom bool

	// update marks an optimizer's in-place operations, which change leaves
	// and never record.
	update bool

	// constant marks operations whose result has no gradient by its nature
	// (comparisons, argmax, a fill).
	constant bool
}

// do runs the call and returns its first visible result (for an in-place
// call, the operand). It panics with an *Error.
func (c *call) do() *Tensor {
	c.run()
	var x *Tensor
	if c.inplace {
		x = c.in[0]
	} else {
		x = c.handleOf(0)
	}
	c.recycle()
	return x
}

// doAll is do for several results.
func (c *call) doAll() []*Tensor {
	c.run()
	ts := make([]*Tensor, len(c.recs))
	for i := range ts {
		ts[i] = c.handleOf(i)
	}
	c.recycle()
	return ts
}

// handleOf returns a handle of result i.
func (c *call) handleOf(i int) *Tensor {
	r := c.recs[i]
	return &Tensor{layout: c.out[i], rec: r, meta: &r.meta, own: c.handle}
}

// run is the way of every operation: begin, kernel, end.
func (c *call) run() {
	c.site = site.Here(2)
	if e := c.begin(); e != nil {
		c.fail(e)
	}
	running := true
	defer func() {
		if running { // the kernel panicked: an error of Ebb's own
			c.core.mu.Lock()
			c.giveUp()
			c.core.mu.Unlock()
		}
	}()
	if i := c.before; i >= 0 {
		elementwise.Copy(c.out[i].array(c.made(i).data), c.src(0))
	}
	e := c.op.kernel(c)
	running = false
	if n := len(c.out) - c.nhidden; len(c.slab) < n {
		// Not under the lock: it may have to wait for the collector.
		c.slab = make([]record, max(n, recordsAtOnce))
	}
	if e = c.end(e); e != nil {
		c.fail(e)
	}
}

// fail panics with e, completed by what the call knows.
func (c *call) fail(e *Error) {
	e.Site, e.core = Site{c.site}, c.core
	if e.Op == "" {
		e.Op = c.op.name
	}
	if e.Module == "" {
		e.Module = c.module()
	}
	if e.Shapes == nil {
		for _, x := range c.in {
			e.Shapes = append(e.Shapes, append([]int{}, x.shape...))
			e.DTypes = append(e.DTypes, x.dtype)
		}
	}
	if e.Memory != nil && c.core.shortage != nil {
		c.core.shortage(&Runtime{c.core}, e)
	}
	panic(e)
}

// begin checks the operands, finds where results land, takes leases and
// allocates. On error nothing is held.
func (c *call) begin() *Error {
	co := c.core
	co.mu.Lock()
	defer co.mu.Unlock()
	if e := c.resolve(); e != nil {
		return e
	}
	c.needs = c.needs[:0]
	anyNeeds := false
	for _, x := range c.in {
		need := x.meta.carriesGraph()
		c.needs = append(c.needs, need)
		anyNeeds = anyNeeds || need
	}
	c.grad = anyNeeds && !c.op.constant && !c.op.update && c.into == nil && !(c.target != nil && c.target.noGrad)
	if c.inplace {
		if e := c.checkInPlace(); e != nil {
			return e
		}
	}
	if c.grad && c.op.save != nil {
		c.op.save(c)
	}
	for _, x := range c.in {
		x.rec.st.refs++
		c.held = append(c.held, x.rec.st)
	}
	for i := range c.saved {
		if s := &c.saved[i]; s.slot >= 0 && !s.copied {
			s.version = c.held[s.slot].version
		}
	}
	kind := c.kind
	if kind == 0 && c.target != nil {
		kind = c.target.kind
	}
	for _, l := range c.out {
		st, e := co.newStorage(c, l.bytes(), kind, l)
		if e != nil {
			c.drop()
			return e
		}
		c.held = append(c.held, st)
	}
	if c.work > 0 {
		st, e := co.newStorage(c, int64(c.work), Workspace, nil)
		if e != nil {
			c.drop()
			return e
		}
		c.scratch = st
		c.held = append(c.held, st)
	}
	co.inflight.push(c)
	return nil
}

// resolve checks that every operand lives and belongs to one runtime, and
// finds the owner of the results: the youngest scope among the operands'.
func (c *call) resolve() *Error {
	if c.core.closed {
		return c.core.closedError(c.op.name)
	}
	target, handle := c.into, c.handle
	for _, x := range c.in {
		if x.rec.core != c.core {
			return mixedRuntimes(c.op.name, c.core)
		}
		if x.rec.st == nil {
			c.target = target // its module is told
			return x.releasedError(c.op.name)
		}
		x.refresh()
		if c.into != nil {
			continue
		}
		if s := x.scope(); s != nil && (target == nil || s.o.seq > target.seq) {
			handle, target = s, s.o
		}
	}
	c.target, c.handle = target, handle
	switch {
	case c.target == nil && !c.inplace:
		return &Error{Kind: ErrNoScope, Given: "every operand lies in a store, so the result has no scope to land in",
			Advice: "direct one operand into a scope: x.In(scope)"}
	case c.target != nil && c.target.closed:
		return c.target.closedError(c.op.name)
	}
	return nil
}

// end gives back the leases. Without an error the results enter their owner
// and the graph.
func (c *call) end(failed *Error) *Error {
	co := c.core
	co.mu.Lock()
	defer co.mu.Unlock()
	if failed == nil && c.target != nil && c.target.closed {
		failed = c.target.closedError(c.op.name)
		failed.Given += ": it was closed while the operation ran"
	}
	if failed == nil && c.inplace && c.in[0].rec.st == nil {
		failed = c.in[0].releasedError(c.op.name)
	}
	if failed != nil {
		c.giveUp()
		return failed
	}
	if c.inplace {
		for _, st := range c.held[:max(c.changes, 1)] {
			st.version++
			st.modified = c.site
		}
	}
	var n *node
	if c.grad {
		n = c.newNode()
		if c.inplace {
			c.in[0].setNode(n)
		}
	}
	for i := range len(c.out) - c.nhidden {
		r, st := c.record(), c.made(i)
		c.recs = append(c.recs, r)
		st.refs++
		co.settle(r, st, c.out[i], c.site)
		co.enter(r, c.target)
		if n != nil && c.out[i].dtype.IsFloat() {
			r.meta.node, r.meta.out = n, int32(i)
			r.node = n
			co.keepNode(n)
		}
	}
	if n != nil && n.refs == 0 {
		co.dropSaved(n, nil) // no result has a gradient
	}
	c.giveUp()
	return nil
}

// giveUp returns the leases and unlists the call. The caller holds mu.
func (c *call) giveUp() {
	c.core.inflight.remove(c)
	c.drop()
	if c.core.closed && len(c.core.inflight) == 0 {
		// Close gave up waiting for this call; its memory goes now.
		_ = c.core.alloc.Close()
	}
}

// drop returns the leases, and with them results that entered no owner.
func (c *call) drop() {
	for _, st := range c.held {
		c.core.dropStorage(st)
	}
	c.held = c.held[:0] // what is left there leads to no handle
}

// checkInPlace applies the rules of in-place operations: gradients must not
// stop silently, and no graph may outlive its scope.
func (c *call) checkInPlace() *Error {
	x := c.in[0]
	if recording := !(c.target != nil && c.target.noGrad); recording && !c.op.update {
		switch {
		case x.meta.requiresGrad:
			return &Error{Kind: ErrGraph, Given: "a leaf that requires a gradient was to be changed in place",
				Advice: "change it in a NoGrad scope: x.In(s) with a scope of rt.Run(ebb.NoGrad, ...)"}
		case x.rec.state() != x.meta && !x.meta.detached && x.rec.state().requiresGrad:
			return &Error{Kind: ErrGraph, Given: "a view of a leaf that requires a gradient was to be changed in place",
				Advice: "change it in a NoGrad scope: x.In(s) with a scope of rt.Run(ebb.NoGrad, ...)"}
		case c.grad && x.meta.detached:
			return &Error{Kind: ErrGraph, Given: "a detached tensor was to be changed in place by an operand that carries a graph",
				Advice: "Clone it first"}
		}
	}
	// x's own graph may go on in its own scope; it must not keep what is
	// another operand's and dies earlier.
	if c.grad && x.rec.owner != c.target && c.keepsYounger() {
		where := "store"
		if x.rec.owner == nil || !x.rec.owner.store {
			where = "older scope"
		}
		return &Error{Kind: ErrOutward, Given: fmt.Sprintf("an operand carries a graph that a tensor of a %s would keep beyond its scope", where),
			Advice: "detach it: total.Add_(loss.Detach())"}
	}
	// An optimizer's operands belong together by their distance.
	step := 1
	if c.changes > 0 {
		step = len(c.in) - c.changes
	}
	for i, x := range c.in[:max(c.changes, 1)] {
		if x.repeats() {
			return &Error{Kind: ErrValue, Given: "the tensor was expanded: several of its elements are one number in memory",
				Advice: "Clone it first"}
		}
		for j := i + step; j < len(c.in); j += step {
			if y := c.in[j]; y.rec.st == x.rec.st && partlyOverlap(x.layout, y.layout) {
				return &Error{Kind: ErrValue, Given: fmt.Sprintf("operand %d shares some of its memory with the tensor to be changed in place", j),
					Advice: "Clone the operand first"}
			}
		}
	}
	return nil
}

// keepsYounger reports whether an operand beside the first, which changes in
// place, carries a graph or lies in a younger scope than it.
func (c *call) keepsYounger() bool {
	at := c.in[0].rec.owner
	for i, y := range c.in[1:] {
		if o := y.rec.owner; c.needs[i+1] || o != nil && at != nil && !o.store && (at.store || o.seq > at.seq) {
			return true
		}
	}
	return false
}

// view makes a view of x as operation op: it shares x's record and adds
// nothing to a scope.
func view(op *opdef, attrs any, x *Tensor, shape, strides []int, offset int) *Tensor {
	v := x.view(shape, strides, offset)
	co := x.rec.core
	co.mu.Lock()
	if x.rec.st == nil {
		e := x.releasedError(op.name)
		co.mu.Unlock()
		e.Site = Site{site.Here(2)}
		panic(e)
	}
	defer co.mu.Unlock()
	x.refresh()
	v.meta.graphs = x.rec.graphs
	v.meta.detached = x.meta.detached
	s := x.scope()
	switch {
	case s != nil && s.o.noGrad:
		v.meta.detached = true
	case x.meta.carriesGraph():
		v.meta.node = x.viewNode(op, attrs, v.layout)
	}
	return v
}
