package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/reduce"
)

// reduction is the attribute of a reduction: the dimensions that go.
type reduction struct {
	dims []int
	keep bool
}

// keptShape returns shape with the sizes of dims made 1.
func keptShape(shape, dims []int) []int {
	out := append([]int{}, shape...)
	for _, d := range dims {
		out[d] = 1
	}
	return out
}

// reducedShape returns shape without dims.
func reducedShape(shape, dims []int) []int {
	gone := make([]bool, len(shape))
	for _, d := range dims {
		gone[d] = true
	}
	var out []int
	for i, n := range shape {
		if !gone[i] {
			out = append(out, n)
		}
	}
	return out
}

// reduceDims wraps dims of x, all of them if none is given.
func reduceDims(op string, x *Tensor, dims []int) []int {
	var out []int
	if len(dims) == 0 {
		for i := range x.shape {
			out = append(out, i)
		}
		return out
	}
	seen := make([]bool, max(len(x.shape), 1))
	for _, d := range dims {
		w := dimOf(op, x, d)
		if seen[w] {
			throw(ErrValue, op, []*Tensor{x}, "dimension %d occurs twice", d)
		}
		seen[w] = true
		if len(x.shape) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// kept returns a, a result of a reduction of src, with the reduced dimensions
// of size 1: the form that reduction kernels take.
func kept(a, src cpu.Array, dims []int) cpu.Array {
	n := len(src.Shape)
	form := make([]int, 2*n)
	a.Shape, a.Strides = form[:n], form[n:]
	copy(a.Shape, src.Shape)
	for _, d := range dims {
		a.Shape[d] = 1
	}
	stridesFor(a.Strides, a.Shape)
	return a
}

// reduceInto runs a reduction kernel.
func reduceInto(op reduce.Op) func(c *call) *Error {
	return func(c *call) *Error {
		a, src := c.attrs.(reduction), c.src(0)
		reduce.Reduce(op, kept(c.dst(0), src, a.dims), src, a.dims)
		return nil
	}
}

// shape returns the shape that the reduction a of x has.
func (a reduction) shape(x *Tensor) []int {
	if a.keep {
		return keptShape(x.shape, a.dims)
	}
	return reducedShape(x.shape, a.dims)
}

// reduceOp applies op to x over dims.
func reduceOp(op *opdef, x *Tensor, dtype DType, dims []int, keep bool) *Tensor {
	a := reduction{dims, keep}
	return apply(op, a, dtype, a.shape(x), x)
}

// spread returns y, of the shape of a reduction's result over dims, expanded to
// the shape of what was reduced.
func (b *backward) spread(y *Tensor, dims []int) *Tensor {
	shape := b.input(0).shape
	return y.Reshape(keptShape(shape, dims)...).Expand(shape...)
}

// countOf returns how many elements of l one result over dims comes from.
func countOf(l *layout, dims []int) int {
	n := 1
	for _, d := range dims {
		n *= l.shape[d]
	}
	return n
}

// wantFloat panics unless x is a floating-point tensor.
func wantFloat(op string, x *Tensor) {
	if !x.dtype.IsFloat() {
		panic(newError(ErrDType, op, []*Tensor{x}, "%s takes floating-point tensors", op).advise("convert with To(Float32)"))
	}
}

// accumulated is the type of sums and products of dtype.
func accumulated(dtype DType) DType {
	if dtype.IsFloat() {
		return dtype
	}
	return Int64
}

var opSum = &opdef{name: "sum", kernel: reduceInto(reduce.Sum)}

func init() {
	opSum.grad = func(b *backward) { b.give(0, b.spread(b.grad(), b.n.attrs.(reduction).dims)) }
}

// Sum returns the sum of all elements, or over dims, which go. Bool and integer
// tensors give Int64; of no elements it is 0. Float sums are accumulated in
// Float64, in an order set by the layout alone. It is torch.sum; see
// [Tensor.SumKeep] for keepdim.
func (x *Tensor) Sum(dims ...int) *Tensor { return x.sum(false, dims) }

// SumKeep is [Tensor.Sum] with the reduced dimensions kept with size 1.
func (x *Tensor) SumKeep(dims ...int) *Tensor { return x.sum(true, dims) }

func (x *Tensor) sum(keep bool, dims []int) *Tensor {
	return reduceOp(opSum, x, accumulated(x.dtype), reduceDims("sum", x, dims), keep)
}

var opMean = &opdef{name: "mean", kernel: reduceInto(reduce.Mean)}

func init() {
	opMean.grad = func(b *backward) {
		dims := b.n.attrs.(reduction).dims
		b.give(0, b.spread(b.grad().DivScalar(countOf(b.input(0), dims)), dims))
	}
}

// Mean returns the mean of all elements of a floating-point tensor, or over
// dims, which go; of no elements it is NaN. Integers and bools are an
// [ErrDType] panic. It is torch.mean; see [Tensor.MeanKeep] for keepdim.
func (x *Tensor) Mean(dims ...int) *Tensor { return x.mean(false, dims) }

// MeanKeep is [Tensor.Mean] with the reduced dimensions kept with size 1.
func (x *Tensor) MeanKeep(dims ...int) *Tensor { return x.mean(true, dims) }

func (x *Tensor) mean(keep bool, dims []int) *Tensor {
	wantFloat("mean", x)
	return reduceOp(opMean, x, x.dtype, reduceDims("mean", x, dims), keep)
}

var opProd = &opdef{name: "prod", kernel: reduceInto(reduce.Prod)}

func init() {
	opProd.save = func(c *call) { c.saveIn(0) }
	opProd.grad = func(b *backward) { b.give(0, prodGrad(b)) }
}

// prodGrad returns, for each element, the product of the others of its group
// times the group's gradient. Zeros are taken out of the products and come
// back as their sum s, which is 0 but has a gradient: with one zero in a group
// the product of the others is s*P/x, and P at the zero itself; with two it is
// 0, and at either zero the other one times P.
func prodGrad(b *backward) *Tensor {
	dims := b.n.attrs.(reduction).dims
	x := b.in(0)
	zero := x.EqScalar(0)
	rest := x.MaskedFill(zero, 1)
	p := rest.prod(true, dims)
	zeros := zero.sum(true, dims)
	s := x.Mul(zero.To(x.dtype)).sum(true, dims)
	// What to multiply P with, at a zero and elsewhere, by the number of zeros.
	one, two := zeros.EqScalar(1).To(x.dtype), zeros.EqScalar(2).To(x.dtype)
	atZero := one.Add(two.Mul(s.Sub(x)))
	elsewhere := zeros.EqScalar(0).To(x.dtype).Add(one.Mul(s)).Div(rest)
	return b.spread(b.grad(), dims).Mul(p).Mul(Where(zero, atZero, elsewhere))
}

// Prod returns the product of all elements, or over dims, which go. Bool and
// integer tensors give Int64; of no elements it is 1. It is torch.prod, over
// any number of dimensions; see [Tensor.ProdKeep] for keepdim.
func (x *Tensor) Prod(dims ...int) *Tensor { return x.prod(false, dims) }

// ProdKeep is [Tensor.Prod] with the reduced dimensions kept with size 1.
func (x *Tensor) ProdKeep(dims ...int) *Tensor { return x.prod(true, dims) }

func (x *Tensor) prod(keep bool, dims []int) *Tensor {
	return reduceOp(opProd, x, accumulated(x.dtype), reduceDims("prod", x, dims), keep)
}

var (
	opAny = &opdef{name: "any", constant: true, kernel: reduceInto(reduce.Any)}
	opAll = &opdef{name: "all", constant: true, kernel: reduceInto(reduce.All)}
)

// truth is the type of any and all: Bool, but of Uint8 Uint8, as in PyTorch.
func truth(dtype DType) DType {
	if dtype == Uint8 {
		return Uint8
	}
	return Bool
}

// Any returns whether any element is not 0, or over dims, which go: a Bool
// tensor, or Uint8 if x is. NaN is not 0; of no elements it is false. It is
// torch.any; see [Tensor.AnyKeep] for keepdim.
func (x *Tensor) Any(dims ...int) *Tensor {
	return reduceOp(opAny, x, truth(x.dtype), reduceDims("any", x, dims), false)
}

// AnyKeep is [Tensor.Any] with the reduced dimensions kept with size 1.
func (x *Tensor) AnyKeep(dims ...int) *Tensor {
	return reduceOp(opAny, x, truth(x.dtype), reduceDims("any", x, dims), true)
}

// All returns whether no element is 0, or over dims, which go: a Bool tensor,
// or Uint8 if x is. Of no elements it is true. It is torch.all; see
// [Tensor.AllKeep] for keepdim.
func (x *Tensor) All(dims ...int) *Tensor {
	return reduceOp(opAll, x, truth(x.dtype), reduceDims("all", x, dims), false)
}

// AllKeep is [Tensor.All] with the reduced dimensions kept with size 1.
func (x *Tensor) AllKeep(dims ...int) *Tensor {
	return reduceOp(opAll, x, truth(x.dtype), reduceDims("all", x, dims), true)
}

// SumTo returns x summed over the dimensions that broadcasting to x's shape
// would have made of the given shape, the reverse of [Tensor.Expand]. It is
// torch.Tensor.sum_to_size.
func (x *Tensor) SumTo(shape ...int) *Tensor {
	if sameShape(x.shape, shape) {
		return x
	}
	if s, ok := broadcastShape(x.shape, shape); !ok || !sameShape(s, x.shape) {
		panic(newError(ErrShape, "sum_to_size", []*Tensor{x}, "%s does not broadcast to the tensor's shape", shapeString(shape)))
	}
	lead := len(x.shape) - len(shape)
	var dims []int
	for i, n := range x.shape {
		if i < lead || shape[i-lead] == 1 && n != 1 {
			dims = append(dims, i)
		}
	}
	if len(dims) == 0 {
		return x.View(shape...)
	}
	y := reduceOp(opSum, x, x.dtype, dims, true)
	return y.View(shape...)
}
