package ebb

import "fmt"

// backward is what an operation's gradient rule sees.
type backward struct {
	e *engine
	n *node
}

// gradOf returns the gradient of result i, nil if none arrived.
func (b *backward) gradOf(i int) *Tensor { return b.n.got[i] }

// grad returns the gradient of the only result.
func (b *backward) grad() *Tensor { return b.n.got[0] }

// needs reports whether operand i wants a gradient.
func (b *backward) needs(i int) bool { return b.n.edges[i].node != nil && b.n.edges[i].node.needed }

// give sets the gradient of operand i.
func (b *backward) give(i int, g *Tensor) { b.e.given[i] = g }

// giveIf sets the gradient of operand i if it wants one.
func (b *backward) giveIf(i int, g func() *Tensor) {
	if b.needs(i) {
		b.give(i, g())
	}
}

// input returns operand i's layout; its memory may be gone.
func (b *backward) input(i int) *layout { return b.n.inputs[i] }

// in returns saved operand i.
func (b *backward) in(i int) *Tensor { return b.unpack(i) }

// out returns saved result i.
func (b *backward) out(i int) *Tensor { return b.unpack(^i) }

// unpacked is a saved tensor as a gradient rule sees it, in one Go allocation.
type unpacked struct {
	t   Tensor
	rec record
	at  place
}

// unpack rebuilds a saved tensor with the edge it had, so that a gradient of
// the gradient finds its way. Results on it land where the gradient lies.
func (b *backward) unpack(slot int) *Tensor {
	for i := range b.n.saved {
		if s := &b.n.saved[i]; s.slot == slot {
			u := b.e.unpacked()
			x := &u.t
			if s.rec == nil {
				u.at.st = s.st
				u.rec.place, u.rec.core, u.rec.allocated = &u.at, b.n.core, s.st.site
				s.rec = &u.rec
			}
			x.layout, x.rec, x.meta, x.dir = s.layout, s.rec, &u.rec.meta, b.e.scope
			var from edge
			if slot < 0 {
				if ^slot < len(b.n.outs) && s.layout.dtype.IsFloat() {
					from = edge{b.n, int32(^slot)}
				}
			} else if slot < len(b.n.edges) {
				from = b.n.edges[slot]
			}
			switch {
			case from.node == nil:
			case from.node.leaf != nil:
				x.meta = from.node.leaf.meta
			default:
				x.meta.node, x.meta.out = from.node, from.out
			}
			return x
		}
	}
	panic(fmt.Sprintf("ebb: internal error: %s did not save slot %d", b.n.op.name, slot))
}

// unpacked returns a tensor for unpack to fill, detached and empty.
func (e *engine) unpacked() *unpacked {
	var u *unpacked
	if n := len(e.spare); n > 0 {
		u, e.spare = e.spare[n-1], e.spare[:n-1]
	} else {
		u = &unpacked{rec: record{meta: meta{detached: true}}}
	}
	e.views = append(e.views, u)
	return u
}

// forgetViews ends the life of what the rule unpacked. Where nobody else can
// hold it, it is reused. The caller holds mu.
func (e *engine) forgetViews() {
	for _, u := range e.views {
		if e.private && u.rec.given == 0 {
			u.rec.place, u.at.st, u.rec.meta.node = &nowhere, nil, nil
			e.spare = append(e.spare, u)
		}
	}
	forget(e.views)
	e.views = e.views[:0]
}

// dropIn tells that the rule is done with saved operand i, so that its memory
// goes before the rule allocates more. It does nothing if the graph is kept.
func (b *backward) dropIn(i int) { b.dropSaved(i) }

// dropOut is dropIn for saved result i.
func (b *backward) dropOut(i int) { b.dropSaved(^i) }

func (b *backward) dropSaved(slot int) {
	if b.e.keep {
		return
	}
	b.e.co.mu.Lock()
	defer b.e.co.mu.Unlock()
	for j := range b.n.saved {
		if s := &b.n.saved[j]; s.slot == slot {
			b.e.co.dropOne(s, b.e.at)
		}
	}
}

// dropGrad tells that the rule is done with the gradient of the only result, so
// that its memory goes before the rule allocates more, unless others have it.
func (b *backward) dropGrad() {
	b.e.co.mu.Lock()
	defer b.e.co.mu.Unlock()
	g := b.n.got[0]
	b.n.got[0] = nil
	if b.e.mark == g.rec {
		b.e.mark = nil
		if p := g.rec.prev; p != nil {
			b.e.mark = p.rec
		}
	}
	b.e.let(g)
}
