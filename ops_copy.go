package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/site"
)

// apply runs op on operands that were checked, for one result.
func apply(op *opdef, attrs any, dtype DType, shape []int, in ...*Tensor) *Tensor {
	return newCall(op, attrs, in...).result(dtype, shape).do()
}

// applyInPlace runs op on x, which it changes.
func applyInPlace(op *opdef, attrs any, in ...*Tensor) *Tensor {
	c := newCall(op, attrs, in...)
	c.inplace = true
	return c.do()
}

var opClone = &opdef{name: "clone", kernel: func(c *call) *Error {
	elementwise.Copy(c.dst(0), c.src(0))
	return nil
}, grad: func(b *backward) { b.give(0, b.grad()) }}

// Clone returns a contiguous copy of x that its gradient flows through. It is
// torch.clone.
func (x *Tensor) Clone() *Tensor { return apply(opClone, nil, x.dtype, x.shape, x) }

// Contiguous returns x if its elements lie row-major without gaps, else a copy
// that does. It is torch.Tensor.contiguous.
func (x *Tensor) Contiguous() *Tensor {
	if x.contiguous() {
		return x
	}
	return x.Clone()
}

var opTo = &opdef{name: "to", kernel: opClone.kernel}

func init() {
	opTo.grad = func(b *backward) { b.give(0, b.grad().To(b.input(0).dtype)) }
}

// To returns x converted to dtype as torch.Tensor.to does: floats become
// integers by truncation, integers wrap, anything but 0 is true. If x has that
// type already it is x itself.
func (x *Tensor) To(dtype DType) *Tensor {
	if !dtype.valid() {
		throw(ErrDType, "to", []*Tensor{x}, "%s is no element type", dtype)
	}
	if dtype == x.dtype {
		return x
	}
	return apply(opTo, nil, dtype, x.shape, x)
}

// MoveTo makes a tensor of x's elements in owner, without graph, and returns
// it. It copies if x covers less than half of its storage, so that the rest is
// not kept; otherwise both share the memory, and changes in place are seen by
// both. x stays valid until its own scope closes. It is the only way out of a
// scope.
func (x *Tensor) MoveTo(owner Owner) *Tensor {
	co := x.rec.core
	to := owner.inner()
	var e *Error
	co.mu.Lock()
	switch {
	case to.core != co:
		e = mixedRuntimes("MoveTo", co)
	case x.rec.st == nil:
		e = x.releasedError("MoveTo")
	case to.closed:
		e = to.closedError("MoveTo")
	case 2*x.bytes() >= x.rec.st.bytes:
		st := x.rec.st
		st.refs++
		r, l := new(record), *x.layout // a copy, since a view's layout would keep the view
		co.settle(r, st, &l, st.site)
		r.meta.detached = true
		co.enter(r, to)
		co.mu.Unlock()
		return &Tensor{layout: r.layout, rec: r, meta: &r.meta, own: owner}
	}
	co.mu.Unlock()
	if e != nil {
		e.Site = Site{site.Here(1)}
		panic(e)
	}
	c := newCall(opClone, nil, x)
	c.into, c.handle = to, owner
	return c.result(x.dtype, x.shape).do()
}

var opCopyInPlace = &opdef{name: "copy_", kernel: func(c *call) *Error {
	elementwise.Copy(c.dst(0), c.src(1))
	return nil
}, grad: func(b *backward) {
	if b.needs(1) {
		b.give(1, b.grad().To(b.input(1).dtype).SumTo(b.input(1).shape...))
	}
}}

// Copy_ overwrites x with y, broadcast to x's shape and converted to its type.
// y may overlap x only if it is x. It is torch.Tensor.copy_.
func (x *Tensor) Copy_(y *Tensor) *Tensor {
	if s, ok := broadcastShape(x.shape, y.shape); !ok || !sameShape(s, x.shape) {
		panic(newError(ErrShape, "copy_", []*Tensor{x, y}, "the source does not broadcast to the destination"))
	}
	return applyInPlace(opCopyInPlace, nil, x, y.broadcastTo(x.shape))
}

// broadcastTo is Expand, or x itself if it has the shape already.
func (x *Tensor) broadcastTo(shape []int) *Tensor {
	if sameShape(x.shape, shape) {
		return x
	}
	return x.Expand(shape...)
}

var opFillInPlace = &opdef{name: "fill_", kernel: func(c *call) *Error {
	fill(c.dst(0), c.attrs.(fillValue))
	return nil
}, grad: func(*backward) {}}

// Fill_ sets every element of x to value, a Go number or bool. It is
// torch.Tensor.fill_.
func (x *Tensor) Fill_(value any) *Tensor {
	return applyInPlace(opFillInPlace, scalarOf("fill_", value).fill(), x)
}

// Zero_ sets every element of x to 0. It is torch.Tensor.zero_.
func (x *Tensor) Zero_() *Tensor { return applyInPlace(opFillInPlace, fillValue{}, x) }

// The operations below place a gradient into the part of its base that a view
// showed. They change a tensor the gradient rule just made.

// placed writes g into out by op, a rule's own tensor.
func placed(op *opdef, attrs any, out, g *Tensor) *Tensor {
	if g == nil {
		return applyInPlace(op, attrs, out)
	}
	return applyInPlace(op, attrs, out, g)
}

var opNarrowPlace = &opdef{name: "narrow_backward", kernel: func(c *call) *Error {
	a, dst := c.attrs.(narrowing), c.dst(0)
	l := layout{dtype: DType(dst.DType), shape: append([]int{}, dst.Shape...), strides: dst.Strides}
	l.shape[a.dim] = a.length
	l.offset = a.start * dst.Strides[a.dim]
	elementwise.Copy(l.array(dst.Data), c.src(1))
	return nil
}, grad: func(b *backward) {
	a := b.n.attrs.(narrowing)
	if b.needs(1) {
		b.give(1, b.grad().Narrow(a.dim, a.start, a.length))
	}
}}

// strided returns the part of a contiguous array that l shows.
func strided(l layout, a cpu.Array) cpu.Array { return l.array(a.Data) }

var opStridedPlace = &opdef{name: "as_strided_backward", kernel: func(c *call) *Error {
	elementwise.Copy(strided(c.attrs.(layout), c.dst(0)), c.src(1))
	return nil
}}

// takeStrided returns a copy of the part of x that l shows of a contiguous
// tensor of x's shape.
func takeStrided(x *Tensor, l layout) *Tensor {
	return apply(opStridedTake, l, l.dtype, l.shape, x.Contiguous())
}

var opStridedZero = &opdef{name: "as_strided_backward", kernel: func(c *call) *Error {
	elementwise.Fill(strided(c.attrs.(layout), c.dst(0)), 0)
	return nil
}}

var opStridedTake = &opdef{name: "as_strided_copy", kernel: func(c *call) *Error {
	elementwise.Copy(c.dst(0), strided(c.attrs.(layout), c.src(0)))
	return nil
}}

func init() {
	opStridedPlace.grad = func(b *backward) {
		if b.needs(1) {
			l := b.n.attrs.(layout)
			b.give(1, takeStrided(b.grad(), l))
		}
	}
	opStridedZero.grad = func(b *backward) {
		b.give(0, placed(opStridedZero, b.n.attrs, b.grad().Clone(), nil))
	}
	opStridedTake.grad = func(b *backward) {
		g := b.grad()
		b.give(0, placed(opStridedPlace, b.n.attrs, g.NewZeros(b.input(0).shape...), g))
	}
}
