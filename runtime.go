package ebb

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ebb-ml/ebb/internal/alloc"
	"github.com/ebb-ml/ebb/internal/site"
)

// Runtime owns everything tensors need: the allocator and its cache, the
// ledgers, the memory limit, the random stream and the tree of stores and
// scopes. There is no global one; a program usually makes one and closes it
// last. It is safe for use by many goroutines.
type Runtime struct{ core *core }

// core is what a Runtime holds. The tree of owners refers to it and never to
// the Runtime, so that the collector can tell when the user forgot one.
//
// mu guards all bookkeeping: the tree, records, storages' counts, the graph
// and the ledgers. It is held for bookkeeping only, never while a kernel or a
// user's function runs.
type core struct {
	mu       sync.Mutex
	alloc    *alloc.Allocator
	limit    int64
	roots    ownerList
	seq      uint64 // openings of scopes and makings of graph nodes, in order
	live     Ledger
	byKind   [len(kindNames)]Ledger
	owners   int
	records  int
	nodes    int
	inflight callList
	spare    []*storage // freed, for reuse
	idle     []*node    // dropped, for reuse
	unused   []*record  // that an engine made and nobody else saw, for reuse
	places   []*place   // of released records, for reuse
	layouts  [1 << layoutBits][2]atomic.Pointer[layout]
	work     []*node // dropNode's
	closed   bool
	failed   atomic.Bool
	gen      *Generator
	onLeak   func(Leak)
	leaks    []Leak
	made     int64     // allocations so far
	clock    int64     // when a scope or store was last opened, or some allocations ago; see sinceStart
	history  *recorder // nil: off
	events   uint64    // recorded in histories that were stopped
	watch    *watch    // nil: none
	shortage func(rt *Runtime, e *Error)
}

// RuntimeOption configures a [NewRuntime].
type RuntimeOption func(*core)

// Limit bounds the bytes mapped from the system, cache, workspace and
// prefetched batches included, at every moment. Past it operations fail with
// [ErrOutOfMemory] after the cache was emptied. A limit of 0 or less is none.
func Limit(bytes int64) RuntimeOption {
	return func(co *core) {
		co.limit = max(bytes, 0)
		co.alloc.SetLimit(co.limit)
	}
}

// OnLeak sets what is called when the collector finds a store or scope that
// was forgotten before it was closed. Its memory has been reclaimed by then.
// The default prints a line to standard error.
func OnLeak(f func(Leak)) RuntimeOption { return func(co *core) { co.onLeak = f } }

// Leak tells of a store or scope that its user forgot to close.
type Leak struct {
	Owner string // its name
	Site  Site   // where it was made
	Bytes int64  // what it held
}

// String describes the leak in one line.
func (l Leak) String() string {
	return fmt.Sprintf("%s was never closed; %s reclaimed by the collector; made at %s", l.Owner, FormatBytes(l.Bytes), l.Site)
}

// NewRuntime returns a runtime with the given options. Close it when nothing
// is needed of it any more.
func NewRuntime(opts ...RuntimeOption) *Runtime {
	co := &core{alloc: alloc.New(), gen: NewGenerator(defaultSeed), onLeak: func(l Leak) { fmt.Fprintln(os.Stderr, "ebb: leak:", l) }}
	for _, o := range opts {
		o(co)
	}
	rt := &Runtime{co}
	runtime.AddCleanup(rt, (*core).abandoned, co)
	co.startWatch()
	return rt
}

// abandoned closes a runtime whose handle became unreachable, and with it the
// handles of all its owners.
func (co *core) abandoned() {
	co.endWatch()
	co.mu.Lock()
	defer co.mu.Unlock()
	for co.roots.first != nil {
		co.closeOwner(co.roots.first, nil)
	}
	co.closed = true
	if len(co.inflight) == 0 {
		_ = co.alloc.Close()
	}
}

// closeTimeout is how long Close waits for operations that still run.
var closeTimeout = 10 * time.Second

// Close closes every store and scope that is still open, waits up to ten
// seconds for running operations, and empties the cache; live and mapped bytes
// are then 0. It returns an [ErrLeak] error listing what was open, unless an
// error was caught in this runtime before (the leak would be its consequence),
// and an [ErrTimeout] error if an operation kept its lease. Closing twice does
// nothing.
func (rt *Runtime) Close() error {
	co, at := rt.core, site.Here(1)
	co.endWatch() // before anything goes: what is still held then is what the history is asked about
	co.mu.Lock()
	if co.closed {
		co.mu.Unlock()
		return nil
	}
	var errs []error
	held := co.holdings()
	held = slices.DeleteFunc(held, func(h Holding) bool { return h.Owner == leaseOwner })
	if !co.failed.Load() && (len(held) > 0 || len(co.leaks) > 0) {
		e := &Error{Kind: ErrLeak, Given: "the runtime was closed while memory was held", Leaks: held, core: co,
			Advice: "close the stores and scopes first"}
		for _, l := range co.leaks {
			e.Given += "; " + l.String()
		}
		errs = append(errs, e)
	}
	for co.roots.first != nil {
		co.closeOwner(co.roots.first, at)
	}
	co.closed = true
	co.mu.Unlock()

	if err := co.waitLeases(); err != nil {
		return errors.Join(append(errs, err)...)
	}
	co.mu.Lock()
	defer co.mu.Unlock()
	return errors.Join(append(errs, co.alloc.Close())...)
}

// waitLeases waits until no operation runs, closeTimeout at most.
func (co *core) waitLeases() error {
	for end := time.Now().Add(closeTimeout); ; time.Sleep(time.Millisecond) {
		co.mu.Lock()
		if len(co.inflight) == 0 {
			co.mu.Unlock()
			return nil
		}
		c := co.inflight[0]
		e := &Error{Kind: ErrTimeout, Op: c.op.name, Given: "an operation still holds its operands after " + closeTimeout.String(),
			Site: Site{c.site}, Advice: "let it return before Close", core: co}
		co.mu.Unlock()
		if time.Now().After(end) {
			return e
		}
	}
}

func (co *core) closedError(op string) *Error {
	return &Error{Kind: ErrRuntime, Op: op, Given: "the runtime is closed", core: co, Advice: "close the runtime last"}
}

// ManualSeed restarts the runtime's random stream as torch.manual_seed does:
// the same seed gives the same numbers as PyTorch's CPU generator. PyTorch
// takes a negative seed s as 2^64 + s, which is uint64(s).
func (rt *Runtime) ManualSeed(seed uint64) { rt.core.gen.ManualSeed(seed) }

// Generator returns the runtime's own random stream, which creation functions
// use when they are given none.
func (rt *Runtime) Generator() *Generator { return rt.core.gen }

// NewStore opens a store directly under the runtime. A store that becomes
// unreachable without Close is reported and reclaimed.
func (rt *Runtime) NewStore(name string) *Store {
	s := &Store{handle{up: rt}}
	s.o = rt.core.open(nil, name, true, site.Here(1))
	runtime.AddCleanup(s, rt.core.forgotten, s.o)
	return s
}

// NewScope opens a scope directly under the runtime, with gradients unless
// mode is NoGrad. A scope that becomes unreachable without Close is reported
// and reclaimed; [Runtime.Run] closes by itself.
func (rt *Runtime) NewScope(name string, mode ...Mode) *Scope {
	s := rt.core.newScope(nil, rt, name, mode, site.Here(1))
	runtime.AddCleanup(s, rt.core.forgotten, s.o)
	return s
}

// Run calls f with a new scope, closes it, and returns f's error. A panic with
// an [*Error] becomes an error; any other goes on, after the scope is closed.
//
//	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error { ... })
func (rt *Runtime) Run(mode Mode, f func(s *Scope) error) (err error) {
	return run(rt.core.newScope(nil, rt, "run", []Mode{mode}, site.Here(1)), f)
}

func run(s *Scope, f func(s *Scope) error) (err error) {
	defer s.Close()
	defer Catch(&err)
	return f(s)
}

// EmptyCache gives cached memory back to the system: free segments are
// unmapped, and free pages inside segments still in use are returned. It
// reports the bytes that were unmapped.
func (rt *Runtime) EmptyCache() int64 {
	rt.core.mu.Lock()
	defer rt.core.mu.Unlock()
	if rt.core.closed {
		return 0
	}
	return rt.core.alloc.EmptyCache()
}

// Stats returns the account of the runtime's memory now.
func (rt *Runtime) Stats() Stats {
	co := rt.core
	co.mu.Lock()
	defer co.mu.Unlock()
	a := co.alloc.Stats()
	s := Stats{Live: co.live, ByKind: make(map[Kind]Ledger, len(Kinds)),
		Mapped: a.Mapped, MappedPeak: a.MappedPeak, InUse: a.InUse, Cached: a.Free, LargestHole: a.LargestHole,
		Segments: int64(a.Segments), Retries: int64(a.NumRetries), OutOfMemory: int64(a.NumOOMs), Limit: co.limit,
		Owners: co.owners, Tensors: co.records, Nodes: co.nodes, Leases: len(co.inflight)}
	for _, k := range Kinds {
		s.ByKind[k] = co.byKind[k]
	}
	return s
}

// ResetPeak sets every peak to what is live now.
func (rt *Runtime) ResetPeak() {
	co := rt.core
	co.mu.Lock()
	defer co.mu.Unlock()
	co.live.Peak = co.live.Current
	for i := range co.byKind {
		co.byKind[i].Peak = co.byKind[i].Current
	}
	co.alloc.ResetPeaks()
	if co.history != nil {
		co.history.peakFrom = co.history.next
	}
}

// Holdings lists all live memory and what keeps it: tensors of open stores and
// scopes, memory that only the graph keeps, and what running operations hold.
func (rt *Runtime) Holdings() []Holding {
	rt.core.mu.Lock()
	defer rt.core.mu.Unlock()
	return rt.core.holdings()
}

const (
	graphOwner = "graph"
	leaseOwner = "lease"
)

// holdings is Holdings. The caller holds mu.
func (co *core) holdings() []Holding {
	var out []Holding
	now := sinceStart()
	co.visitStorages(func(st *storage, owner string) {
		out = append(out, Holding{Kind: st.kind, DType: st.dtype(), Shape: st.shape(), Bytes: st.bytes,
			Owner: owner, Module: st.module, Op: st.op, Site: Site{st.site}, Number: st.number, Age: time.Duration(now - st.born)})
	})
	return out
}

// visitStorages calls f once for each storage and what keeps it. The caller
// holds mu.
func (co *core) visitStorages(f func(st *storage, owner string)) {
	seen := map[*storage]bool{}
	add := func(st *storage, owner string) {
		if st == nil || seen[st] {
			return
		}
		seen[st] = true
		f(st, owner)
	}
	graph := map[*node]bool{}
	var saved []*storage
	var visit func(o *owner)
	visit = func(o *owner) {
		for p := o.records.first; p != nil; p = p.next {
			add(p.st, o.fullName())
			collectSaved(p.node, graph, &saved)
		}
		for k := o.kids.first; k != nil; k = k.next {
			visit(k)
		}
	}
	for o := co.roots.first; o != nil; o = o.next {
		visit(o)
	}
	for _, st := range saved {
		add(st, graphOwner)
	}
	for _, c := range co.inflight {
		for _, st := range c.held {
			add(st, leaseOwner)
		}
	}
}

// collectSaved appends the storages that n and the nodes before it saved.
func collectSaved(n *node, seen map[*node]bool, out *[]*storage) {
	stack := []*node{n}
	for len(stack) > 0 {
		n, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		for i := range n.saved {
			if st := n.saved[i].st; st != nil {
				*out = append(*out, st)
			}
		}
		for _, e := range n.edges {
			stack = append(stack, e.node)
		}
	}
}

// forgotten is the collector's witness: the handle of a root owner became
// unreachable.
func (co *core) forgotten(o *owner) {
	co.mu.Lock()
	if o.closed {
		co.mu.Unlock()
		return
	}
	before := co.live.Current
	co.closeOwner(o, nil)
	l := Leak{Owner: o.name, Site: Site{o.created}, Bytes: before - co.live.Current}
	co.leaks = append(co.leaks, l)
	f := co.onLeak
	co.mu.Unlock()
	if f != nil {
		f(l)
	}
}

// Leaks returns the stores and scopes that the collector found forgotten so
// far.
func (rt *Runtime) Leaks() []Leak {
	rt.core.mu.Lock()
	defer rt.core.mu.Unlock()
	return slices.Clone(rt.core.leaks)
}

// WaitLeases waits until no operation of the runtime runs, ten seconds at
// most; then it returns an [ErrTimeout] error with the operation and its site.
func (rt *Runtime) WaitLeases() error { return rt.core.waitLeases() }

// MarkFailed tells the runtime that a run in it failed, so that Close does not
// report what the failure left open.
func (rt *Runtime) MarkFailed() { rt.core.failed.Store(true) }

// FailNthAllocation makes the nth allocation from now fail as if the system
// had refused it; n of 0 or less turns it off. It is meant for tests of error
// paths.
func (rt *Runtime) FailNthAllocation(n int) {
	rt.core.mu.Lock()
	defer rt.core.mu.Unlock()
	rt.core.alloc.FailNth(n)
}
