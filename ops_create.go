package ebb

import (
	"fmt"
	"math"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/cpu/index"
)

// Option configures a creation function: a [DType], a [Kind], a *[Generator],
// or [RequiresGrad].
type Option interface{ create(*creation) }

// creation collects the options of a creation function.
type creation struct {
	dtype        DType
	hasDType     bool
	kind         Kind
	gen          *Generator
	requiresGrad bool
	work         int // bytes of scratch space
}

func (d DType) create(c *creation)      { c.dtype, c.hasDType = d, true }
func (k Kind) create(c *creation)       { c.kind = k }
func (g *Generator) create(c *creation) { c.gen = g }

// RequiresGrad makes a created tensor a leaf that collects gradients.
const RequiresGrad = requiresGradOption(0)

type requiresGradOption uint8

func (requiresGradOption) create(c *creation) { c.requiresGrad = true }

// creationOf applies opts over the default type.
func creationOf(op string, dtype DType, opts []Option) creation {
	c := creation{dtype: dtype}
	for _, o := range opts {
		o.create(&c)
	}
	if !c.dtype.valid() {
		throw(ErrDType, op, nil, "%s is no element type", c.dtype)
	}
	if c.requiresGrad && !c.dtype.IsFloat() {
		throw(ErrDType, op, nil, "only floating-point tensors have gradients, not %s", c.dtype)
	}
	return c
}

// create makes a tensor in o with a kernel that has no operands.
func create(op *opdef, attrs any, o Owner, shape []int, cr creation) *Tensor {
	in := o.inner()
	wantSize(op.name, in.core, shape, cr.dtype)
	c := newCall(op, attrs)
	c.core, c.into, c.handle, c.kind, c.work = in.core, in, o, cr.kind, cr.work
	x := c.result(cr.dtype, shape).do()
	x.meta.requiresGrad = cr.requiresGrad
	return x
}

// checkedSize returns the bytes of a tensor, or an error if a size is negative
// or their product overflows.
func checkedSize(op string, shape []int, dtype DType) (int, *Error) {
	n, err := numel(shape)
	if err == nil && n > maxBytes/dtype.Size() {
		err = fmt.Errorf("%s of %s is more than a machine addresses", shapeString(shape), dtype)
	}
	if err != nil {
		return 0, newError(ErrShape, op, nil, "%v", err).advise("sizes are 0 or more, and their product is below 2^62 bytes")
	}
	return n * dtype.Size(), nil
}

// wantSize panics if checkedSize has an error.
func wantSize(op string, co *core, shape []int, dtype DType) {
	if _, err := checkedSize(op, shape, dtype); err != nil {
		err.core = co
		panic(err)
	}
}

var opEmpty = &opdef{name: "empty", constant: true, kernel: func(*call) *Error { return nil }}

// Empty returns a tensor of the given shape whose elements are whatever the
// memory holds. The default type is Float32. It is torch.empty.
func Empty(o Owner, shape Shape, opts ...Option) *Tensor {
	return create(opEmpty, nil, o, shape, creationOf("empty", Float32, opts))
}

// fillValue is the attribute of full and fill_.
type fillValue struct {
	float   float64
	integer int64
	isInt   bool
}

func fill(dst cpu.Array, v fillValue) {
	if v.isInt {
		elementwise.FillInt(dst, v.integer)
	} else {
		elementwise.Fill(dst, v.float)
	}
}

var opFull = &opdef{name: "full", constant: true, kernel: func(c *call) *Error {
	fill(c.dst(0), c.attrs.(fillValue))
	return nil
}}

// Zeros returns a tensor of zeros. The default type is Float32. It is
// torch.zeros.
func Zeros(o Owner, shape Shape, opts ...Option) *Tensor {
	return create(opFull, fillValue{}, o, shape, creationOf("zeros", Float32, opts))
}

// Ones returns a tensor of ones. The default type is Float32. It is torch.ones.
func Ones(o Owner, shape Shape, opts ...Option) *Tensor {
	return create(opFull, fillValue{float: 1}, o, shape, creationOf("ones", Float32, opts))
}

// Full returns a tensor whose elements are all value: a Go integer, float or
// bool. The default type is the value's: Int64, Float32 or Bool. It is
// torch.full.
func Full(o Owner, shape Shape, value any, opts ...Option) *Tensor {
	v := scalarOf("full", value)
	return create(opFull, v.fill(), o, shape, creationOf("full", v.defaultType(), opts))
}

var opArange = &opdef{name: "arange", constant: true, kernel: func(c *call) *Error {
	a := c.attrs.([2]scalar)
	if dst := c.dst(0); DType(dst.DType).IsFloat() {
		index.Arange(dst, a[0].float(), a[1].float())
	} else {
		index.ArangeInt(dst, a[0].int(), a[1].int())
	}
	return nil
}}

// Arange returns the numbers from start, inclusive, to end, exclusive, in
// steps of step: all Go integers or floats, step not 0. The default type is
// Int64, or Float32 if one of them is a float. It is torch.arange.
func Arange(o Owner, start, end, step any, opts ...Option) *Tensor {
	a, b, s := scalarOf("arange", start), scalarOf("arange", end), scalarOf("arange", step)
	dtype := Int64
	if a.dtype.IsFloat() || b.dtype.IsFloat() || s.dtype.IsFloat() {
		dtype = Float32
	}
	cr := creationOf("arange", dtype, opts)
	n := math.Ceil((b.float() - a.float()) / s.float())
	if s.float() == 0 || !(n >= 0 && n <= maxBytes) {
		panic(newError(ErrValue, "arange", nil, "from %v to %v in steps of %v", start, end, step).advise("step leads from start to end and is not 0"))
	}
	return create(opArange, [2]scalar{a, s}, o, Shape{int(n)}, cr)
}

var opLinspace = &opdef{name: "linspace", constant: true, kernel: func(c *call) *Error {
	a, dst := c.attrs.([2]float64), c.dst(0)
	n := dst.Shape[0]
	if n == 0 {
		return nil
	}
	step := 0.0
	if n > 1 {
		step = (a[1] - a[0]) / float64(n-1)
	}
	// As in PyTorch the second half counts from the end.
	half := n / 2
	if n > 1 {
		index.Arange(reversed(narrowed(dst, 0, half, n-half), 0), a[1], -step)
	} else {
		half = 1
	}
	index.Arange(narrowed(dst, 0, 0, half), a[0], step)
	return nil
}}

// Linspace returns steps numbers at equal distances from start to end, both
// inclusive. The default type is Float32; integers and bools are an [ErrDType]
// panic, negative steps [ErrValue]. It is torch.linspace.
func Linspace(o Owner, start, end float64, steps int, opts ...Option) *Tensor {
	cr := creationOf("linspace", Float32, opts)
	if !cr.dtype.IsFloat() {
		panic(newError(ErrDType, "linspace", nil, "numbers of type %s", cr.dtype).advise("use Arange, or convert with To"))
	}
	if steps < 0 {
		throw(ErrValue, "linspace", nil, "%d steps", steps)
	}
	return create(opLinspace, [2]float64{start, end}, o, Shape{steps}, cr)
}

var opEye = &opdef{name: "eye", constant: true, kernel: func(c *call) *Error {
	dst := c.dst(0)
	elementwise.FillInt(dst, 0)
	n := min(dst.Shape[0], dst.Shape[1])
	elementwise.FillInt(cpu.Array{Data: dst.Data, DType: dst.DType, Shape: []int{n}, Strides: []int{dst.Strides[0] + dst.Strides[1]}}, 1)
	return nil
}}

// Eye returns a matrix with ones on the diagonal and zeros elsewhere. The
// default type is Float32. It is torch.eye.
func Eye(o Owner, rows, cols int, opts ...Option) *Tensor {
	return create(opEye, nil, o, Shape{rows, cols}, creationOf("eye", Float32, opts))
}

// FromSlice returns a tensor of the given shape with a copy of data, row-major,
// of data's type. Without sizes the shape is that of data: one dimension.
// It is torch.tensor.
func FromSlice[T Element](o Owner, data []T, shape ...int) *Tensor {
	return FromSliceWith(o, data, shape)
}

// FromSliceWith is FromSlice with options. The element type is data's.
func FromSliceWith[T Element](o Owner, data []T, shape Shape, opts ...Option) *Tensor {
	if shape == nil {
		shape = Shape{len(data)}
	}
	dtype := dtypeOf[T]()
	cr := creationOf("tensor", dtype, opts)
	if n, err := numel(shape); err != nil || n != len(data) {
		panic(newError(ErrShape, "tensor", nil, "%d values for shape %s", len(data), shapeString(shape)).advise("the product of the sizes is the number of values"))
	}
	if cr.dtype != dtype {
		panic(newError(ErrDType, "tensor", nil, "option %s for values of %s", cr.dtype, dtype).advise("convert with To"))
	}
	return create(opFromSlice, any(data), o, shape, cr)
}

var opFromSlice = &opdef{name: "tensor", constant: true, kernel: func(c *call) *Error {
	dst := c.dst(0)
	switch data := c.attrs.(type) {
	case []float32:
		copy(cpu.Slice[float32](dst), data)
	case []float64:
		copy(cpu.Slice[float64](dst), data)
	case []int64:
		copy(cpu.Slice[int64](dst), data)
	case []int32:
		copy(cpu.Slice[int32](dst), data)
	case []uint8:
		copy(cpu.Slice[uint8](dst), data)
	case []bool:
		out := cpu.Slice[uint8](dst)
		for i, v := range data {
			out[i] = 0
			if v {
				out[i] = 1
			}
		}
	}
	return nil
}}

// resultScope returns where results on x alone land, for the New functions.
func (x *Tensor) resultScope(op string) *Scope {
	s := x.Scope()
	if s == nil {
		panic(newError(ErrNoScope, op, []*Tensor{x}, "the tensor lies in a store").advise("direct it into a scope: x.In(scope)"))
	}
	return s
}

// NewZeros returns zeros of x's type in the scope where results on x land, so
// that inside a module's Forward they die with the call. It is
// torch.Tensor.new_zeros.
func (x *Tensor) NewZeros(shape ...int) *Tensor {
	return create(opFull, fillValue{}, x.resultScope("new_zeros"), shape, creation{dtype: x.dtype})
}

// NewOnes is [Tensor.NewZeros] with ones. It is torch.Tensor.new_ones.
func (x *Tensor) NewOnes(shape ...int) *Tensor {
	return create(opFull, fillValue{float: 1}, x.resultScope("new_ones"), shape, creation{dtype: x.dtype})
}

// NewFull is [Tensor.NewZeros] with value, a Go number or bool. It is
// torch.Tensor.new_full.
func (x *Tensor) NewFull(shape Shape, value any) *Tensor {
	return create(opFull, scalarOf("new_full", value).fill(), x.resultScope("new_full"), shape, creation{dtype: x.dtype})
}

// NewEmpty is [Tensor.NewZeros] without the zeros. It is torch.Tensor.new_empty.
func (x *Tensor) NewEmpty(shape ...int) *Tensor {
	return create(opEmpty, nil, x.resultScope("new_empty"), shape, creation{dtype: x.dtype})
}

// ZerosLike returns zeros of x's shape and, unless asked otherwise, type, in the
// scope where results on x land. It is torch.zeros_like.
func ZerosLike(x *Tensor, opts ...Option) *Tensor {
	return create(opFull, fillValue{}, x.resultScope("zeros_like"), x.shape, creationOf("zeros_like", x.dtype, opts))
}

// OnesLike is [ZerosLike] with ones. It is torch.ones_like.
func OnesLike(x *Tensor, opts ...Option) *Tensor {
	return create(opFull, fillValue{float: 1}, x.resultScope("ones_like"), x.shape, creationOf("ones_like", x.dtype, opts))
}

// FullLike is [ZerosLike] with value, a Go number or bool. It is
// torch.full_like.
func FullLike(x *Tensor, value any, opts ...Option) *Tensor {
	return create(opFull, scalarOf("full_like", value).fill(), x.resultScope("full_like"), x.shape, creationOf("full_like", x.dtype, opts))
}

// EmptyLike is [ZerosLike] without the zeros. It is torch.empty_like.
func EmptyLike(x *Tensor, opts ...Option) *Tensor {
	return create(opEmpty, nil, x.resultScope("empty_like"), x.shape, creationOf("empty_like", x.dtype, opts))
}
