package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/site"
)

var opRead = &opdef{name: "read", constant: true}

// lease calls f with x's memory as kernels see it, leased so that it stays
// while f runs, whoever closes its owner meanwhile.
func (x *Tensor) lease(op *opdef, f func(a cpu.Array)) {
	c := &call{op: op, core: x.rec.core, in: []*Tensor{x}, site: site.Here(2)}
	co := c.core
	co.mu.Lock()
	var e *Error
	if x.rec.st == nil {
		e = x.releasedError(op.name)
	} else {
		x.rec.st.refs++
		c.held = append(c.held, x.rec.st)
		co.inflight.push(c)
	}
	co.mu.Unlock()
	if e != nil {
		c.fail(e)
	}
	defer func() {
		co.mu.Lock()
		defer co.mu.Unlock()
		c.giveUp()
	}()
	f(c.src(0))
}

// Read calls f with the elements of a Float32 tensor, without a copy if x is
// contiguous, else with a copy in row-major order. The slice is valid until f
// returns, and is not to be changed. Closing x's owner meanwhile is safe: the
// memory goes when f returns. See [Read] for other types.
func (x *Tensor) Read(f func(data []float32)) { Read(x, f) }

// Read is [Tensor.Read] for any element type, which must be x's.
func Read[T Element](x *Tensor, f func(data []T)) {
	if dtypeOf[T]() != x.dtype {
		panic(newError(ErrDType, "read", []*Tensor{x}, "elements of %s read as %s", x.dtype, dtypeOf[T]()).advise("convert with To"))
	}
	if !x.contiguous() {
		f(copyOut[T](x))
		return
	}
	x.lease(opRead, func(a cpu.Array) { f(elements[T](a)) })
}

// elements returns the contiguous array's memory. One byte of a bool tensor is
// 0 or 1, which is a Go bool.
func elements[T Element](a cpu.Array) []T {
	if s := cpu.Slice[T](a); s != nil {
		return s
	}
	return []T{}
}

// copyOut returns a copy of x's elements in row-major order.
func copyOut[T Element](x *Tensor) []T {
	if dtypeOf[T]() != x.dtype {
		panic(newError(ErrDType, "copy", []*Tensor{x}, "elements of %s copied as %s", x.dtype, dtypeOf[T]()).advise("convert with To"))
	}
	out := make([]T, size(x.shape))
	x.lease(opRead, func(a cpu.Array) {
		if a.Contiguous() {
			copy(out, elements[T](a))
			return
		}
		cpu.Gather(out, a)
	})
	return out
}

// Values returns a copy of x's elements in row-major order. T must be the Go
// type of x's elements, or it is an [ErrDType] panic.
func Values[T Element](x *Tensor) []T { return copyOut[T](x) }

// Float32s returns a copy of a Float32 tensor's elements, row-major.
func (x *Tensor) Float32s() []float32 { return copyOut[float32](x) }

// Float64s returns a copy of a Float64 tensor's elements, row-major.
func (x *Tensor) Float64s() []float64 { return copyOut[float64](x) }

// Int64s returns a copy of an Int64 tensor's elements, row-major.
func (x *Tensor) Int64s() []int64 { return copyOut[int64](x) }

// Int32s returns a copy of an Int32 tensor's elements, row-major.
func (x *Tensor) Int32s() []int32 { return copyOut[int32](x) }

// Uint8s returns a copy of a Uint8 tensor's elements, row-major.
func (x *Tensor) Uint8s() []uint8 { return copyOut[uint8](x) }

// Bools returns a copy of a Bool tensor's elements, row-major.
func (x *Tensor) Bools() []bool { return copyOut[bool](x) }

// Item returns the only element of x as a float64, whatever its type: exact
// but for Int64 beyond 2^53, for which there is Int64s. More or fewer elements
// are an [ErrShape] panic. It is torch.Tensor.item.
func (x *Tensor) Item() float64 {
	if size(x.shape) != 1 {
		throw(ErrShape, "item", []*Tensor{x}, "%d elements, expected one", size(x.shape))
	}
	var v float64
	x.lease(opRead, func(a cpu.Array) { v = cpu.First(a) })
	return v
}
