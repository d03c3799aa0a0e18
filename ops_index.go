package ebb

import (
	"errors"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/cpu/index"
)

// indexError turns a kernel's error about an index of operand 1 into an *Error.
func (c *call) indexError(err error) *Error {
	var e *index.Error
	if !errors.As(err, &e) {
		return nil
	}
	at := make([]int, len(c.in[1].shape))
	pos := e.Pos
	for d := len(at) - 1; d >= 0; d-- {
		at[d] = pos % c.in[1].shape[d]
		pos /= c.in[1].shape[d]
	}
	bad := newError(ErrIndex, c.op.name, c.in, "index %d at position %s of the indices is out of range for a dimension of size %d", e.Index, shapeString(at), e.Size)
	return bad.advise("indices run from 0 to %d; negative ones do not count from the end", e.Size-1)
}

// wantIndices panics unless idx can be indices.
func wantIndices(op string, x, idx *Tensor) {
	if idx.dtype != Int64 && idx.dtype != Int32 {
		panic(newError(ErrDType, op, []*Tensor{x, idx}, "indices of type %s, expected int64 or int32", idx.dtype).advise("convert with To(Int64)"))
	}
}

// vectorOf returns idx, which has at most one dimension, with one.
func vectorOf(op string, x, idx *Tensor) *Tensor {
	wantIndices(op, x, idx)
	if len(idx.shape) > 1 {
		panic(newError(ErrShape, op, []*Tensor{x, idx}, "indices of %d dimensions, expected one", len(idx.shape)).advise("Flatten them, or use Gather"))
	}
	return idx.View(-1)
}

// copyFirst starts an operation that changes a copy of operand 0, or operand 0
// itself if it is in place, and returns what to change.
func (c *call) copyFirst() cpu.Array {
	dst := c.dst(0)
	if !c.inplace {
		elementwise.Copy(dst, c.src(0))
	}
	return dst
}

// sourceApart returns operand 2, from scratch space if the call changes memory
// that it lies in.
func (c *call) sourceApart() cpu.Array {
	src := c.src(2)
	if c.work == 0 {
		return src
	}
	tmp := cpu.Array{Data: c.workspace(), DType: src.DType, Shape: src.Shape, Strides: contiguousStrides(src.Shape)}
	elementwise.Copy(tmp, src)
	return tmp
}

// addInPlace runs op, which adds src to x at idx, in place.
func addInPlace(op *opdef, dim int, x, idx, src *Tensor) {
	if x.SharesStorage(idx) {
		panic(newError(ErrValue, op.name, []*Tensor{x, idx, src}, "the indices lie in the memory that is changed").advise("Clone them first"))
	}
	c := newCall(op, dim, x, idx, src)
	c.inplace = true
	if x.SharesStorage(src) {
		c.work = int(src.bytes())
	}
	c.do()
}

// The operations below have operands x, indices and, if they write, a source.

var opIndexSelect = &opdef{name: "index_select", kernel: func(c *call) *Error {
	return c.indexError(index.IndexSelect(c.dst(0), c.src(0), c.attrs.(int), c.src(1)))
}}

func init() {
	opIndexSelect.save = func(c *call) { c.saveIn(1) }
	opIndexSelect.grad = func(b *backward) {
		out := b.grad().NewZeros(b.input(0).shape...)
		b.give(0, applyInPlace(opIndexAdd, b.n.attrs, out, b.in(1), b.grad()))
	}
}

// IndexSelect returns the slices of x along dim that idx, an Int64 or Int32
// tensor of at most one dimension, names. The gradient of a slice named twice
// is the sum. An index out of range is an [ErrIndex] panic; negative ones are.
// It is torch.index_select.
func (x *Tensor) IndexSelect(dim int, idx *Tensor) *Tensor {
	d := partable("index_select", x, dim)
	idx = vectorOf("index_select", x, idx)
	shape := append([]int{}, x.shape...)
	shape[d] = idx.shape[0]
	wantSize("index_select", x.rec.core, shape, x.dtype)
	return apply(opIndexSelect, d, x.dtype, shape, x, idx)
}

var opIndexAdd = &opdef{name: "index_add", kernel: func(c *call) *Error {
	return c.indexError(index.IndexAdd(c.copyFirst(), c.attrs.(int), c.src(1), c.sourceApart()))
}}

func init() {
	opIndexAdd.save = func(c *call) {
		if c.needs[2] {
			c.saveIn(1)
		}
	}
	opIndexAdd.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(2, func() *Tensor { return b.grad().IndexSelect(b.n.attrs.(int), b.in(1)) })
	}
}

// addable checks the operands of IndexAdd and returns dim and idx.
func (x *Tensor) addable(op string, dim int, idx, src *Tensor) (int, *Tensor) {
	d := partable(op, x, dim)
	idx = vectorOf(op, x, idx)
	want := append([]int{}, x.shape...)
	want[d] = idx.shape[0]
	wantSource(op, x, idx, src)
	if !sameShape(src.shape, want) {
		throw(ErrShape, op, []*Tensor{x, idx, src}, "a source of shape %s, expected %s", shapeString(src.shape), shapeString(want))
	}
	return d, idx
}

// wantSource panics unless src has x's type.
func wantSource(op string, x, idx, src *Tensor) {
	if src.dtype != x.dtype {
		panic(newError(ErrDType, op, []*Tensor{x, idx, src}, "a source of type %s, expected %s", src.dtype, x.dtype).advise("convert it with To"))
	}
}

// IndexAdd returns x with the slices of src along dim added to those that idx
// names, in idx's order. idx is an Int64 or Int32 tensor of at most one
// dimension; src has x's type, and its shape but for idx's length in dim. An
// index out of range is an [ErrIndex] panic. It is torch.index_add.
func (x *Tensor) IndexAdd(dim int, idx, src *Tensor) *Tensor {
	d, idx := x.addable("index_add", dim, idx, src)
	return apply(opIndexAdd, d, x.dtype, x.shape, x, idx, src)
}

// IndexAdd_ is [Tensor.IndexAdd] in place; x is unchanged if it fails. It is
// torch.Tensor.index_add_.
func (x *Tensor) IndexAdd_(dim int, idx, src *Tensor) *Tensor {
	d, idx := x.addable("index_add_", dim, idx, src)
	addInPlace(opIndexAdd, d, x, idx, src)
	return x
}

var opGather = &opdef{name: "gather", kernel: func(c *call) *Error {
	return c.indexError(index.Gather(c.dst(0), c.src(0), c.attrs.(int), c.src(1)))
}}

func init() {
	opGather.save = func(c *call) { c.saveIn(1) }
	opGather.grad = func(b *backward) {
		out := b.grad().NewZeros(b.input(0).shape...)
		b.give(0, applyInPlace(opScatterAdd, b.n.attrs, out, b.in(1), b.grad()))
	}
}

// pointed checks that idx has x's rank and is no larger but along dim, which it
// returns.
func (x *Tensor) pointed(op string, dim int, idx *Tensor) int {
	d := dimOf(op, x, dim)
	wantIndices(op, x, idx)
	// As in PyTorch a tensor without dimensions is as good as one with one.
	fits := max(len(idx.shape), 1) == max(len(x.shape), 1)
	for i := 0; fits && i < len(idx.shape); i++ {
		fits = i == d || idx.shape[i] <= x.shape[i]
	}
	if !fits {
		throw(ErrShape, op, []*Tensor{x, idx}, "indices of shape %s do not fit in %s beyond dimension %d", shapeString(idx.shape), shapeString(x.shape), d)
	}
	return d
}

// vector returns x with a dimension if it has none.
func (x *Tensor) vector() *Tensor {
	if len(x.shape) == 0 {
		return x.View(1)
	}
	return x
}

// Gather returns the elements of x that idx names along dim: for dim 1,
// y[i, j, k] = x[i, idx[i, j, k], k]. idx is an Int64 or Int32 tensor of x's
// rank, no larger than x in the other dimensions; the result has its shape. An
// index out of range is an [ErrIndex] panic; negative ones are. It is
// torch.gather.
func (x *Tensor) Gather(dim int, idx *Tensor) *Tensor {
	d := x.pointed("gather", dim, idx)
	y := apply(opGather, d, x.dtype, idx.vector().shape, x.vector(), idx.vector())
	if len(idx.shape) == 0 {
		return y.View()
	}
	return y
}

var opScatterAdd = &opdef{name: "scatter_add", kernel: func(c *call) *Error {
	return c.indexError(index.ScatterAdd(c.copyFirst(), c.attrs.(int), c.src(1), c.sourceApart()))
}}

func init() {
	opScatterAdd.save = opIndexAdd.save
	opScatterAdd.grad = func(b *backward) {
		b.giveIf(0, b.grad)
		b.giveIf(2, func() *Tensor { return b.grad().Gather(b.n.attrs.(int), b.in(1)) })
	}
}

// scatterable checks the operands of ScatterAdd and returns dim, and the part
// of src that is added.
func (x *Tensor) scatterable(op string, dim int, idx, src *Tensor) (int, *Tensor) {
	d := x.pointed(op, dim, idx)
	wantSource(op, x, idx, src)
	fits := max(len(idx.shape), 1) == max(len(src.shape), 1)
	for i := 0; fits && i < min(len(idx.shape), len(src.shape)); i++ {
		fits = idx.shape[i] <= src.shape[i]
	}
	if !fits {
		throw(ErrShape, op, []*Tensor{x, idx, src}, "a source of shape %s for indices of shape %s", shapeString(src.shape), shapeString(idx.shape))
	}
	src = src.vector()
	for i, n := range idx.vector().shape {
		if n < src.shape[i] {
			src = src.Narrow(i, 0, n)
		}
	}
	return d, src
}

// ScatterAdd returns x with the elements of src added to those that idx names
// along dim: for dim 1, y[i, idx[i, j, k], k] += src[i, j, k], in idx's order.
// idx is an Int64 or Int32 tensor of x's rank, no larger than src, and than x
// but along dim; src has x's type. An index out of range is an [ErrIndex]
// panic. It is torch.scatter_add.
func (x *Tensor) ScatterAdd(dim int, idx, src *Tensor) *Tensor {
	d, src := x.scatterable("scatter_add", dim, idx, src)
	y := apply(opScatterAdd, d, x.dtype, x.vector().shape, x.vector(), idx.vector(), src)
	if len(x.shape) == 0 {
		return y.View()
	}
	return y
}

// ScatterAdd_ is [Tensor.ScatterAdd] in place; x is unchanged if it fails. It
// is torch.Tensor.scatter_add_.
func (x *Tensor) ScatterAdd_(dim int, idx, src *Tensor) *Tensor {
	d, src := x.scatterable("scatter_add_", dim, idx, src)
	addInPlace(opScatterAdd, d, x.vector(), idx.vector(), src)
	return x
}

var opOneHot = &opdef{name: "one_hot", constant: true, kernel: func(c *call) *Error {
	return c.classError(index.OneHot(c.dst(0), c.src(0)))
}}

// classError turns a kernel's error about a class of operand 0 into an *Error.
func (c *call) classError(err error) *Error {
	var e *index.Error
	if !errors.As(err, &e) {
		return nil
	}
	return newError(ErrIndex, c.op.name, c.in, "class %d at position %d, row-major, of %d classes", e.Index, e.Pos, e.Size).advise("classes run from 0 to %d", e.Size-1)
}

// OneHot returns an Int64 tensor of x's shape and one dimension more, of size
// classes, with a 1 at each class that x, an Int64 or Int32 tensor, names, and 0
// elsewhere. A class out of range is an [ErrIndex] panic. It is
// torch.nn.functional.one_hot with num_classes given.
func (x *Tensor) OneHot(classes int) *Tensor {
	wantIndices("one_hot", x, x)
	if classes < 1 {
		panic(newError(ErrValue, "one_hot", []*Tensor{x}, "%d classes", classes).advise("give their number, 1 or more"))
	}
	shape := append(append(make([]int, 0, len(x.shape)+1), x.shape...), classes)
	wantSize("one_hot", x.rec.core, shape, Int64)
	return apply(opOneHot, nil, Int64, shape, x)
}
