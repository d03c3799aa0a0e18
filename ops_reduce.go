package ebb

import (
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

// reduceInto runs a reduction kernel: results are stored as if the reduced
// dimensions were kept with size 1.
func reduceInto(op reduce.Op) func(c *call) *Error {
	return func(c *call) *Error {
		a := c.attrs.(reduction)
		dst, src := c.dst(0), c.src(0)
		dst.Shape = keptShape(src.Shape, a.dims)
		dst.Strides = contiguousStrides(dst.Shape)
		reduce.Reduce(op, dst, src, a.dims)
		return nil
	}
}

// reduceOp applies op to x over dims.
func reduceOp(op *opdef, x *Tensor, dtype DType, dims []int, keep bool) *Tensor {
	shape := keptShape(x.shape, dims)
	if !keep {
		shape = reducedShape(x.shape, dims)
	}
	return apply(op, reduction{dims, keep}, dtype, shape, x)
}

// spread returns g, the gradient of a reduction's result, expanded to the
// shape of what was reduced.
func (b *backward) spread(g *Tensor) *Tensor {
	return g.Reshape(keptShape(b.input(0).shape, b.n.attrs.(reduction).dims)...).Expand(b.input(0).shape...)
}

var opSum = &opdef{name: "sum", kernel: reduceInto(reduce.Sum)}

func init() { opSum.grad = func(b *backward) { b.give(0, b.spread(b.grad())) } }

// Sum returns the sum of all elements, or over dims, which go. Bool and integer
// tensors give Int64. Float sums are accumulated in pairs, in an order set by
// the shape alone. It is torch.sum; see [Tensor.SumKeep] for keepdim.
func (x *Tensor) Sum(dims ...int) *Tensor { return x.sum(false, dims) }

// SumKeep is [Tensor.Sum] with the reduced dimensions kept with size 1.
func (x *Tensor) SumKeep(dims ...int) *Tensor { return x.sum(true, dims) }

func (x *Tensor) sum(keep bool, dims []int) *Tensor {
	dtype := x.dtype
	if !dtype.IsFloat() {
		dtype = Int64
	}
	return reduceOp(opSum, x, dtype, reduceDims("sum", x, dims), keep)
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
