package ebb

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/site"
)

// narrowed returns elements start to start+length-1 of dimension dim of a.
func narrowed(a cpu.Array, dim, start, length int) cpu.Array {
	a.Shape = append([]int{}, a.Shape...)
	a.Shape[dim] = length
	if a.Len() > 0 { // else the pointer might pass the end
		a.Data = unsafe.Add(a.Data, start*a.Strides[dim]*a.DType.Size())
	}
	return a
}

// reversed returns a with dimensions dims from the end to the start.
func reversed(a cpu.Array, dims ...int) cpu.Array {
	if a.Len() == 0 {
		return a
	}
	a.Strides = append([]int{}, a.Strides...)
	for _, d := range dims {
		if len(a.Shape) > 0 {
			a.Data = unsafe.Add(a.Data, (a.Shape[d]-1)*a.Strides[d]*a.DType.Size())
			a.Strides[d] = -a.Strides[d]
		}
	}
	return a
}

// isLegacyEmpty reports whether shape is [0], which Cat skips whatever the
// other shapes are, as PyTorch does.
func isLegacyEmpty(shape []int) bool { return len(shape) == 1 && shape[0] == 0 }

// opCat converts its operands as it copies them.
var opCat = &opdef{name: "cat", kernel: func(c *call) *Error {
	dim, at := c.attrs.(int), 0
	for i := range c.in {
		src := c.src(i)
		if isLegacyEmpty(src.Shape) {
			continue
		}
		n := src.Shape[dim]
		elementwise.Copy(narrowed(c.dst(0), dim, at, n), src)
		at += n
	}
	return nil
}}

func init() {
	opCat.grad = func(b *backward) {
		g, dim, at := b.grad(), b.n.attrs.(int), 0
		for i := range b.n.edges {
			in := b.input(i)
			if isLegacyEmpty(in.shape) {
				b.giveIf(i, func() *Tensor { return g.NewZeros(0).To(in.dtype) })
				continue
			}
			n := in.shape[dim]
			b.giveIf(i, func() *Tensor { return g.Narrow(dim, at, n).To(in.dtype) })
			at += n
		}
	}
}

// someTensors panics if xs is empty or one of it is nil.
func someTensors(op string, xs []*Tensor) {
	if len(xs) == 0 {
		panic(newError(ErrValue, op, nil, "no tensors were given").advise("give one or more"))
	}
	for i, x := range xs {
		if x == nil {
			throw(ErrValue, op, xs, "tensor %d is nil", i)
		}
	}
}

// Cat returns the tensors one after the other along dim, promoted as
// [ResultType]. Their shapes agree in all other dimensions, or it is an
// [ErrShape] panic; tensors of shape [0] are skipped whatever the others'
// shapes. It is torch.cat.
func Cat(xs []*Tensor, dim int) *Tensor {
	someTensors("cat", xs)
	first := xs[0]
	for _, x := range xs {
		if isLegacyEmpty(first.shape) {
			first = x
		}
	}
	d := 0
	if !isLegacyEmpty(first.shape) {
		d = dimOf("cat", first, dim)
	}
	shape := append([]int{}, first.shape...)
	total := 0
	for i, x := range xs {
		if len(x.shape) == 0 {
			panic(newError(ErrShape, "cat", xs, "tensor %d has no dimensions", i).advise("use Stack"))
		}
		if isLegacyEmpty(x.shape) {
			continue
		}
		fits := len(x.shape) == len(shape)
		for j := 0; fits && j < len(shape); j++ {
			fits = j == d || x.shape[j] == shape[j]
		}
		if !fits {
			throw(ErrShape, "cat", xs, "shape %s of tensor %d and %s of the first differ beyond dimension %d", shapeString(x.shape), i, shapeString(shape), d)
		}
		total += x.shape[d]
	}
	shape[d] = total
	dtype := resultType(xs...)
	wantSize("cat", first.rec.core, shape, dtype)
	return apply(opCat, d, dtype, shape, xs...)
}

// Stack returns the tensors, all of one shape, along a new dimension dim,
// promoted as [ResultType]. It is torch.stack.
func Stack(xs []*Tensor, dim int) *Tensor {
	someTensors("stack", xs)
	d, ok := wrapDim(dim, len(xs[0].shape)+1)
	if !ok {
		throw(ErrIndex, "stack", xs, "dimension %d of a result with %d", dim, len(xs[0].shape)+1)
	}
	rows := make([]*Tensor, len(xs))
	for i, x := range xs {
		if !sameShape(x.shape, xs[0].shape) {
			throw(ErrShape, "stack", xs, "shape %s of tensor %d, %s of the first", shapeString(x.shape), i, shapeString(xs[0].shape))
		}
		rows[i] = x.Unsqueeze(d)
	}
	return Cat(rows, d)
}

// views is view for several views of x that one node of the graph makes, so
// that their gradients are joined in one step.
func views(op *opdef, attrs any, x *Tensor, layouts []layout) []*Tensor {
	out, of := make([]*Tensor, len(layouts)), make([]*layout, len(layouts))
	for i, l := range layouts {
		out[i] = x.view(l.shape, l.strides, l.offset)
		of[i] = out[i].layout
	}
	co := x.rec.core
	co.mu.Lock()
	if x.rec.st == nil {
		e := x.releasedError(op.name)
		co.mu.Unlock()
		e.Site = Site{site.Here(1)}
		panic(e)
	}
	defer co.mu.Unlock()
	x.refresh()
	s := x.scope()
	noGrad := s != nil && s.o.noGrad
	var n *node
	if !noGrad && x.meta.carriesGraph() {
		n = x.viewNode(op, attrs, of...)
	}
	for i, v := range out {
		v.meta.graphs, v.meta.detached = x.rec.graphs, x.meta.detached || noGrad
		v.meta.node, v.meta.out = n, int32(i)
	}
	return out
}

var (
	opSplit  = &opdef{name: "split"}
	opUnbind = &opdef{name: "unbind"}
)

func init() {
	opSplit.grad = func(b *backward) { b.give(0, Cat(partGrads(b), b.n.attrs.(int))) }
	opUnbind.grad = func(b *backward) { b.give(0, Stack(partGrads(b), b.n.attrs.(int))) }
}

// partGrads returns the gradient of every part, zeros where none arrived.
func partGrads(b *backward) []*Tensor {
	parts := make([]*Tensor, len(b.n.outs))
	var some *Tensor
	for i := range parts {
		if parts[i] = b.gradOf(i); parts[i] != nil {
			some = parts[i]
		}
	}
	for i, g := range parts {
		if g == nil {
			parts[i] = some.NewZeros(b.n.outs[i].shape...)
		}
	}
	return parts
}

// partable wraps dim of x, which has dimensions, or panics.
func partable(op string, x *Tensor, dim int) int {
	d := dimOf(op, x, dim)
	if len(x.shape) == 0 {
		throw(ErrShape, op, []*Tensor{x}, "a tensor without dimensions has no parts")
	}
	return d
}

// Split returns views of x along dim of the given size each, the last of what
// is left. size may be 0 only if the dimension is empty, which gives one empty
// view. It is torch.split with a number; see [Tensor.SplitSizes].
func (x *Tensor) Split(size, dim int) []*Tensor {
	d := partable("split", x, dim)
	n := x.shape[d]
	if size < 0 || size == 0 && n > 0 {
		panic(newError(ErrValue, "split", []*Tensor{x}, "parts of size %d", size).advise("give a size of 1 or more"))
	}
	if n == 0 {
		return x.split([]int{0}, d)
	}
	var sizes []int
	for left := n; left > 0; left -= size {
		sizes = append(sizes, min(size, left))
	}
	return x.split(sizes, d)
}

// SplitSizes returns views of x along dim of the given sizes, which add up to
// the dimension's, or it is an [ErrShape] panic. It is torch.split with a list.
func (x *Tensor) SplitSizes(sizes []int, dim int) []*Tensor {
	d := partable("split", x, dim)
	left := x.shape[d]
	for i, n := range sizes {
		if n < 0 || n > left {
			throw(ErrShape, "split", []*Tensor{x}, "size %d of part %d, with %d left of %d", n, i, left, x.shape[d])
		}
		left -= n
	}
	if left > 0 {
		throw(ErrShape, "split", []*Tensor{x}, "the parts leave %d of %d", left, x.shape[d])
	}
	return x.split(sizes, d)
}

func (x *Tensor) split(sizes []int, d int) []*Tensor {
	layouts := make([]layout, len(sizes))
	at := 0
	for i, n := range sizes {
		shape := append([]int{}, x.shape...)
		shape[d] = n
		layouts[i] = layout{x.dtype, shape, x.strides, x.offset + at*x.strides[d]}
		at += n
	}
	return views(opSplit, d, x, layouts)
}

// Chunk returns n views of x along dim, of equal size but for the last, or
// fewer if that size, rounded up, comes out sooner. It is torch.chunk.
func (x *Tensor) Chunk(n, dim int) []*Tensor {
	d := partable("chunk", x, dim)
	if n < 1 {
		throw(ErrValue, "chunk", []*Tensor{x}, "%d chunks", n)
	}
	if x.shape[d] == 0 {
		return x.split(make([]int, n), d)
	}
	return x.Split((x.shape[d]-1)/n+1, d)
}

// Unbind returns views of the parts of x along dim, without that dimension. It
// is torch.unbind.
func (x *Tensor) Unbind(dim int) []*Tensor {
	d := partable("unbind", x, dim)
	shape := reducedShape(x.shape, []int{d})
	strides := reducedShape(x.strides, []int{d})
	layouts := make([]layout, x.shape[d])
	for i := range layouts {
		layouts[i] = layout{x.dtype, shape, strides, x.offset + i*x.strides[d]}
	}
	return views(opUnbind, d, x, layouts)
}

// Repeat returns a copy of x repeated the given times along each dimension;
// with more times than dimensions new ones come first. Fewer, or a negative
// one, are an [ErrShape] panic. It is torch.Tensor.repeat.
func (x *Tensor) Repeat(times ...int) *Tensor { return x.repeat("repeat", times) }

// Tile is [Tensor.Repeat] with missing times, those of the first dimensions,
// taken as 1. It is torch.tile.
func (x *Tensor) Tile(times ...int) *Tensor {
	for len(times) < len(x.shape) {
		times = append([]int{1}, times...)
	}
	return x.repeat("tile", times)
}

// repeat expands a view of x in which a new dimension precedes each of its own,
// and copies it.
func (x *Tensor) repeat(op string, times []int) *Tensor {
	lead := len(times) - len(x.shape)
	if lead < 0 {
		panic(newError(ErrShape, op, []*Tensor{x}, "%d times for %d dimensions", len(times), len(x.shape)).advise("use Tile"))
	}
	var apart, wide, shape []int
	for i, t := range times {
		n := 1
		if i >= lead {
			n = x.shape[i-lead]
		}
		if t < 0 {
			throw(ErrShape, op, []*Tensor{x}, "%d times along dimension %d", t, i)
		}
		if n > 0 && t > maxBytes/n {
			throw(ErrShape, op, []*Tensor{x}, "%d times %d along dimension %d overflows", t, n, i)
		}
		apart, wide, shape = append(apart, 1, n), append(wide, t, n), append(shape, t*n)
	}
	return x.View(apart...).Expand(wide...).Clone().View(shape...)
}
