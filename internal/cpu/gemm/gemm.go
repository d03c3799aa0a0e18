// Package gemm has the processor's matrix products.
//
// A product is cut into blocks of the result, one task each. A task walks the
// inner dimension in steps of about 256: it packs its parts of a and b into
// panels where that pays and calls a register-tile kernel, written in assembly
// for AVX-512, AVX2 and NEON and in Go for the rest, on each tile. An element is
// the sum over its inner dimension in order, a step's products at a time, so its
// bits depend on the processor level and on which of the paths below its shape
// takes, not on how the result was cut or on the number of threads.
//
//   - Products too small to be worth any preparation: three loops.
//   - Matrix times vector with the matrix's rows in one piece: dot products.
//   - All others: tiles.
package gemm

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Options says what to add to a product, and what to make of the sum.
type Options struct {
	Accumulate bool       // add the product to dst instead of replacing it
	Bias       *cpu.Array // length n and dst's dtype, added to each row; nil: none

	ReLU bool       // then limit dst to at least 0, with the bits of elementwise.ReLUMask
	Mask *cpu.Array // with ReLU, of floats: set to elementwise's bit mask; nil: none
}

// MatMul sets dst[.., m, n] to the products of a[.., m, k] and b[.., k, n], as
// torch.matmul does for matrices, plus what opt says. All three have the same
// number of dimensions, at least two, equal leading sizes and one dtype:
// Float32, Float64, Int64 or Int32 (which wraps). Strides are free: transposed
// matrices and, in a and b, repeated ones (stride 0) are read in place. dst
// must not overlap itself, a or b. If k is 0 the products are zero.
//
// work is scratch memory of at least WorkspaceSize(dst, a, b) bytes; its
// contents do not matter. MatMul allocates no memory that grows with the
// shapes.
func MatMul(dst, a, b cpu.Array, work []byte, opt Options) {
	switch dst.DType {
	case cpu.Float32:
		matMul(kernels32, dst, a, b, work, opt)
	case cpu.Float64:
		matMul(kernels64, dst, a, b, work, opt)
	case cpu.Int64:
		matMulInt[int64](dst, a, b, opt)
	case cpu.Int32:
		matMulInt[int32](dst, a, b, opt)
	default:
		panic("gemm: dtype without matrix product")
	}
}

// WorkspaceSize returns the bytes of scratch memory that MatMul needs: the
// packing buffers, one set for each thread that can take part (at most about
// 1 MiB each for Float32, 2 MiB for Float64), and 0 for small products. It
// depends on cpu.NumThreads; with a size computed for fewer threads MatMul
// uses as many as fit.
func WorkspaceSize(dst, a, b cpu.Array) int {
	var lane, tasks int
	switch dst.DType {
	case cpu.Float32:
		p := newPlan(kernels32, dst, a, b)
		lane, tasks = p.laneBytes(), p.tasks
	case cpu.Float64:
		p := newPlan(kernels64, dst, a, b)
		lane, tasks = p.laneBytes(), p.tasks
	}
	if lane == 0 {
		return 0
	}
	return lane*min(tasks, cpu.NumThreads()) + alignment
}

// alignment of packed panels: a cache line.
const alignment = 64

// A matrix is where its elements lie: rs apart down a column, cs along a row.
type matrix[T any] struct {
	p      unsafe.Pointer
	rs, cs int
}

func (m matrix[T]) at(i, j int) *T {
	var t T
	return (*T)(unsafe.Add(m.p, (i*m.rs+j*m.cs)*int(unsafe.Sizeof(t))))
}

func (m matrix[T]) from(i, j int) matrix[T] {
	return matrix[T]{unsafe.Pointer(m.at(i, j)), m.rs, m.cs}
}

func (m matrix[T]) transposed() matrix[T] { return matrix[T]{m.p, m.cs, m.rs} }

// step returns p moved by n elements.
func step[T any](p *T, n int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p))))
}

// A batch is a stack of products of equal shape.
type batch[T any] struct {
	m, n, k   int
	shape     []int // leading dimensions
	count     int   // their product
	dst, a, b matrix[T]
	strides   [3][]int // of the leading dimensions, for dst, a, b
}

// newBatch reads the arrays' shapes. Leading dimensions under which b repeats
// and the rows of a and dst go on evenly become more rows of one product, as
// in a linear layer applied to [batch, time, features].
func newBatch[T any](dst, a, b cpu.Array) batch[T] {
	r := len(dst.Shape) - 2
	p := batch[T]{
		m: dst.Shape[r], n: dst.Shape[r+1], k: a.Shape[r+1],
		dst: matrix[T]{dst.Data, dst.Strides[r], dst.Strides[r+1]},
		a:   matrix[T]{a.Data, a.Strides[r], a.Strides[r+1]},
		b:   matrix[T]{b.Data, b.Strides[r], b.Strides[r+1]},
	}
	for r > 0 {
		d := dst.Shape[r-1]
		if p.m == 1 { // any row stride will do
			p.a.rs, p.dst.rs = a.Strides[r-1], dst.Strides[r-1]
		}
		if d != 1 && (b.Strides[r-1] != 0 || a.Strides[r-1] != p.m*p.a.rs || dst.Strides[r-1] != p.m*p.dst.rs) {
			break
		}
		p.m *= d
		r--
	}
	p.shape = dst.Shape[:r]
	p.strides = [3][]int{dst.Strides[:r], a.Strides[:r], b.Strides[:r]}
	p.count = 1
	for _, d := range p.shape {
		p.count *= d
	}
	// A dimension of size 1 has no stride to speak of.
	if p.n == 1 {
		p.dst.cs, p.b.cs = 1, 1
	}
	if p.k == 1 {
		p.a.cs, p.b.rs = 1, 1
	}
	return p
}

// item returns the matrices of the i-th product.
func (p *batch[T]) item(i int) (dst, a, b matrix[T]) {
	var at [3]int
	for d := len(p.shape) - 1; d >= 0; d-- {
		for s := range at {
			at[s] += i % p.shape[d] * p.strides[s][d]
		}
		i /= p.shape[d]
	}
	var t T
	size := int(unsafe.Sizeof(t))
	dst, a, b = p.dst, p.a, p.b
	dst.p = unsafe.Add(dst.p, at[0]*size)
	a.p = unsafe.Add(a.p, at[1]*size)
	b.p = unsafe.Add(b.p, at[2]*size)
	return dst, a, b
}
