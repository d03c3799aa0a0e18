package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/cpu/index"
)

var opTril = &opdef{name: "tril", kernel: func(c *call) *Error {
	index.Tril(c.dst(0), c.src(0), c.attrs.(int))
	return nil
}}

var opTriu = &opdef{name: "triu", kernel: func(c *call) *Error {
	index.Triu(c.dst(0), c.src(0), c.attrs.(int))
	return nil
}}

func init() {
	opTril.grad = func(b *backward) { b.give(0, b.grad().triangle(opTril, b.n.attrs.(int))) }
	opTriu.grad = func(b *backward) { b.give(0, b.grad().triangle(opTriu, b.n.attrs.(int))) }
}

func (x *Tensor) triangle(op *opdef, diagonal int) *Tensor {
	if len(x.shape) < 2 {
		throw(ErrShape, op.name, []*Tensor{x}, "%d dimensions, expected 2 or more", len(x.shape))
	}
	return apply(op, diagonal, x.dtype, x.shape, x)
}

// Tril returns x with 0 above a diagonal of its last two dimensions: 0 is the
// main one, 1 the one above. Fewer than two dimensions are an [ErrShape] panic.
// It is torch.tril.
func (x *Tensor) Tril(diagonal int) *Tensor { return x.triangle(opTril, diagonal) }

// Triu returns x with 0 below a diagonal, as [Tensor.Tril]. It is torch.triu.
func (x *Tensor) Triu(diagonal int) *Tensor { return x.triangle(opTriu, diagonal) }

var opFlip = &opdef{name: "flip", kernel: func(c *call) *Error {
	elementwise.Copy(c.dst(0), reversed(c.src(0), c.attrs.([]int)...))
	return nil
}}

func init() {
	opFlip.grad = func(b *backward) { b.give(0, b.grad().Flip(b.n.attrs.([]int)...)) }
}

// Flip returns a copy of x with the order of dims reversed. It is torch.flip.
func (x *Tensor) Flip(dims ...int) *Tensor {
	if len(dims) > 0 {
		dims = reduceDims("flip", x, dims)
	}
	return apply(opFlip, append([]int{}, dims...), x.dtype, x.shape, x)
}

// resultScopeOf returns where results on xs land.
func resultScopeOf(op string, xs ...*Tensor) *Scope {
	var s *Scope
	for _, x := range xs {
		if o := x.Scope(); o != nil && (s == nil || o.o.seq > s.o.seq) {
			s = o
		}
	}
	if s == nil {
		panic(newError(ErrNoScope, op, xs, "every operand lies in a store").advise("direct one into a scope: x.In(scope)"))
	}
	return s
}

// positions returns where x is not 0, row-major, in Go memory.
func (x *Tensor) positions() []int64 {
	mask := x.To(Bool)
	defer dropTemporary(mask, x)
	var out []int64
	Read(mask, func(data []bool) {
		n := 0
		for _, v := range data {
			if v {
				n++
			}
		}
		out = make([]int64, 0, n)
		for i, v := range data {
			if v {
				out = append(out, int64(i))
			}
		}
	})
	return out
}

// MaskedSelect returns the elements of x where mask, a Bool tensor, is true, as
// a tensor of one dimension; both are broadcast. How many there are depends on
// the data: the call reads the mask before it runs. It is torch.masked_select.
func (x *Tensor) MaskedSelect(mask *Tensor) *Tensor {
	const op = "masked_select"
	isMask(op, mask)
	shape := jointShape(op, x, mask)
	s := resultScopeOf(op, x, mask)
	in := x.In(s)
	idx := FromSlice(s, mask.In(s).broadcastTo(shape).positions())
	defer dropTemporary(idx, x)
	flat := in.broadcastTo(shape).Reshape(-1)
	defer dropTemporary(flat, x)
	return flat.IndexSelect(0, idx)
}

// NonZero returns the Int64 positions of the elements of x that are not 0, one
// a row, row-major: [count, dimensions of x]. How many there are depends on the
// data: the call reads x before it runs. It is torch.nonzero.
func (x *Tensor) NonZero() *Tensor {
	s := resultScopeOf("nonzero", x)
	at := x.positions()
	rank := len(x.shape)
	rows := make([]int64, len(at)*rank)
	for i, p := range at {
		for d := rank - 1; d >= 0; d-- {
			rows[i*rank+d] = p % int64(x.shape[d])
			p /= int64(x.shape[d])
		}
	}
	return FromSlice(s, rows, len(at), rank)
}
