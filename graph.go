package ebb

import (
	"github.com/ebb-ml/ebb/internal/site"
)

// node is one operation in the graph, made when a result needs a gradient. It
// points to the nodes its operands came from, and holds the memory the
// gradient needs.
//
// Nodes are counted like storages: by the records of their results and by the
// nodes that point to them. A node that nobody counts drops what it saved. A
// view's node holds no memory and no record counts it; it counts those before
// it only while somebody counts it. A leaf's node (leaf != nil) lives with the
// leaf and is not counted. All fields are guarded by core.mu.
type node struct {
	core   *core
	op     *opdef
	attrs  any
	seq    uint64    // order of making; nodes point to smaller ones only
	edges  []edge    // by operand; the zero edge needs no gradient
	inputs []*layout // by operand
	outs   []*layout // by result, hidden ones apart
	saved  []saved
	holds  []Owner // of operands from elsewhere: not forgotten while the graph needs them
	refs   int32
	view   bool
	leaf   *Tensor // without owner handles
	module string
	site   *site.Stack
	hooks  []*hook
	retain []retained // results that keep their gradient

	consumed *site.Stack // the Backward that dropped what was saved

	// Set while a Backward runs over the node.
	run    *engine
	needed bool
	waits  int       // leaf: deliveries to come
	got    []*Tensor // by result: the gradient so far
}

// edge points to a result of a node.
type edge struct {
	node *node
	out  int32
}

// saved is an operand or result that the gradient needs: its memory and
// layout, never a tensor.
type saved struct {
	slot    int  // operand i, or ^i for result i
	copied  bool // a copy, made before the operand was changed in place
	version uint32
	layout  *layout
	st      *storage // nil once dropped
	rec     *record  // of the tensor that the gradient rule sees
}

// retained is a result that keeps its gradient.
type retained struct {
	out int32
	x   *Tensor
}

func (co *core) nextSeq() uint64 {
	co.seq++
	return co.seq
}

// newNode makes the node of a call that just ended. The caller holds mu.
func (c *call) newNode() *node {
	co := c.core
	var n *node
	if last := len(co.idle) - 1; last >= 0 {
		n, co.idle = co.idle[last], co.idle[:last]
	} else {
		n = &node{core: co}
	}
	n.op, n.attrs, n.module, n.site = c.op, c.attrs, c.module(), c.site
	if len(c.saved) > 0 {
		n.saved = append(n.saved, c.saved...)
	}
	for i, x := range c.in {
		n.inputs = append(n.inputs, x.layout)
		var e edge
		if c.needs[i] {
			e = x.edge()
			if x.own != nil && x.own != c.handle {
				n.holds = append(n.holds, x.own)
			}
		}
		n.edges = append(n.edges, e)
	}
	for i := range c.results() - c.nhidden {
		n.outs = append(n.outs, c.resultLayout(i))
	}
	n.seq = co.nextSeq()
	for i := range n.saved {
		s := &n.saved[i]
		s.st = c.held[0]
		if s.copied {
			s.st = c.made(c.before)
		} else if s.slot >= 0 {
			s.st = c.held[s.slot]
		} else if i := c.fresh(^s.slot); i >= 0 {
			s.st = c.made(i)
		}
		if s.slot < 0 {
			s.version = s.st.version
		}
		s.st.refs++
	}
	return n
}

// edge returns what x's gradient goes to. The caller holds mu.
func (x *Tensor) edge() edge {
	if x.meta.requiresGrad {
		return edge{x.leafNode(), 0}
	}
	return edge{x.meta.node, x.meta.out}
}

// leafNode returns the node that collects x's gradient. The caller holds mu.
func (x *Tensor) leafNode() *node {
	m := x.meta
	if m.leaf == nil {
		co := x.rec.core
		m.leaf = &node{core: co, op: opAccumulate, seq: co.nextSeq(), outs: []*layout{x.layout}}
		m.leaf.leaf = &Tensor{layout: x.layout, rec: x.rec, meta: m}
	}
	return m.leaf
}

var opAccumulate = &opdef{name: "accumulate_grad"}

// viewNode makes the node of a view of x. The caller holds mu.
func (x *Tensor) viewNode(op *opdef, attrs any, l ...*layout) *node {
	n := &node{core: x.rec.core, op: op, attrs: attrs, view: true, outs: l, inputs: []*layout{x.layout}, edges: []edge{x.edge()}}
	n.seq = x.rec.core.nextSeq()
	return n
}

// refresh re-derives the graph of a view whose base was changed in place with
// a graph since the view was made. The caller holds mu.
func (x *Tensor) refresh() {
	m, r := x.meta, x.rec
	if m.graphs == r.graphs || m == r.state() || m.detached {
		return
	}
	m.graphs = r.graphs
	m.node, m.out = nil, 0
	if r.state().carriesGraph() {
		base := x.base()
		m.node = base.viewNode(opAsStrided, x.within(base), x.layout)
	}
}

// base returns the tensor that x's record was made with. The caller holds mu.
func (x *Tensor) base() *Tensor {
	return &Tensor{layout: x.rec.layout, rec: x.rec, meta: x.rec.state()}
}

// within returns x's layout as it lies in base, whose elements it is part of.
func (x *Tensor) within(base *Tensor) layout {
	l := *x.layout
	l.offset -= base.offset
	return l
}

// setNode makes n, an in-place operation, what x came from. If x is a view,
// what its base came from changes as well: a copy of the base with x's part
// replaced. The caller holds mu.
func (x *Tensor) setNode(n *node) {
	co, r, m := x.rec.core, x.rec, x.meta
	r.graphs++
	last := n
	if m == r.state() {
		m.node, m.out = n, 0
	} else {
		base := x.base()
		last = &node{core: co, op: opCopySlices, attrs: x.within(base), outs: []*layout{base.layout}, inputs: []*layout{base.layout, x.layout},
			edges: []edge{{}, {n, 0}}, module: n.module, site: n.site}
		if r.state().carriesGraph() {
			last.edges[0] = base.edge()
		}
		last.seq = co.nextSeq()
		r.state().node, r.state().out = last, 0
		m.node, m.out = base.viewNode(opAsStrided, x.within(base), x.layout), 0
	}
	m.graphs, r.state().graphs = r.graphs, r.graphs
	co.keepNode(last)
	if r.node != nil {
		co.dropNode(r.node)
	}
	r.node = last
}

// keepNode adds a count to n. The caller holds mu.
func (co *core) keepNode(n *node) {
	for n != nil && n.leaf == nil {
		n.refs++
		if n.refs > 1 {
			return
		}
		if !n.view {
			co.nodes++
		}
		// The first count keeps the nodes before it.
		var next *node
		for i, e := range n.edges {
			if i == 0 {
				next = e.node
			} else if e.node != nil {
				co.keepNode(e.node)
			}
		}
		n = next
	}
}

// dropNode takes a count from n. Nodes nobody counts drop what they saved,
// and their count of the nodes before them. The caller holds mu.
func (co *core) dropNode(n *node) {
	work := append(co.work[:0], n)
	for len(work) > 0 {
		n, work = work[len(work)-1], work[:len(work)-1]
		if n == nil || n.leaf != nil {
			continue
		}
		n.refs--
		if n.refs > 0 {
			continue
		}
		co.dropSaved(n, nil)
		for _, e := range n.edges {
			if e.node != nil {
				work = append(work, e.node)
			}
		}
		if !n.view {
			co.nodes--
			co.recycle(n)
		}
	}
	co.work = work
}

// maxIdle bounds the nodes kept for reuse.
const maxIdle = 1024

// recycle keeps n, which nobody refers to but released tensors, for reuse. It
// clears what is set, for the reason that a call's recycle has. The caller
// holds mu.
func (co *core) recycle(n *node) {
	for i := range n.edges {
		if n.edges[i].node != nil {
			n.edges[i].node = nil
		}
	}
	forget(n.inputs)
	forget(n.outs)
	for i := range n.holds {
		n.holds[i] = nil
	}
	forget(n.got)
	n.edges, n.inputs, n.outs, n.holds, n.got = n.edges[:0], n.inputs[:0], n.outs[:0], n.holds[:0], n.got[:0]
	if n.attrs != nil {
		n.attrs = nil
	}
	if n.hooks != nil || n.retain != nil {
		n.hooks, n.retain = nil, nil
	}
	if n.consumed != nil {
		n.consumed = nil
	}
	if n.run != nil {
		n.run = nil
	}
	if len(co.idle) < maxIdle {
		co.idle = append(co.idle, n)
	}
}

// dropSaved gives back the memory n saved, at a site. The caller holds mu.
func (co *core) dropSaved(n *node, at *site.Stack) {
	for i := range n.saved {
		co.dropOne(&n.saved[i], at)
	}
	clear(n.saved)
	n.saved = n.saved[:0]
}

// dropOne gives back the memory of one saved tensor. The caller holds mu.
func (co *core) dropOne(s *saved, at *site.Stack) {
	if s.st == nil {
		return
	}
	if s.rec != nil {
		s.rec.place, s.rec.released = &nowhere, at
	}
	co.dropStorage(s.st)
	s.st, s.rec = nil, nil
}
