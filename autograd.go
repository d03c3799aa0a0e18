package ebb

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ebb-ml/ebb/internal/site"
)

// RequiresGrad reports whether x takes part in gradients: it is a leaf that
// collects one, or was computed from one.
func (x *Tensor) RequiresGrad() bool {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	return x.meta.carriesGraph()
}

// IsLeaf reports whether x was not computed from tensors that need gradients.
func (x *Tensor) IsLeaf() bool {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	return x.meta.node == nil
}

// SetRequiresGrad makes the leaf x collect a gradient in Backward, or stops it
// (freezing). It returns x. Only Float32 and Float64 tensors can; for a tensor
// that was computed it is an [ErrGraph] panic. It is torch's requires_grad_.
func (x *Tensor) SetRequiresGrad(on bool) *Tensor {
	co := x.rec.core
	if on && !x.dtype.IsFloat() {
		throw(ErrDType, "requires_grad_", []*Tensor{x}, "only floating-point tensors have gradients")
	}
	co.mu.Lock()
	computed := x.meta.node != nil
	if !computed {
		x.meta.requiresGrad = on
	}
	co.mu.Unlock()
	if computed && !on {
		panic(newError(ErrGraph, "requires_grad_", []*Tensor{x}, "the tensor was computed, so it is no leaf").advise("use Detach"))
	}
	return x
}

// Grad returns the gradient that Backward collected for x, or nil. It lives
// where x lives; results on it and x land as those on x do.
func (x *Tensor) Grad() *Tensor {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	g := x.meta.grad
	if g == nil || g.rec.st == nil {
		return nil
	}
	x.meta.seen = true
	return &Tensor{layout: g.layout, rec: g.rec, meta: g.meta, own: x.own, dir: x.dir}
}

// HasGrad reports whether Backward collected a gradient for x.
func (x *Tensor) HasGrad() bool {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	g := x.meta.grad
	return g != nil && g.rec.st != nil
}

// ZeroGrad releases x's gradient, as optimizers' zero_grad(set_to_none=True).
func (x *Tensor) ZeroGrad() {
	at := site.Here(1)
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	g := x.meta.grad
	if g == nil {
		return
	}
	seen := x.meta.seen || g.rec.st == nil
	x.meta.grad, x.meta.seen = nil, false
	x.rec.core.release(g.rec, at)
	if !seen {
		x.rec.core.reuse(g.rec)
	}
}

// SetGrad makes a copy of g, which has x's shape and type, x's gradient; nil
// releases it.
func (x *Tensor) SetGrad(g *Tensor) {
	x.ZeroGrad()
	if g == nil {
		return
	}
	if !sameShape(x.shape, g.shape) || x.dtype != g.dtype {
		throw(ErrShape, "grad", []*Tensor{x, g}, "a gradient has the shape and type of its tensor")
	}
	c := newCall(opClone, nil, g)
	x.rec.core.mu.Lock()
	c.into, c.kind = x.rec.owner, Gradient
	x.rec.core.mu.Unlock()
	if c.into == nil {
		panic(x.releasedError("grad"))
	}
	y := c.result(g.dtype, g.shape).do()
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	y.meta.node = nil
	x.meta.grad = y
}

// RetainGrad makes x, which was computed, keep its gradient in Backward.
func (x *Tensor) RetainGrad() {
	co := x.rec.core
	co.mu.Lock()
	x.refresh()
	n := x.meta.node
	if n != nil {
		n.retain = append(n.retain, retained{x.meta.out, &Tensor{layout: x.layout, rec: x.rec, meta: x.meta}})
	}
	leaf := x.meta.requiresGrad
	co.mu.Unlock()
	if n == nil && !leaf {
		throw(ErrGraph, "retain_grad", []*Tensor{x}, "the tensor carries no graph")
	}
}

// hook is a function on a result's gradient.
type hook struct {
	out  int32
	f    func(g *Tensor) *Tensor
	post func(x *Tensor)
}

// RegisterHook calls f with x's complete gradient whenever Backward has it,
// before it goes on; what f returns replaces it, nil leaves it. The gradient
// lies in Backward's scope: results on it do too, and die with it. The
// function returned takes the hook away. It is torch.Tensor.register_hook.
func (x *Tensor) RegisterHook(f func(g *Tensor) *Tensor) (remove func()) {
	return x.register(&hook{f: f}, "register_hook")
}

// RegisterPostAccumulateGradHook calls f with the leaf x each time Backward has
// added its complete gradient to x.Grad(). Leaves become complete newest use
// first, in the same order in every run of the same program. It is
// torch.Tensor.register_post_accumulate_grad_hook.
func (x *Tensor) RegisterPostAccumulateGradHook(f func(x *Tensor)) (remove func()) {
	if !x.IsLeaf() {
		throw(ErrGraph, "register_post_accumulate_grad_hook", []*Tensor{x}, "the tensor is no leaf")
	}
	return x.register(&hook{post: f, f: func(*Tensor) *Tensor { return nil }}, "register_post_accumulate_grad_hook")
}

func (x *Tensor) register(h *hook, op string) (remove func()) {
	co := x.rec.core
	co.mu.Lock()
	x.refresh()
	n := x.edge().node
	if n != nil {
		h.out = x.edge().out
		n.hooks = append(n.hooks, h)
	}
	co.mu.Unlock()
	if n == nil {
		throw(ErrGraph, op, []*Tensor{x}, "the tensor needs no gradient")
	}
	return func() {
		co.mu.Lock()
		defer co.mu.Unlock()
		n.hooks = slices.DeleteFunc(slices.Clone(n.hooks), func(k *hook) bool { return k == h })
	}
}

// ownHandle returns a handle on x, which the engine keeps without owner
// handles.
func (x *Tensor) ownHandle() *Tensor {
	y := *x
	return &y
}

// Detach returns x without its graph: the same memory, the same owner, no
// gradient. Changes in place are seen by both. It is torch.Tensor.detach.
func (x *Tensor) Detach() *Tensor {
	y := view(opDetach, nil, x, x.shape, x.strides, x.offset)
	y.meta = &meta{detached: true}
	return y
}

var opDetach = &opdef{name: "detach", constant: true}

// BackwardOption configures [Tensor.Backward].
type BackwardOption interface{ backward(*gradConfig) }

// GradOption configures [Grad].
type GradOption interface{ grad(*gradConfig) }

// GraphOption is an option of both.
type GraphOption interface {
	BackwardOption
	GradOption
}

type gradConfig struct {
	retain, create, unused bool
	gradients              []*Tensor
}

type graphOption func(*gradConfig)

func (o graphOption) backward(c *gradConfig) { o(c) }
func (o graphOption) grad(c *gradConfig)     { o(c) }

type gradOption func(*gradConfig)

func (o gradOption) grad(c *gradConfig) { o(c) }

var (
	// RetainGraph keeps what the graph saved, so that Backward can run again.
	RetainGraph GraphOption = graphOption(func(c *gradConfig) { c.retain = true })

	// CreateGraph gives gradients a graph of their own, for gradients of
	// gradients. It implies RetainGraph.
	CreateGraph GradOption = gradOption(func(c *gradConfig) { c.create, c.retain = true, true })

	// AllowUnused returns nil for an input the outputs do not depend on,
	// instead of an error.
	AllowUnused GradOption = gradOption(func(c *gradConfig) { c.unused = true })
)

// WithGradient gives the gradients of the outputs, one for each, of their
// shapes; by default that of a single number is 1.
func WithGradient(g ...*Tensor) GraphOption {
	return graphOption(func(c *gradConfig) { c.gradients = g })
}

// Backward computes the gradients of x, a single number unless WithGradient is
// given, with respect to the leaves it was computed from, and adds them to
// theirs. It uses up the graph: what it saved is released on the way, newest
// first. If it fails, gradients it created are released again.
//
// It follows torch.Tensor.backward. Two at a time on the same parameters are an
// [ErrBusy] panic; a second one on a graph used up is [ErrGraph].
func (x *Tensor) Backward(opts ...BackwardOption) {
	var cfg gradConfig
	for _, o := range opts {
		o.backward(&cfg)
	}
	cfg.run("backward", []*Tensor{x}, nil)
}

// Grad returns the gradients of the sum of outputs with respect to inputs, in
// inputs' order, without touching theirs. They lie in the youngest scope of the
// outputs. It follows torch.autograd.grad.
func Grad(outputs, inputs []*Tensor, opts ...GradOption) []*Tensor {
	var cfg gradConfig
	for _, o := range opts {
		o.grad(&cfg)
	}
	if len(inputs) == 0 {
		throw(ErrValue, "grad", outputs, "no inputs were given")
	}
	return cfg.run("grad", outputs, inputs)
}

// run is Backward (inputs nil) and Grad.
func (cfg *gradConfig) run(op string, outputs, inputs []*Tensor) []*Tensor {
	at := site.Here(2)
	if len(outputs) == 0 {
		throw(ErrValue, op, nil, "no outputs were given")
	}
	if len(cfg.gradients) > 0 && len(cfg.gradients) != len(outputs) {
		throw(ErrValue, op, outputs, "%d gradients for %d outputs", len(cfg.gradients), len(outputs))
	}
	co := outputs[0].rec.core
	var home *Scope // the youngest scope of the outputs
	var capture map[edge]int
	co.mu.Lock()
	err := func() *Error {
		for _, x := range outputs {
			switch {
			case x.rec.core != co:
				return mixedRuntimes(op, co)
			case x.rec.st == nil:
				return x.releasedError(op)
			}
			x.refresh()
			if !x.meta.carriesGraph() {
				return &Error{Kind: ErrGraph, Given: "the tensor carries no graph", Advice: "compute it from parameters, in a scope that is not NoGrad"}
			}
			if s := x.scope(); s != nil && (home == nil || s.o.seq > home.o.seq) {
				home = s
			}
		}
		if inputs == nil {
			return nil
		}
		capture = make(map[edge]int, len(inputs))
		for i, x := range inputs {
			switch {
			case x.rec.core != co:
				return mixedRuntimes(op, co)
			case x.rec.st == nil:
				return x.releasedError(op)
			}
			x.refresh()
			if !x.meta.carriesGraph() {
				return &Error{Kind: ErrGraph, Given: fmt.Sprintf("input %d needs no gradient", i), Advice: "SetRequiresGrad(true) before it is used"}
			}
			if _, twice := capture[x.edge()]; twice {
				return &Error{Kind: ErrValue, Given: fmt.Sprintf("input %d was given twice", i)}
			}
			capture[x.edge()] = i
		}
		return nil
	}()
	co.mu.Unlock()
	if err == nil && len(cfg.gradients) == 0 {
		for _, x := range outputs {
			if size(x.shape) != 1 {
				err = newError(ErrGraph, op, []*Tensor{x}, "only a single number has a gradient by itself").advise("take Sum or Mean first, or pass WithGradient")
			}
		}
	}
	if err == nil && home == nil && inputs != nil {
		err = &Error{Kind: ErrNoScope, Given: "every output lies in a store, so the gradients have no scope to land in", Advice: "direct one into a scope: x.In(scope)"}
	}
	if err != nil {
		err.Op, err.Site, err.core = op, Site{at}, co
		panic(err)
	}

	mode := NoGrad
	if cfg.create {
		mode = EnableGrad
	}
	var parent *owner
	var up any
	if home != nil {
		parent, up = home.o, home
	} else {
		up = &Runtime{co}
	}
	e := engines.Get().(*engine)
	e.co, e.op, e.keep, e.at, e.capture, e.result = co, op, cfg.retain, at, capture, make([]*Tensor, len(inputs))
	e.scope = co.newScope(parent, up, op, []Mode{mode}, at)
	defer e.scope.Close()
	e.scope.o.kind = Gradient
	grads := make([]*Tensor, len(outputs))
	for i, x := range outputs {
		if i < len(cfg.gradients) && cfg.gradients[i] != nil {
			g := cfg.gradients[i]
			if !sameShape(g.shape, x.shape) || g.dtype != x.dtype {
				throw(ErrShape, op, []*Tensor{x, g}, "the gradient of an output has its shape and type")
			}
			grads[i] = g.In(e.scope)
		} else {
			grads[i] = create(opFull, one, e.scope, x.shape, creation{dtype: x.dtype})
		}
	}
	e.run(outputs, grads)
	for i, g := range e.result {
		if g == nil && !cfg.unused {
			throw(ErrGraph, op, []*Tensor{inputs[i]}, "the outputs do not depend on input %d", i)
		}
	}
	taken := e.take(home)
	e.reset()
	return taken
}

// one is the attribute of a fill with 1.
var one any = fillValue{float: 1}

// engines holds those whose run ended well, for reuse.
var engines = sync.Pool{New: func() any { return new(engine) }}

// reset forgets the run and keeps the room for the next.
func (e *engine) reset() {
	forget(e.order)
	forget(e.leaves)
	forget(e.created)
	forget(e.given)
	clear(e.roots)
	*e = engine{roots: e.roots[:0], order: e.order[:0], leaves: e.leaves[:0], created: e.created[:0], given: e.given[:0], views: e.views[:0], spare: e.spare}
	engines.Put(e)
}

// take moves Grad's results to home and returns them.
func (e *engine) take(home *Scope) []*Tensor {
	if e.capture == nil {
		return nil
	}
	e.co.mu.Lock()
	defer e.co.mu.Unlock()
	for i, g := range e.result {
		if g == nil {
			continue
		}
		y := *g
		y.dir = nil
		if g.rec.owner == e.scope.o {
			e.co.transfer(g.rec, home.o)
			y.own = home
		} else if g.rec.owner != home.o {
			y.dir = home
		}
		g.rec.given--
		e.result[i] = &y
	}
	return e.result
}

// Claim marks params as being trained, for an optimizer's step, until release
// is called. If a Backward or another step already runs on one of them it
// panics with [ErrBusy].
func Claim(op string, params []*Tensor) (release func()) {
	e := engines.Get().(*engine)
	e.op, e.at = op, site.Here(1)
	var err *Error
	for i, p := range params {
		co := p.rec.core
		co.mu.Lock()
		switch n := p.leafNode(); {
		case p.rec.st == nil:
			err = p.releasedError(op)
		case n.run != nil && n.run != e:
			err = &Error{Kind: ErrBusy, Op: op, Given: "a Backward or Step runs on the same parameters", Released: Site{n.run.at},
				Advice: "train a model from one goroutine at a time", core: co}
		default:
			n.run = e
		}
		co.mu.Unlock()
		if err != nil {
			params = params[:i]
			break
		}
	}
	release = func() {
		for _, p := range params {
			p.rec.core.mu.Lock()
			if p.meta.leaf.run == e {
				p.meta.leaf.run = nil
			}
			p.rec.core.mu.Unlock()
		}
		e.reset()
	}
	if err != nil {
		err.Site = Site{e.at}
		release()
		panic(err)
	}
	return release
}
