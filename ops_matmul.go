package ebb

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/gemm"
)

// scratch returns the call's scratch space as bytes.
func (c *call) scratchBytes() []byte {
	if c.work == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(c.workspace()), c.work)
}

// opMatMul multiplies stacks of matrices of one rank and equal leading sizes.
var opMatMul = &opdef{name: "matmul", kernel: func(c *call) *Error {
	gemm.MatMul(c.dst(0), c.src(0), c.src(1), c.scratchBytes(), gemm.Options{})
	return nil
}}

func init() {
	opMatMul.save = func(c *call) {
		if c.needs[1] {
			c.saveIn(0)
		}
		if c.needs[0] {
			c.saveIn(1)
		}
	}
	opMatMul.grad = func(b *backward) {
		g := b.grad()
		// The product that needs operand 0 comes first, so that its memory goes
		// before the other is allocated.
		b.giveIf(1, func() *Tensor { return matMul(b.in(0).Transpose(-1, -2), g) })
		b.dropIn(0)
		b.giveIf(0, func() *Tensor { return matMul(g, b.in(1).Transpose(-1, -2)) })
	}
}

// matMul multiplies operands of one rank, at least 2, and equal leading sizes.
func matMul(x, y *Tensor) *Tensor {
	r := len(x.shape)
	shape := append(append(make([]int, 0, r), x.shape[:r-1]...), y.shape[r-1])
	if _, e := checkedSize("matmul", shape, x.dtype); e != nil {
		panic(e)
	}
	c := newCall(opMatMul, nil, x, y).result(x.dtype, shape)
	c.work = gemm.WorkspaceSize(c.out[0].form(), x.form(), y.form())
	return c.do()
}

// MatMul returns the matrix product, by torch.matmul's rules: vectors give a
// dot product, a vector is a row before and a column behind a matrix, and
// leading dimensions are stacks that broadcast. Both have one type (not Bool).
// Any strides are read in place, so that x.MatMul(w.T()) copies nothing. The
// result does not depend on the number of threads.
func (x *Tensor) MatMul(y *Tensor) *Tensor {
	operands := []*Tensor{x, y}
	switch {
	case len(x.shape) == 0 || len(y.shape) == 0:
		panic(newError(ErrShape, "matmul", operands, "an operand has no dimensions").advise("use Mul"))
	case x.dtype != y.dtype:
		panic(newError(ErrDType, "matmul", operands, "the types differ").advise("convert one with To"))
	case x.dtype == Bool:
		panic(newError(ErrDType, "matmul", operands, "bool matrices have no product").advise("convert with To"))
	case x.dtype == Uint8: // wraps modulo 256, as its products in a wider type do
		a, b := x.To(Int32), y.To(Int32)
		p := a.MatMul(b)
		defer dropTemporary(a, x)
		defer dropTemporary(b, y)
		defer dropTemporary(p, x)
		return p.To(Uint8)
	case len(x.shape) == 1 && len(y.shape) == 1:
		return x.Unsqueeze(0).MatMul(y.Unsqueeze(1)).View()
	case len(x.shape) == 1:
		return x.Unsqueeze(0).MatMul(y).Squeeze(-2)
	case len(y.shape) == 1:
		return x.MatMul(y.Unsqueeze(1)).Squeeze(-1)
	}
	rx, ry := len(x.shape), len(y.shape)
	if x.shape[rx-1] != y.shape[ry-2] {
		panic(newError(ErrShape, "matmul", operands, "%d columns times %d rows", x.shape[rx-1], y.shape[ry-2]).
			advise("the last size of the first is the last but one of the second"))
	}
	if rx > 2 && ry == 2 {
		// One product: the stack is more rows, and y's gradient one sum.
		if rows, ok := viewStrides(x.shape, x.strides, []int{size(x.shape[:rx-1]), x.shape[rx-1]}); ok {
			flat := view(opReshapeView, nil, x, []int{size(x.shape[:rx-1]), x.shape[rx-1]}, rows, x.offset)
			return matMul(flat, y).View(append(append([]int{}, x.shape[:rx-1]...), y.shape[1])...)
		}
	}
	if rx == 2 && ry == 2 {
		return matMul(x, y)
	}
	lead, ok := broadcastShape(x.shape[:rx-2], y.shape[:ry-2])
	if !ok {
		panic(newError(ErrShape, "matmul", operands, "the leading sizes do not broadcast").advise("they must match from the right, or be 1"))
	}
	a := x.broadcastTo(append(append([]int{}, lead...), x.shape[rx-2:]...))
	b := y.broadcastTo(append(append([]int{}, lead...), y.shape[ry-2:]...))
	return matMul(a, b)
}

// transposed returns a matrix's transpose, in the call's room.
func (c *call) transposed(m cpu.Array) cpu.Array {
	d := &c.room.dims
	*d = [4]int{m.Shape[1], m.Shape[0], m.Strides[1], m.Strides[0]}
	m.Shape, m.Strides = d[:2:2], d[2:]
	return m
}
