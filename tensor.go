package ebb

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/site"
)

// Tensor is a strided view of numbers off the Go heap. It is a handle: copying
// the pointer is free, and dropping it frees nothing, since the memory belongs
// to the tensor's scope or store. A tensor used after its owner closed is an
// [ErrReleased] panic that says where it was made and where released.
//
// Operations on tensors panic with an [*Error]; see [Catch].
type Tensor struct {
	*layout
	rec  *record
	meta *meta
	own  Owner  // the handle of its owner, so that it is not collected
	dir  *Scope // where results are directed by In; nil: the owner
}

// layout is where a tensor's elements lie in its storage, in elements. It
// never changes.
type layout struct {
	dtype   DType
	shape   []int
	strides []int
	offset  int
}

func (l *layout) bytes() int64 { return int64(size(l.shape)) * int64(l.dtype.Size()) }

func (l *layout) contiguous() bool {
	return cpu.Array{Shape: l.shape, Strides: l.strides}.Contiguous()
}

// repeats reports whether several elements are one number in memory.
func (l *layout) repeats() bool {
	repeats := false
	for i, n := range l.shape {
		if n == 0 {
			return false
		}
		repeats = repeats || l.strides[i] == 0 && n > 1
	}
	return repeats
}

// array returns the layout over memory that starts at base.
func (l *layout) array(base unsafe.Pointer) cpu.Array {
	return cpu.Array{Data: unsafe.Add(base, l.offset*l.dtype.Size()), DType: cpu.DType(l.dtype), Shape: l.shape, Strides: l.strides}
}

// form returns the layout without memory, to plan with.
func (l *layout) form() cpu.Array {
	return cpu.Array{DType: cpu.DType(l.dtype), Shape: l.shape, Strides: l.strides}
}

// meta is a tensor's gradient state. A tensor and its In share one; a view and
// a detached tensor have their own. Guarded by core.mu.
type meta struct {
	requiresGrad bool    // a leaf that collects gradients
	detached     bool    // a view that does not follow its base's graph
	seen         bool    // somebody outside has a handle on grad
	out          int32   // which of node's results it is
	graphs       uint32  // record.graphs when node was set; if behind, node is stale
	node         *node   // what computed it, if it carries a graph
	leaf         *node   // collects the gradient of a leaf; made when first needed
	grad         *Tensor // the gradient; without owner handles
}

func (m *meta) carriesGraph() bool { return m.node != nil || m.requiresGrad }

// Shape returns the size of each dimension, as a copy.
func (x *Tensor) Shape() []int { return slices.Clone(x.shape) }

// Strides returns the step between neighbours of each dimension, in elements, as
// a copy.
func (x *Tensor) Strides() []int { return slices.Clone(x.strides) }

// Offset returns where the first element lies in the storage, in elements. It
// is torch's storage_offset.
func (x *Tensor) Offset() int { return x.offset }

// DType returns the element type.
func (x *Tensor) DType() DType { return x.dtype }

// Dim returns the number of dimensions.
func (x *Tensor) Dim() int { return len(x.shape) }

// Size returns the size of dimension dim, which may count from the end.
func (x *Tensor) Size(dim int) int {
	d, ok := wrapDim(dim, len(x.shape))
	if !ok || len(x.shape) == 0 {
		throw(ErrIndex, "size", []*Tensor{x}, "dimension %d of a tensor with %d", dim, len(x.shape))
	}
	return x.shape[d]
}

// Numel returns the number of elements.
func (x *Tensor) Numel() int { return size(x.shape) }

// NBytes returns the bytes of the elements, not of the storage they lie in.
func (x *Tensor) NBytes() int64 { return x.bytes() }

// IsContiguous reports whether the elements lie row-major without gaps.
func (x *Tensor) IsContiguous() bool { return x.contiguous() }

// Runtime returns the runtime the tensor belongs to.
func (x *Tensor) Runtime() *Runtime { return &Runtime{x.rec.core} }

// Scope returns where results of operations on x alone land: the scope of the
// last In, else the scope x lies in, else (x lies in a store) nil.
func (x *Tensor) Scope() *Scope {
	x.rec.core.mu.Lock()
	if x.rec.st == nil {
		x.rec.core.mu.Unlock()
		e := x.releasedError("scope")
		e.Site = Site{site.Here(1)}
		panic(e)
	}
	defer x.rec.core.mu.Unlock()
	return x.scope()
}

// scope is Scope. The caller holds core.mu.
func (x *Tensor) scope() *Scope {
	if x.dir != nil {
		return x.dir
	}
	o := x.rec.owner
	if o == nil || o.store {
		return nil
	}
	if s, ok := x.own.(*Scope); ok && s.o == o {
		return s
	}
	// The tensor moved up to another scope than its handle knows.
	for s, _ := x.own.(*Scope); s != nil; s, _ = s.up.(*Scope) {
		if s.o == o {
			return s
		}
	}
	return &Scope{handle: handle{o: o, up: x.own}}
}

// Store returns the store x lies in, or nil if it lies in a scope.
func (x *Tensor) Store() *Store {
	s, _ := x.own.(*Store)
	return s
}

// Released reports whether x's owner has closed.
func (x *Tensor) Released() bool {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	return x.rec.st == nil
}

// SetName names x in reports of memory, in the place of a module path. It
// names the storage, so every view of it as well.
func (x *Tensor) SetName(name string) *Tensor {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	if x.rec.st != nil {
		x.rec.st.module = name
		if h := x.rec.core.history; h != nil {
			h.relabel(x.rec.st, func(l *label) { l.module = name })
		}
	}
	return x
}

// Kind returns what x's memory is for.
func (x *Tensor) Kind() Kind {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	if x.rec.st == nil {
		return 0
	}
	return x.rec.st.kind
}

// SharesStorage reports whether x and y lie in the same memory.
func (x *Tensor) SharesStorage(y *Tensor) bool {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	return x.rec.st != nil && x.rec.st == y.rec.st
}

// sameElements reports whether x and y are the same elements of the same
// memory, in the same order.
func (x *Tensor) sameElements(y *Tensor) bool {
	if x.rec.st != y.rec.st || x.offset != y.offset || !sameShape(x.shape, y.shape) {
		return false
	}
	for i, n := range x.shape {
		if n > 1 && x.strides[i] != y.strides[i] {
			return false
		}
	}
	return true
}

// Version returns how many in-place operations changed x's storage, as
// torch's Tensor._version.
func (x *Tensor) Version() int {
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	if x.rec.st == nil {
		return 0
	}
	return int(x.rec.st.version)
}

// releasedError describes the use of a released tensor.
func (x *Tensor) releasedError(op string) *Error {
	e := &Error{Kind: ErrReleased, Op: op, Given: "the tensor was released", Allocated: Site{x.rec.allocated}, Released: Site{x.rec.released},
		Shapes: [][]int{x.shape}, DTypes: []DType{x.dtype}, core: x.rec.core,
		Advice: "keep it with MoveTo before its scope closes; accumulate with total.Add_(x.Detach())"}
	return e
}

// In returns x itself with the results of operations on it directed to s,
// which must be younger than the scope x lies in; a tensor of a store goes
// anywhere. Nothing is copied or counted. An older or closed scope is a panic
// with ErrOutward or ErrClosed: out of a scope leads only [Tensor.MoveTo].
func (x *Tensor) In(s *Scope) *Tensor {
	co := x.rec.core
	co.mu.Lock()
	var e *Error
	switch o := x.rec.owner; {
	case s == nil:
		e = &Error{Kind: ErrNoScope, Given: "no scope was given", core: co}
	case s.o.core != co:
		e = mixedRuntimes("In", co)
	case x.rec.st == nil:
		e = x.releasedError("In")
	case s.o.closed:
		e = s.o.closedError("In")
	case o != nil && !o.store && s.o.seq < o.seq:
		e = &Error{Kind: ErrOutward, Op: "In", Owner: s.o.name, core: co,
			Given:  fmt.Sprintf("scope %s is older than %s, where the tensor lies", s.o.name, o.name),
			Advice: "use MoveTo to take a tensor out of its scope"}
	}
	co.mu.Unlock()
	if e != nil {
		e.Site = Site{site.Here(1)}
		panic(e)
	}
	y := *x
	y.dir = s
	return &y
}

func mixedRuntimes(op string, co *core) *Error {
	return &Error{Kind: ErrRuntime, Op: op, Given: "tensors or scopes of two runtimes", core: co, Advice: "copy the data: FromSlice(owner, x.Float32s(), x.Shape()...)"}
}

// dense returns the contiguous layout of a type and shape, the same one each
// time if it was asked for lately.
func (co *core) dense(dtype DType, shape []int) *layout {
	h := uint(dtype) + 1
	for _, n := range shape {
		h = h*0x9e3779b97f4a7c15 + uint(n)
	}
	slots := &co.layouts[h*0x9e3779b97f4a7c15>>(64-layoutBits)]
	last := slots[0].Load()
	if last.is(dtype, shape) {
		return last
	}
	if l := slots[1].Load(); l.is(dtype, shape) {
		return l
	}
	n := len(shape)
	dims := make([]int, 2*n)
	copy(dims, shape)
	l := &layout{dtype: dtype, shape: dims[:n:n], strides: stridesFor(dims[n:], shape)}
	slots[1].Store(last)
	slots[0].Store(l)
	return l
}

// is reports whether l is of a type and shape.
func (l *layout) is(dtype DType, shape []int) bool {
	return l != nil && l.dtype == dtype && sameShape(l.shape, shape)
}

// layoutBits is the logarithm of how many pairs of layouts a runtime keeps at hand.
const layoutBits = 6

// alone is a tensor with a layout and gradient state of its own, in one Go
// allocation.
type alone struct {
	t      Tensor
	layout layout
	meta   meta
}

// view returns a tensor that shares x's record, with another layout.
func (x *Tensor) view(shape, strides []int, offset int) *Tensor {
	v := &alone{layout: layout{x.dtype, shape, strides, offset}}
	v.t = Tensor{layout: &v.layout, rec: x.rec, meta: &v.meta, own: x.own, dir: x.dir}
	return &v.t
}
