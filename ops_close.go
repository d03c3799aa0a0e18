package ebb

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// Equal reports whether x and y have the same shape and equal elements; NaN
// equals nothing. It works on tensors of stores too, and makes no tensor. Two
// types are an [ErrDType] panic. It is torch.equal.
func (x *Tensor) Equal(y *Tensor) bool {
	sameType("equal", x, y)
	switch x.dtype {
	case Float32:
		return everyPair(x, y, same[float32])
	case Float64:
		return everyPair(x, y, same[float64])
	case Int64:
		return everyPair(x, y, same[int64])
	case Int32:
		return everyPair(x, y, same[int32])
	case Uint8:
		return everyPair(x, y, same[uint8])
	}
	return everyPair(x, y, same[bool])
}

func same[T Element](a, b T) bool { return a == b }

// sameType panics unless x and y have one type.
func sameType(op string, x, y *Tensor) {
	if x.dtype != y.dtype {
		panic(newError(ErrDType, op, []*Tensor{x, y}, "tensors of %s and %s", x.dtype, y.dtype).advise("convert one with To"))
	}
}

// everyPair reports whether x and y, of elements T, have one shape and test
// holds for every pair of elements.
func everyPair[T Element](x, y *Tensor, test func(a, b T) bool) bool {
	if !sameShape(x.shape, y.shape) {
		return false
	}
	ok := true
	Read(x, func(a []T) {
		Read(y, func(b []T) {
			for i, v := range a {
				if !test(v, b[i]) {
					ok = false
					return
				}
			}
		})
	})
	return ok
}

// CloseOption configures [Tensor.IsClose] and [Tensor.AllClose].
type CloseOption interface{ closeness(*closeness) }

// closeness is how far two numbers may be apart.
type closeness struct {
	rtol, atol float64
	equalNaN   bool
}

type closeOption func(*closeness)

func (o closeOption) closeness(c *closeness) { o(c) }

// RTol sets the tolerance relative to the second operand's absolute value, by
// default 1e-5.
func RTol(v float64) CloseOption { return closeOption(func(c *closeness) { c.rtol = v }) }

// ATol sets the absolute tolerance, by default 1e-8.
func ATol(v float64) CloseOption { return closeOption(func(c *closeness) { c.atol = v }) }

// EqualNaN makes NaN close to NaN.
var EqualNaN CloseOption = closeOption(func(c *closeness) { c.equalNaN = true })

// closenessOf checks x and y and applies opts over the defaults.
func closenessOf(op string, x, y *Tensor, opts []CloseOption) closeness {
	c := closeness{rtol: 1e-5, atol: 1e-8}
	for _, o := range opts {
		o.closeness(&c)
	}
	sameType(op, x, y)
	if !(c.rtol >= 0) || !(c.atol >= 0) {
		panic(newError(ErrValue, op, []*Tensor{x, y}, "the tolerances are %v, relative, and %v, absolute", c.rtol, c.atol).advise("give 0 or more"))
	}
	return c
}

// opIsClose computes in the types PyTorch does: integers in Float32.
var opIsClose = &opdef{name: "isclose", constant: true, kernel: func(c *call) *Error {
	o, dst, a, b := c.attrs.(closeness), c.dst(0), c.src(0), c.src(1)
	n := dst.Len()
	scratch := func(offset int, dtype cpu.DType) cpu.Array {
		return cpu.Array{Data: unsafe.Add(c.workspace(), offset), DType: dtype, Shape: dst.Shape, Strides: dst.Strides}
	}
	size := n * a.DType.Size()
	allowed, actual := scratch(0, a.DType), scratch(size, a.DType)
	t, u := scratch(2*size, cpu.Bool), scratch(2*size+n, cpu.Bool)
	var p passes
	p.scalar(elementwise.Mul, allowed, b, o.rtol)
	p.unary(elementwise.Abs, allowed, allowed)
	p.scalar(elementwise.Add, allowed, allowed, o.atol)
	p.binary(elementwise.Sub, actual, a, b)
	p.unary(elementwise.Abs, actual, actual)
	p.binary(elementwise.Le, t, actual, allowed)
	p.unary(elementwise.IsFinite, u, actual)
	p.binary(elementwise.BitwiseAnd, t, t, u)
	p.binary(elementwise.Eq, dst, a, b)
	p.binary(elementwise.BitwiseOr, dst, dst, t)
	if o.equalNaN {
		p.unary(elementwise.IsNaN, t, a)
		p.unary(elementwise.IsNaN, u, b)
		p.binary(elementwise.BitwiseAnd, t, t, u)
		p.binary(elementwise.BitwiseOr, dst, dst, t)
	}
	return nil
}}

// IsClose returns a Bool tensor that is true where x and y, broadcast, are
// equal, or finite with |x-y| <= atol + rtol*|y|. The tolerances are [RTol] and
// [ATol]. Two types, or a negative tolerance, are a panic. It is torch.isclose.
func (x *Tensor) IsClose(y *Tensor, opts ...CloseOption) *Tensor {
	o := closenessOf("isclose", x, y, opts)
	if o.rtol == 0 && o.atol == 0 && !x.dtype.IsFloat() {
		return x.Eq(y) // not in Float32
	}
	shape := jointShape("isclose", x, y)
	common := floatType(x.dtype)
	a := converted(common, x, y)
	defer dropTemporary(a, x)
	b := converted(common, y, x)
	defer dropTemporary(b, y)
	c := newCall(opIsClose, o, a.broadcastTo(shape), b.broadcastTo(shape))
	c.work = size(shape) * 2 * (common.Size() + 1)
	return c.result(Bool, shape).do()
}

// AllClose reports whether all elements of x and y, broadcast, are close in the
// sense of [Tensor.IsClose]. It works on tensors of stores too, and makes no
// tensor. It is torch.allclose.
func (x *Tensor) AllClose(y *Tensor, opts ...CloseOption) bool {
	o := closenessOf("allclose", x, y, opts)
	shape := jointShape("allclose", x, y)
	x, y = x.Detach().broadcastTo(shape), y.Detach().broadcastTo(shape)
	switch x.dtype {
	case Float32:
		return everyPair(x, y, closeIn[float32](o))
	case Float64:
		return everyPair(x, y, closeIn[float64](o))
	case Int64:
		return everyPair(x, y, closeIntegers[int64](o))
	case Int32:
		return everyPair(x, y, closeIntegers[int32](o))
	case Uint8:
		return everyPair(x, y, closeIntegers[uint8](o))
	}
	return everyPair(x, y, func(a, b bool) bool { return a == b || o.atol+o.rtol >= 1 })
}

// closeIn is the test of opIsClose.
func closeIn[T float32 | float64](o closeness) func(a, b T) bool {
	rtol, atol := T(o.rtol), T(o.atol)
	return func(a, b T) bool {
		switch {
		case a == b:
			return true
		case a != a || b != b:
			return o.equalNaN && a != a && b != b
		}
		// The conversions round, so that no processor fuses the product and sum.
		allowed := T(atol + T(math.Abs(float64(T(rtol*b)))))
		actual := T(math.Abs(float64(a - b)))
		return !math.IsInf(float64(actual), 0) && actual <= allowed
	}
}

func closeIntegers[T int64 | int32 | uint8](o closeness) func(a, b T) bool {
	test := closeIn[float32](o)
	return func(a, b T) bool {
		return a == b || (o.rtol > 0 || o.atol > 0) && test(float32(a), float32(b))
	}
}
