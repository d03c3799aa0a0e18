package ebb

import "github.com/ebb-ml/ebb/internal/site"

// Owner is a *[Store] or a *[Scope]: where tensors live.
type Owner interface {
	// Name returns the name the owner was opened with.
	Name() string
	// Close releases every tensor in the owner, those of owners below it
	// first. It never waits: memory that a running operation uses is given
	// back when the operation ends. Closing twice does nothing.
	Close()
	inner() *owner
}

// Mode says whether a scope's operations record a graph for gradients.
type Mode uint8

// The modes of a scope. A scope without one takes its parent's; under the
// runtime that is EnableGrad. EnableGrad inside a NoGrad scope records again,
// as torch.enable_grad does.
const (
	inheritGrad Mode = iota
	EnableGrad       // torch.enable_grad
	NoGrad           // torch.no_grad
)

// owner is the inner state of a Store or Scope, a node of the tree under a
// core, guarded by core.mu. It refers to no handle, so that the collector can
// find forgotten handles.
type owner struct {
	core       *core
	parent     *owner // nil directly under the runtime
	prev, next *owner
	kids       ownerList
	records    recordList
	store      bool
	noGrad     bool
	kind       Kind // of what is made here
	name       string
	path       string // fullName, once it was asked for
	module     string // path of the module whose call this scope is
	seq        uint64 // order of opening, for the youngest of several
	closed     bool
	created    *site.Stack
	closedAt   *site.Stack
}

// handle is what Store and Scope share: the inner owner, and the handle above
// it, which must not be collected while this one is in use.
type handle struct {
	o  *owner
	up any
}

func (h *handle) inner() *owner { return h.o }

// Name returns the name the owner was opened with.
func (h *handle) Name() string { return h.o.name }

// Closed reports whether the owner was closed, itself or with one above it.
func (h *handle) Closed() bool {
	h.o.core.mu.Lock()
	defer h.o.core.mu.Unlock()
	return h.o.closed
}

// Close releases every tensor in the owner and in those below it. It never
// waits: memory that a running operation uses is given back when the
// operation ends. Closing twice does nothing.
func (h *handle) Close() {
	at := site.Here(1)
	h.o.core.mu.Lock()
	defer h.o.core.mu.Unlock()
	h.o.core.closeOwner(h.o, at)
}

// Runtime returns the runtime the owner belongs to.
func (h *handle) Runtime() *Runtime {
	up := h.up
	for {
		switch u := up.(type) {
		case *Runtime:
			return u
		case *Scope:
			up = u.up
		case *Store:
			up = u.up
		default:
			return &Runtime{h.o.core}
		}
	}
}

// Store keeps: weights, gradients, buffers, optimizer state, data sets. What
// is in it lives until it is closed. Results of operations never land in a
// store; creation functions and [Tensor.MoveTo] put tensors there.
type Store struct{ handle }

// Scope computes: results of operations land in scopes and die with them at
// the latest. See the package comment for which scope a result lands in.
type Scope struct {
	handle
	tag any
}

// NewStore opens a store below s. It closes with s.
func (s *Store) NewStore(name string) *Store {
	kid := &Store{handle{up: s}}
	kid.o = s.o.core.open(s.o, name, true, site.Here(1))
	return kid
}

// Parent returns the store above s, or nil directly under the runtime.
func (s *Store) Parent() *Store {
	p, _ := s.up.(*Store)
	return p
}

// Empty reports whether neither s nor any store below it holds a tensor.
func (s *Store) Empty() bool {
	s.o.core.mu.Lock()
	defer s.o.core.mu.Unlock()
	return s.o.empty()
}

func (o *owner) empty() bool {
	if o.records.first != nil {
		return false
	}
	for k := o.kids.first; k != nil; k = k.next {
		if !k.empty() {
			return false
		}
	}
	return true
}

// NewScope opens a scope below s, younger than every scope open now. It closes
// with s and inherits its mode unless another is given.
func (s *Scope) NewScope(name string, mode ...Mode) *Scope {
	return s.o.core.newScope(s.o, s, name, mode, site.Here(1))
}

// Run calls f with a new scope below s, closes it, and returns f's error. A
// panic with an [*Error] becomes an error; any other goes on, after the scope
// is closed.
func (s *Scope) Run(mode Mode, f func(s *Scope) error) (err error) {
	return run(s.o.core.newScope(s.o, s, "run", []Mode{mode}, site.Here(1)), f)
}

// NoGrad reports whether operations in the scope record no graph.
func (s *Scope) NoGrad() bool { return s.o.noGrad }

// Module returns the path of the module whose call the scope is ("fc1"), or
// "".
func (s *Scope) Module() string { return s.o.module }

// Tag returns what [Scope.Call] was given for this scope or, failing that, for
// the nearest one above it; nil if there is none.
func (s *Scope) Tag() any {
	for up := s; up != nil; up, _ = up.up.(*Scope) {
		if up.tag != nil {
			return up.tag
		}
	}
	return nil
}

// ResultScope returns where the result of an operation on operands lands: the
// youngest scope among theirs, or nil if all lie in stores. nil operands do
// not count.
func ResultScope(operands ...*Tensor) *Scope {
	var youngest *Scope
	for _, x := range operands {
		if x == nil {
			continue
		}
		if s := x.Scope(); s != nil && (youngest == nil || s.o.seq > youngest.o.seq) {
			youngest = s
		}
	}
	return youngest
}

// Recycle releases every tensor of the scope but keep, which may lie anywhere:
// for loops that carry state. The graph of what is kept stays. Scopes below s
// are left alone.
func (s *Scope) Recycle(keep ...*Tensor) {
	at := site.Here(1)
	co := s.o.core
	co.mu.Lock()
	defer co.mu.Unlock()
	for _, x := range keep {
		if x.rec.core == co && x.rec.st != nil {
			x.rec.kept = true
		}
	}
	for p := s.o.records.first; p != nil; {
		next := p.next
		if !p.kept {
			co.release(p.rec, at)
		}
		p = next
	}
	for _, x := range keep {
		if x.rec.core == co && x.rec.st != nil {
			x.rec.kept = false
		}
	}
}

// newScope opens a scope and its handle.
func (co *core) newScope(parent *owner, up any, name string, mode []Mode, at *site.Stack) *Scope {
	s := &Scope{handle: handle{up: up}}
	s.o = co.open(parent, name, false, at)
	for _, m := range mode {
		if m != inheritGrad {
			s.o.noGrad = m == NoGrad
		}
	}
	return s
}

// open makes an owner below parent (nil: the runtime). A closed parent is a
// panic with ErrClosed, a closed runtime with ErrRuntime, a processor level that
// cannot be had with ErrValue.
func (co *core) open(parent *owner, name string, store bool, at *site.Stack) *owner {
	co.mu.Lock()
	var e *Error
	switch {
	case co.closed:
		e = co.closedError("")
	case parent != nil && parent.closed:
		e = parent.closedError("")
	case parent == nil:
		e = levelError()
	}
	if e != nil {
		co.mu.Unlock()
		e.Site = Site{at}
		panic(e)
	}
	defer co.mu.Unlock()
	co.seq++
	co.clock = sinceStart()
	o := &owner{core: co, parent: parent, store: store, name: name, seq: co.seq, created: at, kind: Activation}
	if store {
		o.kind = Buffer
	}
	siblings := &co.roots
	if parent != nil {
		siblings = &parent.kids
		o.noGrad = parent.noGrad
		o.module = parent.module
	}
	siblings.push(o)
	co.owners++
	return o
}

// closeOwner closes o and all below it, children first. The caller holds mu.
func (co *core) closeOwner(o *owner, at *site.Stack) {
	if o.closed {
		return
	}
	for o.kids.last != nil {
		co.closeOwner(o.kids.last, at)
	}
	o.closed, o.closedAt = true, at
	// Newest first, so that what lies together in memory is freed together.
	for o.records.last != nil {
		co.release(o.records.last.rec, at)
	}
	if o.parent != nil {
		o.parent.kids.remove(o)
	} else {
		co.roots.remove(o)
	}
	co.owners--
}

func (o *owner) closedError(op string) *Error {
	what := "scope"
	if o.store {
		what = "store"
	}
	return &Error{Kind: ErrClosed, Op: op, Owner: o.name, Given: what + " " + o.name + " is closed", Allocated: Site{o.created},
		Released: Site{o.closedAt}, core: o.core, Advice: "open a new one, or close it after its last use"}
}

// fullName returns the names from the root to o. The caller holds mu.
func (o *owner) fullName() string {
	if o.parent == nil {
		return o.name
	}
	if o.path == "" {
		o.path = o.parent.fullName() + "/" + o.name
	}
	return o.path
}

// ownerList is a doubly linked list of siblings.
type ownerList struct{ first, last *owner }

func (l *ownerList) push(o *owner) {
	o.prev = l.last
	if l.last != nil {
		l.last.next = o
	} else {
		l.first = o
	}
	l.last = o
}

func (l *ownerList) remove(o *owner) {
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		l.first = o.next
	}
	if o.next != nil {
		o.next.prev = o.prev
	} else {
		l.last = o.prev
	}
	o.prev, o.next = nil, nil
}
