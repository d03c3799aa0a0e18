package ebb

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

var opWhere = &opdef{name: "where", kernel: func(c *call) *Error {
	elementwise.Where(c.dst(0), c.src(0), c.src(1), c.src(2))
	return nil
}}

func init() {
	opWhere.save = func(c *call) { c.saveIn(0) }
	opWhere.grad = func(b *backward) {
		b.giveIf(1, func() *Tensor { return keepWhere(b.grad(), b.in(0)) })
		b.giveIf(2, func() *Tensor { return b.grad().MaskedFill(b.in(0), 0) })
	}
}

// Where returns x where the Bool tensor cond is true and y elsewhere; all three
// are broadcast, x and y promoted as [ResultType]. It is torch.where.
func Where(cond, x, y *Tensor) *Tensor {
	isMask("where", cond)
	xy := jointShape("where", x, y)
	shape, ok := broadcastShape(cond.shape, xy)
	if !ok {
		panic(newError(ErrShape, "where", []*Tensor{cond, x, y}, "the shapes do not broadcast").advise("sizes must match from the right, or be 1"))
	}
	common := resultType(x, y)
	a := converted(common, x, cond, y)
	defer dropTemporary(a, x)
	b := converted(common, y, cond, x)
	defer dropTemporary(b, y)
	return apply(opWhere, nil, common, shape, cond.broadcastTo(shape), a.broadcastTo(shape), b.broadcastTo(shape))
}

// isMask panics unless mask is a Bool tensor.
func isMask(op string, mask *Tensor) {
	if mask.dtype != Bool {
		panic(newError(ErrDType, op, []*Tensor{mask}, "a mask of %s, expected bool", mask.dtype).advise("compare it, or convert it with To(ebb.Bool)"))
	}
}

// masking is the attribute of masked_fill: what to fill with, where the mask is
// true or, if kept, where it is false.
type masking struct {
	value fillValue
	kept  bool
}

var opMaskedFill = &opdef{name: "masked_fill", kernel: func(c *call) *Error {
	m, dst, x, mask := c.attrs.(masking), c.dst(0), c.src(0), c.src(1)
	var room [8]byte
	value := cpu.Array{Data: unsafe.Pointer(&room), DType: dst.DType}
	fill(value, m.value)
	value.Shape, value.Strides = dst.Shape, make([]int, len(dst.Shape))
	if m.kept {
		elementwise.Where(dst, mask, x, value)
	} else {
		elementwise.Where(dst, mask, value, x)
	}
	return nil
}}

func init() {
	opMaskedFill.save = func(c *call) { c.saveIn(1) }
	opMaskedFill.grad = func(b *backward) {
		g := b.grad()
		b.give(0, apply(opMaskedFill, masking{kept: b.n.attrs.(masking).kept}, g.dtype, g.shape, g, b.in(1)))
	}
}

// keepWhere returns g where cond, of its shape, is true, and 0 elsewhere.
func keepWhere(g, cond *Tensor) *Tensor {
	return apply(opMaskedFill, masking{kept: true}, g.dtype, g.shape, g, cond)
}

// MaskedFill returns x with v, a Go number converted to x's type, where the
// Bool tensor mask is true; both are broadcast. It is torch.masked_fill.
func (x *Tensor) MaskedFill(mask *Tensor, v any) *Tensor {
	isMask("masked_fill", mask)
	shape := jointShape("masked_fill", x, mask)
	m := masking{value: scalarOf("masked_fill", v).fill()}
	return apply(opMaskedFill, m, x.dtype, shape, x.broadcastTo(shape), mask.broadcastTo(shape))
}

// MaskedFill_ sets x to v, a Go number converted to x's type, where the Bool
// tensor mask, broadcast to x's shape, is true, and returns x. It is
// torch.Tensor.masked_fill_.
func (x *Tensor) MaskedFill_(mask *Tensor, v any) *Tensor {
	isMask("masked_fill", mask)
	fitsInPlace("masked_fill", x.dtype, x, mask)
	return applyInPlace(opMaskedFill, masking{value: scalarOf("masked_fill", v).fill()}, x, mask.broadcastTo(x.shape))
}
