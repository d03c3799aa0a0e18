package ebb

import (
	"math"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/cpu/reduce"
)

// moment is the attribute of var and std.
type moment struct {
	reduction
	correction float64
}

// variance is the kernel of var. The means go to scratch space.
func variance(c *call) *Error {
	a, src := c.attrs.(moment), c.src(0)
	dst := kept(c.dst(0), src, a.dims)
	mean := dst
	mean.Data = c.workspace()
	reduce.VarMean(dst, mean, src, a.dims, a.correction)
	return nil
}

var opVar = &opdef{name: "var", kernel: variance}

var opStd = &opdef{name: "std", kernel: func(c *call) *Error {
	_ = variance(c)
	elementwise.Unary(elementwise.Sqrt, c.dst(0), c.dst(0))
	return nil
}}

func init() {
	opVar.save = func(c *call) { c.saveIn(0) }
	opVar.grad = func(b *backward) { b.give(0, varianceGrad(b, b.grad())) }
	opStd.save = func(c *call) {
		c.saveIn(0)
		c.saveOut(0)
	}
	opStd.grad = func(b *backward) {
		std := b.out(0)
		// Where all elements are equal the gradient is 0, as in PyTorch.
		g := b.grad().Div(std.MulScalar(2)).MaskedFill(std.EqScalar(0), 0)
		b.give(0, varianceGrad(b, g))
	}
}

// varianceGrad is the gradient of a variance whose own is g.
func varianceGrad(b *backward, g *Tensor) *Tensor {
	a := b.n.attrs.(moment)
	x := b.in(0)
	n := float64(countOf(b.input(0), a.dims))
	g = g.MulScalar(2 / max(0, n-a.correction))
	return x.Sub(x.mean(true, a.dims)).Mul(b.spread(g, a.dims))
}

func (x *Tensor) moment(op *opdef, correction float64, dims []int, keep bool) *Tensor {
	wantFloat(op.name, x)
	if math.IsNaN(correction) || math.IsInf(correction, 0) {
		throw(ErrValue, op.name, []*Tensor{x}, "correction %v", correction)
	}
	a := moment{reduction{reduceDims(op.name, x, dims), keep}, correction}
	c := newCall(op, a, x).result(x.dtype, a.shape(x))
	c.work = int(c.out[0].bytes())
	return c.do()
}

// Var returns the variance of all elements of a floating-point tensor, or over
// dims, which go: the sum of squared distances from the mean over the number of
// elements less correction (1 is the sample variance, PyTorch's default; 0 that
// of a population). If none is left it is NaN or Inf. Integers and bools are an
// [ErrDType] panic. It is torch.var; see [Tensor.VarKeep] for keepdim.
func (x *Tensor) Var(correction float64, dims ...int) *Tensor {
	return x.moment(opVar, correction, dims, false)
}

// VarKeep is [Tensor.Var] with the reduced dimensions kept with size 1.
func (x *Tensor) VarKeep(correction float64, dims ...int) *Tensor {
	return x.moment(opVar, correction, dims, true)
}

// Std returns the standard deviation, the square root of [Tensor.Var]; where it
// is 0 so is its gradient. It is torch.std; see [Tensor.StdKeep] for keepdim.
func (x *Tensor) Std(correction float64, dims ...int) *Tensor {
	return x.moment(opStd, correction, dims, false)
}

// StdKeep is [Tensor.Std] with the reduced dimensions kept with size 1.
func (x *Tensor) StdKeep(correction float64, dims ...int) *Tensor {
	return x.moment(opStd, correction, dims, true)
}

// norming is the attribute of a norm.
type norming struct {
	reduction
	p float64
}

// opNorm computes powers of the elements in scratch space, but for p = 2.
var opNorm = &opdef{name: "norm", kernel: func(c *call) *Error {
	a, src := c.attrs.(norming), c.src(0)
	dst := kept(c.dst(0), src, a.dims)
	if a.p == 2 {
		reduce.Reduce(reduce.SumSquares, dst, src, a.dims)
		elementwise.Unary(elementwise.Sqrt, dst, dst)
		return nil
	}
	tmp := cpu.Array{Data: c.workspace(), DType: src.DType, Shape: src.Shape, Strides: contiguousStrides(src.Shape)}
	elementwise.Unary(elementwise.Abs, tmp, src)
	switch {
	case math.IsInf(a.p, 1):
		reduce.Reduce(reduce.Max, dst, tmp, a.dims)
	case math.IsInf(a.p, -1):
		reduce.Reduce(reduce.Min, dst, tmp, a.dims)
	case a.p == 0:
		elementwise.Unary(elementwise.Sign, tmp, tmp)
		reduce.Reduce(reduce.Sum, dst, tmp, a.dims)
	case a.p == 1:
		reduce.Reduce(reduce.Sum, dst, tmp, a.dims)
	default:
		_ = elementwise.BinaryScalar(elementwise.Pow, tmp, tmp, a.p, false) // of floats: no error
		reduce.Reduce(reduce.Sum, dst, tmp, a.dims)
		_ = elementwise.BinaryScalar(elementwise.Pow, dst, dst, 1/a.p, false)
	}
	return nil
}}

func init() {
	opNorm.save = func(c *call) {
		c.saveIn(0)
		c.saveOut(0)
	}
	opNorm.grad = func(b *backward) { b.give(0, normGrad(b)) }
}

// normGrad is the gradient of a norm: where a division by 0 makes it
// undefined, 0.
func normGrad(b *backward) *Tensor {
	a := b.n.attrs.(norming)
	x, y := b.in(0), b.spread(b.out(0), a.dims)
	g := b.spread(b.grad(), a.dims)
	switch {
	case a.p == 0:
		return g.NewZeros(x.shape...)
	case a.p == 1:
		return x.Sign().Mul(g)
	case math.IsInf(a.p, 0):
		mask := x.Abs().Eq(y).To(x.dtype)
		return x.Sign().Mul(mask).Mul(g.Div(mask.sum(true, a.dims)))
	case a.p == 2:
		return x.Mul(g.Div(y).MaskedFill(y.EqScalar(0), 0))
	}
	// x |x|^(p-2) / y^(p-1)
	power := x.Mul(x.Abs().PowScalar(a.p-2)).MaskedFill(x.EqScalar(0), 0)
	return power.Mul(g.Div(y.PowScalar(a.p-1)).MaskedFill(y.EqScalar(0), 0))
}

// Norm returns the p-norm of all elements of a floating-point tensor as one
// vector, or over dims, which go: (sum |x|^p)^(1/p). p = 2 is the Euclidean
// norm, +Inf the largest and -Inf the smallest absolute value, 0 the number of
// elements that are not 0. The gradient is 0 where the norm is. Other types are
// an [ErrDType] panic. It is torch.linalg.vector_norm; see [Tensor.NormKeep]
// for keepdim.
func (x *Tensor) Norm(p float64, dims ...int) *Tensor { return x.norm(p, dims, false) }

// NormKeep is [Tensor.Norm] with the reduced dimensions kept with size 1.
func (x *Tensor) NormKeep(p float64, dims ...int) *Tensor { return x.norm(p, dims, true) }

func (x *Tensor) norm(p float64, dims []int, keep bool) *Tensor {
	wantFloat("norm", x)
	if math.IsNaN(p) {
		throw(ErrValue, "norm", []*Tensor{x}, "p is NaN")
	}
	a := norming{reduction{reduceDims("norm", x, dims), keep}, p}
	if math.IsInf(p, 0) || p < 0 {
		someOf("norm", x, a.dims)
	}
	c := newCall(opNorm, a, x).result(x.dtype, a.shape(x))
	if p != 2 {
		c.work = int(x.bytes())
	}
	return c.do()
}

var opLogSumExp = &opdef{name: "logsumexp", kernel: func(c *call) *Error {
	a, src := c.attrs.(reduction), c.src(0)
	reduce.LogSumExp(kept(c.dst(0), src, a.dims), src, a.along())
	return nil
}}

func init() {
	opLogSumExp.save = func(c *call) {
		c.saveIn(0)
		c.saveOut(0)
	}
	opLogSumExp.grad = func(b *backward) {
		dims := b.n.attrs.(reduction).dims
		p := b.in(0).Sub(b.spread(b.out(0), dims)).Exp()
		b.give(0, p.Mul(b.spread(b.grad(), dims)))
	}
}

// LogSumExp returns log(sum(exp(x))) over dims, which go, or of all elements,
// without overflow: -Inf of none. Integers and bools give Float32. It is
// torch.logsumexp; see [Tensor.LogSumExpKeep] for keepdim.
func (x *Tensor) LogSumExp(dims ...int) *Tensor { return x.logSumExp(dims, false) }

// LogSumExpKeep is [Tensor.LogSumExp] with the reduced dimensions kept with
// size 1.
func (x *Tensor) LogSumExpKeep(dims ...int) *Tensor { return x.logSumExp(dims, true) }

func (x *Tensor) logSumExp(dims []int, keep bool) *Tensor {
	dims = reduceDims("logsumexp", x, dims)
	f := x
	if !x.dtype.IsFloat() {
		f = x.To(Float32)
		defer dropTemporary(f, x)
	}
	last, along := f, dims
	if len(dims) > 1 {
		// The kernel takes one dimension: the last, made of all of dims.
		last = f.joinLast(dims)
		defer dropTemporary(last, f)
		along = []int{len(last.shape) - 1}
	}
	y := reduceOp(opLogSumExp, last, last.dtype, along, false)
	if keep {
		return y.View(keptShape(x.shape, dims)...)
	}
	return y
}

// joinLast returns x with dims behind the others and made one.
func (x *Tensor) joinLast(dims []int) *Tensor {
	order := make([]int, 0, len(x.shape))
	gone := make([]bool, len(x.shape))
	for _, d := range dims {
		gone[d] = true
	}
	for i := range x.shape {
		if !gone[i] {
			order = append(order, i)
		}
	}
	first := len(order)
	for i := range x.shape {
		if gone[i] {
			order = append(order, i)
		}
	}
	return x.Permute(order...).Flatten(first, -1)
}

// scan is the attribute of a running sum: along dim, from the end if reverse.
type scan struct {
	dim     int
	reverse bool
}

var opCumSum = &opdef{name: "cumsum", kernel: func(c *call) *Error {
	a, dst, src := c.attrs.(scan), c.dst(0), c.src(0)
	if a.reverse {
		dst, src = reversed(dst, a.dim), reversed(src, a.dim)
	}
	reduce.CumSum(dst, src, a.dim)
	return nil
}}

func init() {
	opCumSum.grad = func(b *backward) {
		a := b.n.attrs.(scan)
		a.reverse = !a.reverse
		b.give(0, apply(opCumSum, a, b.grad().dtype, b.grad().shape, b.grad()))
	}
}

// CumSum returns the sums of x up to and with each position along dim. Bool and
// integer tensors give Int64. It is torch.cumsum.
func (x *Tensor) CumSum(dim int) *Tensor {
	return apply(opCumSum, scan{dim: dimOf("cumsum", x, dim)}, accumulated(x.dtype), x.shape, x)
}
