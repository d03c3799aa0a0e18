package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/reduce"
)

// someOf panics if a dimension of dims is empty: nothing has no extreme.
func someOf(op string, x *Tensor, dims []int) {
	for _, d := range dims {
		if x.shape[d] == 0 {
			panic(newError(ErrShape, op, []*Tensor{x}, "dimension %d is empty, so there is no %s", d, op).advise("check Numel first"))
		}
	}
}

var (
	opMax  = &opdef{name: "max", kernel: reduceInto(reduce.Max)}
	opMin  = &opdef{name: "min", kernel: reduceInto(reduce.Min)}
	opAmax = &opdef{name: "amax", kernel: reduceInto(reduce.Max)}
	opAmin = &opdef{name: "amin", kernel: reduceInto(reduce.Min)}
)

func init() {
	for _, op := range []*opdef{opMax, opMin, opAmax, opAmin} {
		op.save = func(c *call) {
			c.saveIn(0)
			c.saveOut(0)
		}
	}
	opMax.grad = func(b *backward) { b.give(0, extremeGrad(b, true)) }
	opMin.grad = opMax.grad
	opAmax.grad = func(b *backward) { b.give(0, extremeGrad(b, false)) }
	opAmin.grad = opAmax.grad
}

// extremeGrad splits the gradient evenly among the elements equal to the
// extreme. If that is NaN, the elements that are NaN count as equal (max, min),
// or none does and every gradient is NaN (amax, amin).
func extremeGrad(b *backward, nan bool) *Tensor {
	dims := b.n.attrs.(reduction).dims
	x := b.in(0)
	equal := x.Eq(b.spread(b.out(0), dims))
	if nan {
		equal = equal.LogicalOr(x.Ne(x))
	}
	mask := equal.To(x.dtype)
	share := b.grad().Reshape(keptShape(x.shape, dims)...).Div(mask.sum(true, dims))
	return mask.Mul(share)
}

func (x *Tensor) extreme(op *opdef, dims []int, keep bool) *Tensor {
	dims = reduceDims(op.name, x, dims)
	someOf(op.name, x, dims)
	return reduceOp(op, x, x.dtype, dims, keep)
}

// Max returns the largest element, of x's type, NaN if any is. Its gradient is
// split evenly among equals. An empty tensor is an [ErrShape] panic. It is
// torch.max of one tensor; see [Tensor.Amax] and [Tensor.MaxDim] for dimensions.
func (x *Tensor) Max() *Tensor { return x.extreme(opMax, nil, false) }

// Min returns the smallest element, as [Tensor.Max]. It is torch.min of one
// tensor.
func (x *Tensor) Min() *Tensor { return x.extreme(opMin, nil, false) }

// Amax returns the largest elements over dims, which go, or of all if none is
// given; of x's type, NaN if any is. The gradient is split evenly among equals.
// An empty dimension among dims is an [ErrShape] panic. It is torch.amax; see
// [Tensor.AmaxKeep] for keepdim.
func (x *Tensor) Amax(dims ...int) *Tensor { return x.extreme(opAmax, dims, false) }

// AmaxKeep is [Tensor.Amax] with the reduced dimensions kept with size 1.
func (x *Tensor) AmaxKeep(dims ...int) *Tensor { return x.extreme(opAmax, dims, true) }

// Amin returns the smallest elements over dims, as [Tensor.Amax]. It is
// torch.amin; see [Tensor.AminKeep] for keepdim.
func (x *Tensor) Amin(dims ...int) *Tensor { return x.extreme(opAmin, dims, false) }

// AminKeep is [Tensor.Amin] with the reduced dimensions kept with size 1.
func (x *Tensor) AminKeep(dims ...int) *Tensor { return x.extreme(opAmin, dims, true) }

// along returns the one dimension of a reduction. A tensor without dimensions
// has dimension 0 for this purpose.
func (a reduction) along() int {
	if len(a.dims) == 0 {
		return 0
	}
	return a.dims[0]
}

var opMaxDim = &opdef{name: "max", kernel: func(c *call) *Error {
	a, src := c.attrs.(reduction), c.src(0)
	reduce.MaxDim(kept(c.dst(0), src, a.dims), kept(c.dst(1), src, a.dims), src, a.along())
	return nil
}}

var opMinDim = &opdef{name: "min", kernel: func(c *call) *Error {
	a, src := c.attrs.(reduction), c.src(0)
	reduce.MinDim(kept(c.dst(0), src, a.dims), kept(c.dst(1), src, a.dims), src, a.along())
	return nil
}}

func init() {
	opMaxDim.save = func(c *call) { c.saveOut(1) }
	opMaxDim.grad = func(b *backward) {
		a := b.n.attrs.(reduction)
		shape := keptShape(b.input(0).shape, a.dims)
		out := b.grad().NewZeros(b.input(0).shape...)
		b.give(0, applyInPlace(opScatterAdd, a.along(), out, b.out(1).View(shape...), b.grad().Reshape(shape...)))
	}
	opMinDim.save, opMinDim.grad = opMaxDim.save, opMaxDim.grad
}

func (x *Tensor) extremeDim(op *opdef, dim int, keep bool) (values, indices *Tensor) {
	a := reduction{reduceDims(op.name, x, []int{dim}), keep}
	someOf(op.name, x, a.dims)
	shape := a.shape(x)
	out := newCall(op, a, x).result(x.dtype, shape).result(Int64, shape).doAll()
	return out[0], out[1]
}

// MaxDim returns the largest elements along dim, which goes, and their Int64
// positions in it: the first of equals, of NaNs if there are any. The gradient
// goes to those positions. An empty dim is an [ErrShape] panic. It is torch.max
// with dim; see [Tensor.MaxDimKeep] for keepdim.
func (x *Tensor) MaxDim(dim int) (values, indices *Tensor) { return x.extremeDim(opMaxDim, dim, false) }

// MaxDimKeep is [Tensor.MaxDim] with dim kept with size 1.
func (x *Tensor) MaxDimKeep(dim int) (values, indices *Tensor) {
	return x.extremeDim(opMaxDim, dim, true)
}

// MinDim returns the smallest elements along dim, as [Tensor.MaxDim]. It is
// torch.min with dim; see [Tensor.MinDimKeep] for keepdim.
func (x *Tensor) MinDim(dim int) (values, indices *Tensor) { return x.extremeDim(opMinDim, dim, false) }

// MinDimKeep is [Tensor.MinDim] with dim kept with size 1.
func (x *Tensor) MinDimKeep(dim int) (values, indices *Tensor) {
	return x.extremeDim(opMinDim, dim, true)
}

var opArgMax = &opdef{name: "argmax", constant: true, kernel: func(c *call) *Error {
	a, src := c.attrs.(reduction), c.src(0)
	reduce.ArgMax(kept(c.dst(0), src, a.dims), src, a.along())
	return nil
}}

var opArgMin = &opdef{name: "argmin", constant: true, kernel: func(c *call) *Error {
	a, src := c.attrs.(reduction), c.src(0)
	reduce.ArgMin(kept(c.dst(0), src, a.dims), src, a.along())
	return nil
}}

// position runs an argmax: over dims, at most one, or over all elements.
func (x *Tensor) position(op *opdef, dims []int, keep bool) *Tensor {
	switch len(dims) {
	case 0:
		flat := x.Reshape(-1)
		defer dropTemporary(flat, x)
		someOf(op.name, flat, []int{0})
		return reduceOp(op, flat, Int64, []int{0}, false)
	case 1:
		dims = reduceDims(op.name, x, dims)
		someOf(op.name, x, dims)
		return reduceOp(op, x, Int64, dims, keep)
	}
	panic(newError(ErrValue, op.name, []*Tensor{x}, "%d dimensions, expected one or none", len(dims)).advise("Flatten them into one"))
}

// ArgMax returns the Int64 position along dim, which goes, of the largest
// element: the first of equals, of NaNs if there are any. Without dim it is the
// position among all elements, row-major. More than one dim is an [ErrValue]
// panic, an empty one [ErrShape]. It is torch.argmax; see [Tensor.ArgMaxKeep]
// for keepdim.
func (x *Tensor) ArgMax(dim ...int) *Tensor { return x.position(opArgMax, dim, false) }

// ArgMaxKeep is [Tensor.ArgMax] with dim kept with size 1.
func (x *Tensor) ArgMaxKeep(dim int) *Tensor { return x.position(opArgMax, []int{dim}, true) }

// ArgMin returns the position of the smallest element, as [Tensor.ArgMax]. It
// is torch.argmin; see [Tensor.ArgMinKeep] for keepdim.
func (x *Tensor) ArgMin(dim ...int) *Tensor { return x.position(opArgMin, dim, false) }

// ArgMinKeep is [Tensor.ArgMin] with dim kept with size 1.
func (x *Tensor) ArgMinKeep(dim int) *Tensor { return x.position(opArgMin, []int{dim}, true) }
