package ebb

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ebb-ml/ebb/internal/site"
)

// engine is one Backward or Grad in progress. It visits the graph newest node
// first; since nodes point only to older ones, each node has its whole
// gradient when its turn comes. Everything it computes lies in a scope of its
// own, from which what a node's rule left over is released after each node.
type engine struct {
	co      *core
	op      string
	scope   *Scope
	keep    bool // RetainGraph: leave what nodes saved
	at      *site.Stack
	roots   []edge
	order   []*node      // newest first, leaves apart
	leaves  []*node      // claimed
	capture map[edge]int // Grad: which inputs' gradients are wanted
	result  []*Tensor    // Grad: their gradients
	created []*Tensor    // leaves that got their first gradient from this run
	rule    backward     // that runs
	given   []*Tensor    // of the rule that runs, by operand
	views   []*unpacked  // of the rule that runs; see private
	spare   []*unpacked
	mark    *record // in scope, the last one older than the rule that runs

	// private says that no user's code sees what lies in scope: no hooks, no
	// custom operations, no results to hand out. Its records are then reused.
	private bool
}

// run computes the gradients of what leads to roots, whose own are grads.
func (e *engine) run(roots, grads []*Tensor) {
	co := e.co
	co.mu.Lock()
	err := e.claim(roots)
	co.mu.Unlock()
	if err != nil {
		err.Site, err.core = Site{e.at}, co
		panic(err)
	}
	done := false
	defer func() {
		co.mu.Lock()
		defer co.mu.Unlock()
		e.finish(done)
	}()
	for i, ed := range e.roots {
		co.mu.Lock()
		grads[i].rec.given++
		co.mu.Unlock()
		e.add(ed, grads[i])
	}
	for _, n := range e.leaves {
		// A leaf that is a root itself has everything from the start.
		if n.waits == 0 {
			e.leaf(n)
		}
	}
	for _, n := range e.order {
		e.node(n)
	}
	done = true
}

// claim finds the nodes below roots, counts what leaves wait for, and marks
// them as this engine's. The caller holds mu.
func (e *engine) claim(roots []*Tensor) *Error {
	e.private = e.capture == nil && !e.keep
	var stack []*node
	push := func(n *node) *Error {
		if n == nil || n.run == e {
			return nil
		}
		if n.run != nil {
			return &Error{Kind: ErrBusy, Op: e.op, Given: "another Backward or Step runs on the same parameters", Released: Site{n.run.at},
				Advice: "train a model from one goroutine at a time"}
		}
		n.run, n.needed, n.waits = e, false, 0
		if cap(n.got) >= len(n.outs) {
			n.got = n.got[:len(n.outs)]
		} else {
			n.got = make([]*Tensor, len(n.outs))
		}
		if len(n.hooks) > 0 || len(n.retain) > 0 || n.op.custom {
			e.private = false
		}
		if n.leaf != nil {
			e.leaves = append(e.leaves, n)
			return nil
		}
		e.order = append(e.order, n)
		stack = append(stack, n)
		return nil
	}
	var err *Error
	for _, x := range roots {
		x.refresh()
		if err == nil {
			err = push(x.edge().node)
		}
	}
	for len(stack) > 0 && err == nil {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, ed := range n.edges {
			if err == nil {
				err = push(ed.node)
			}
		}
	}
	if err != nil {
		for _, n := range e.order {
			n.run = nil
		}
		for _, n := range e.leaves {
			n.run = nil
		}
		return err
	}
	slices.SortFunc(e.order, func(a, b *node) int { return cmp.Compare(b.seq, a.seq) })
	for _, x := range roots {
		e.roots = append(e.roots, x.edge())
		e.co.keepNode(x.edge().node)
	}
	// Which nodes lead to a wanted gradient: oldest first, so that a node's
	// predecessors are known.
	for _, n := range e.leaves {
		n.needed = e.capture == nil || e.wants(n)
	}
	for _, n := range slices.Backward(e.order) {
		n.needed = e.wants(n)
		for _, ed := range n.edges {
			if ed.node != nil {
				n.needed = n.needed || ed.node.needed
				if ed.node.leaf != nil {
					ed.node.waits++
				}
			}
		}
	}
	return nil
}

// wants reports whether a result of n is an input of Grad.
func (e *engine) wants(n *node) bool {
	for i := range n.outs {
		if _, ok := e.capture[edge{n, int32(i)}]; ok {
			return true
		}
	}
	return false
}

// node computes the gradients of n's operands and passes them on.
func (e *engine) node(n *node) {
	co := e.co
	for i, g := range n.got {
		if g != nil {
			n.got[i] = e.arrived(n, int32(i), g)
		}
	}
	e.rule = backward{e, n}
	e.given = slices.Grow(e.given[:0], len(n.edges))[:len(n.edges)]
	forget(e.given)
	co.mu.Lock()
	e.mark = nil
	if p := e.scope.o.records.last; p != nil {
		e.mark = p.rec
	}
	e.scope.o.module = n.module
	co.mu.Unlock()
	if n.needed && e.feeds(n) && slices.ContainsFunc(n.got, func(g *Tensor) bool { return g != nil }) {
		e.check(n)
		n.op.grad(&e.rule)
	}
	co.mu.Lock()
	for i, ed := range n.edges {
		if ed.node == nil {
			continue
		}
		if e.given[i] != nil && ed.node.needed {
			e.given[i].rec.given++
		}
	}
	// What the rule left over goes, then what it was given: the mark may be
	// that.
	for p := next(e.mark, &e.scope.o.records); p != nil; {
		after := p.next
		if p.rec.given == 0 {
			e.release(p.rec)
		}
		p = after
	}
	for i, g := range n.got {
		if g != nil {
			e.let(g)
			n.got[i] = nil
		}
	}
	if !e.keep {
		if len(n.saved) > 0 && n.consumed == nil {
			n.consumed = e.at
		}
		co.dropSaved(n, e.at)
	}
	e.forgetViews()
	co.mu.Unlock()
	var ready []*node
	for i, ed := range n.edges {
		if ed.node == nil {
			continue
		}
		if g := e.given[i]; g != nil && ed.node.needed {
			e.add(ed, g)
		}
		if ed.node.leaf != nil {
			if ed.node.waits--; ed.node.waits == 0 {
				ready = append(ready, ed.node)
			}
		}
	}
	for _, l := range ready {
		e.leaf(l)
	}
}

// feeds reports whether a node before n is needed (n itself may only be
// captured).
func (e *engine) feeds(n *node) bool {
	for _, ed := range n.edges {
		if ed.node != nil && ed.node.needed {
			return true
		}
	}
	return false
}

// next returns the place after mark's in a list.
func next(mark *record, l *recordList) *place {
	if mark == nil || mark.st == nil {
		return l.first
	}
	return mark.next
}

// check panics if n's gradient cannot be computed.
func (e *engine) check(n *node) {
	var err *Error
	switch {
	case n.op.grad == nil:
		err = &Error{Kind: ErrGraph, Op: n.op.name, Given: "the operation has no gradient", Advice: "Detach its operands, or write it as a Function"}
	case n.consumed != nil:
		err = &Error{Kind: ErrGraph, Op: n.op.name, Given: "the graph was used up by an earlier Backward", Allocated: Site{n.site}, Released: Site{n.consumed},
			Advice: "pass RetainGraph to the first Backward, or compute the loss again"}
	default:
		e.co.mu.Lock()
		for i := range n.saved {
			if s := &n.saved[i]; s.st != nil && s.st.version != s.version {
				what := "a result"
				if s.slot >= 0 {
					what = fmt.Sprintf("operand %d", s.slot)
				}
				err = &Error{Kind: ErrModified, Op: n.op.name, Allocated: Site{n.site}, Released: Site{s.st.modified},
					Given:  fmt.Sprintf("%s was modified in place after it was saved for the gradient (version %d, expected %d)", what, s.st.version, s.version),
					Advice: "Clone it before the change, or change it after Backward"}
				break
			}
		}
		e.co.mu.Unlock()
	}
	if err != nil {
		err.Module, err.Site, err.core = n.module, Site{e.at}, e.co
		panic(err)
	}
}

// arrived applies hooks to the complete gradient g of n's result out, and
// stores it where it is retained or captured.
func (e *engine) arrived(n *node, out int32, g *Tensor) *Tensor {
	e.co.mu.Lock()
	hooks := slices.Clone(n.hooks)
	keep := slices.Clone(n.retain)
	e.co.mu.Unlock()
	for _, h := range hooks {
		if h.out != out {
			continue
		}
		r := h.f(g)
		if r == nil || r == g {
			continue
		}
		if !sameShape(r.shape, g.shape) || r.dtype != g.dtype {
			throw(ErrShape, "hook", []*Tensor{g, r}, "a hook returned a gradient of another shape or type")
		}
		e.co.mu.Lock()
		r.rec.given++
		e.let(g)
		e.co.mu.Unlock()
		g = r
	}
	for _, k := range keep {
		if k.out == out {
			e.accumulate(k.x, g, false)
		}
	}
	if i, ok := e.capture[edge{n, out}]; ok {
		e.co.mu.Lock()
		g.rec.given++
		e.co.mu.Unlock()
		e.result[i] = g
	}
	return g
}

// add adds g, already counted, to the gradient that waits at ed.
func (e *engine) add(ed edge, g *Tensor) {
	n := ed.node
	if old := n.got[ed.out]; old != nil {
		sum := old.Add(g)
		e.co.mu.Lock()
		sum.rec.given++
		e.let(old)
		e.let(g)
		e.co.mu.Unlock()
		g = sum
	}
	n.got[ed.out] = g
}

// let takes a count from g, and releases it if nobody waits for it. The
// caller holds mu.
func (e *engine) let(g *Tensor) {
	g.rec.given--
	if g.rec.given == 0 && g.rec.owner == e.scope.o {
		e.release(g.rec)
	}
}

// release releases a record of the engine's scope. The caller holds mu.
func (e *engine) release(r *record) {
	e.co.release(r, e.at)
	if e.private {
		e.co.reuse(r)
	}
}

// leaf passes a leaf's complete gradient on.
func (e *engine) leaf(n *node) {
	g := n.got[0]
	if g == nil {
		return
	}
	n.got[0] = nil
	g = e.arrived(n, 0, g)
	if e.capture == nil {
		e.accumulate(n.leaf, g, true)
		for _, h := range n.hooks {
			if h.post != nil {
				h.post(n.leaf.ownHandle())
			}
		}
	}
	e.co.mu.Lock()
	e.let(g)
	e.co.mu.Unlock()
}

// accumulate adds g to x's gradient. The first gradient becomes x's own if
// nobody else holds it, else a copy.
func (e *engine) accumulate(x, g *Tensor, leaf bool) {
	co := e.co
	co.mu.Lock()
	old := x.meta.grad
	own := x.rec.owner
	if own == nil {
		co.mu.Unlock()
		panic(x.releasedError(e.op))
	}
	if old == nil || old.rec.st == nil {
		steal := leaf && g.rec.given == 1 && g.rec.owner == e.scope.o && g.contiguous() && g.offset == 0 && g.bytes() == g.rec.st.bytes &&
			g.rec.st.refs == 1 && g.meta.node == nil
		if steal {
			co.transfer(g.rec, own)
			co.setKind(g.rec.st, Gradient)
			// The gradient's own handle has no owner handles.
			own := g
			if !e.private {
				own = new(Tensor)
			}
			*own = Tensor{layout: g.layout, rec: g.rec, meta: g.meta}
			x.meta.grad, x.meta.seen = own, !e.private
			g.rec.base, g.rec.layout = g.meta, g.layout
		}
		co.mu.Unlock()
		if !steal {
			c := newCall(opClone, nil, g)
			c.into, c.kind = own, Gradient
			y := c.result(g.dtype, g.shape).do()
			co.mu.Lock()
			x.meta.grad = y
			co.mu.Unlock()
		}
		e.created = append(e.created, x)
		return
	}
	co.mu.Unlock()
	addInto(old, g)
}

// finish ends the run: claims and counts go, and after a failure so do the
// gradients it created. The caller holds mu.
func (e *engine) finish(done bool) {
	co := e.co
	for _, list := range [2][]*node{e.order, e.leaves} {
		for _, n := range list {
			n.run = nil
			for i, g := range n.got {
				if g != nil {
					e.let(g)
					n.got[i] = nil
				}
			}
		}
	}
	for _, ed := range e.roots {
		co.dropNode(ed.node)
	}
	if !done {
		for _, x := range e.created {
			if g := x.meta.grad; g != nil {
				x.meta.grad = nil
				co.release(g.rec, e.at)
			}
		}
	}
}
