package ebb

import (
	"slices"

	"github.com/ebb-ml/ebb/internal/site"
)

// Function is a custom operation with a gradient of its own, as
// torch.autograd.Function. It holds what is not a tensor of the call: sizes,
// constants. [Apply] runs it.
type Function interface {
	// Forward computes the results. It runs without recording, in a scope of
	// its own; what it returns moves to where results on in land. Tensors that
	// Backward needs go through ctx.SaveForBackward.
	Forward(ctx *FunctionContext, in []*Tensor) []*Tensor

	// Backward returns the gradient of each operand, of its shape and type,
	// from those of the results; nil for none. grads[i] is nil if none arrived.
	Backward(ctx *FunctionContext, grads []*Tensor) []*Tensor
}

// FunctionContext carries what Backward needs from Forward.
type FunctionContext struct {
	save []*Tensor
	b    *backward
}

// SaveForBackward keeps tensors for Backward: operands, results or others made
// in Forward. It is called in Forward, once. Only their memory is kept, so a
// result that is saved makes no cycle.
func (c *FunctionContext) SaveForBackward(ts ...*Tensor) { c.save = ts }

// Saved returns what Forward saved, in order, in Backward.
func (c *FunctionContext) Saved() []*Tensor {
	if c.b == nil {
		return c.save
	}
	out := make([]*Tensor, 0, len(c.b.n.saved))
	for _, s := range c.b.n.attrs.(*customCall).slots {
		out = append(out, c.b.unpack(s).In(c.b.e.scope))
	}
	return out
}

// NeedsGrad reports in Backward whether operand i wants a gradient.
func (c *FunctionContext) NeedsGrad(i int) bool { return c.b != nil && c.b.needs(i) }

// customCall is the attribute of a custom operation's node.
type customCall struct {
	f     Function
	slots []int // of the saved tensors, in order
}

// extraSlot numbers saved tensors that are neither operands nor results.
const extraSlot = 1 << 20

// Apply runs f on in. name is what errors and reports call it. It is
// torch.autograd.Function.apply.
func Apply(name string, f Function, in ...*Tensor) []*Tensor {
	at := site.Here(1)
	home := ResultScope(in...)
	if home == nil {
		panic(newError(ErrNoScope, name, in, "every operand lies in a store, so the result has no scope to land in").advise("direct one operand into a scope: x.In(scope)"))
	}
	co := home.o.core
	ctx := &FunctionContext{}
	inner := home.NewScope(name, NoGrad)
	defer inner.Close()
	args := make([]*Tensor, len(in))
	for i, x := range in {
		if x != nil {
			args[i] = x.Detach().In(inner)
		}
	}
	results := f.Forward(ctx, args)

	co.mu.Lock()
	defer co.mu.Unlock()
	n := &node{core: co, module: home.o.module, site: at, edges: make([]edge, len(in)), inputs: make([]*layout, len(in))}
	needs := false
	for i, x := range in {
		n.inputs[i] = &layout{}
		if x == nil {
			continue
		}
		x.refresh()
		n.inputs[i] = x.layout
		if x.meta.carriesGraph() {
			n.edges[i] = x.edge()
			if x.own != nil && x.own != Owner(home) {
				n.holds = append(n.holds, x.own)
			}
			needs = true
		}
	}
	n.seq = co.nextSeq()
	needs = needs && !home.o.noGrad
	out := make([]*Tensor, len(results))
	for i, x := range results {
		if x == nil {
			panic(customError(name, at, co, "result %d is nil", i))
		}
		if x.rec.st == nil || x.rec.owner == nil || !x.rec.owner.within(inner.o) || x.rec.given != 0 {
			panic(customError(name, at, co, "result %d was not made in Forward", i).advise("return Clone of an operand"))
		}
		if slices.ContainsFunc(results[:i], func(y *Tensor) bool { return y != nil && y.rec == x.rec }) {
			panic(customError(name, at, co, "results share memory").advise("Clone one of them"))
		}
		n.outs = append(n.outs, x.layout)
		y := &Tensor{layout: x.layout, rec: x.rec, meta: &meta{}, own: home}
		out[i] = y
	}
	if needs {
		n.attrs = ctx.attach(n, f, args, results)
		n.op = &opdef{name: name, grad: customGrad, custom: true}
	}
	for i, y := range out {
		co.transfer(y.rec, home.o)
		y.rec.base, y.rec.layout = y.meta, y.layout
		if old := y.rec.node; old != nil {
			y.rec.node = nil
			co.dropNode(old)
		}
		if needs && y.dtype.IsFloat() {
			y.meta.node, y.meta.out, y.rec.node = n, int32(i), n
			co.keepNode(n)
		}
	}
	if needs && n.refs == 0 {
		co.dropSaved(n, nil)
	}
	return out
}

// attach keeps the memory of what Forward saved. The caller holds mu.
func (c *FunctionContext) attach(n *node, f Function, args, results []*Tensor) *customCall {
	call := &customCall{f: f}
	for i, x := range c.save {
		if x == nil || x.rec.st == nil {
			continue
		}
		slot := extraSlot + i
		if j := slices.IndexFunc(args, func(a *Tensor) bool { return a != nil && a.meta == x.meta }); j >= 0 {
			slot = j
		} else if j := slices.IndexFunc(results, func(r *Tensor) bool { return r != nil && r.meta == x.meta }); j >= 0 {
			slot = ^j
		}
		call.slots = append(call.slots, slot)
		x.rec.st.refs++
		n.saved = append(n.saved, saved{slot: slot, layout: x.layout, version: x.rec.st.version, st: x.rec.st})
	}
	return call
}

func customError(name string, at *site.Stack, co *core, format string, args ...any) *Error {
	e := newError(ErrValue, name, nil, format, args...)
	e.Site, e.core = Site{at}, co
	return e
}

// customGrad is the gradient rule of custom operations.
func customGrad(b *backward) {
	call := b.n.attrs.(*customCall)
	own := *b // the engine's goes on
	grads := call.f.Backward(&FunctionContext{b: &own}, slices.Clone(b.n.got))
	if len(grads) != len(b.n.edges) {
		panic(customError(b.n.op.name, b.e.at, b.e.co, "Backward returned %d gradients for %d operands", len(grads), len(b.n.edges)))
	}
	for i, g := range grads {
		if g == nil || !b.needs(i) {
			continue
		}
		if x := b.input(i); !sameShape(g.shape, x.shape) || g.dtype != x.dtype {
			panic(customError(b.n.op.name, b.e.at, b.e.co, "Backward returned a gradient %s%s for operand %d, which is %s%s",
				g.dtype, shapeString(g.shape), i, x.dtype, shapeString(x.shape)))
		}
		b.give(i, g)
	}
}
