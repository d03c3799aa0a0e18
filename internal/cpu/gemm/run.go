package gemm

import (
	"sync/atomic"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// matMul plans the product and carries out the plan.
func matMul[T float](kern *kernels[T], dst, a, b cpu.Array, work []byte, opt Options) {
	p := newPlan(kern, dst, a, b)
	if p.tasks == 0 {
		return
	}
	r := runner[T]{plan: p, accumulate: opt.Accumulate}
	if opt.Bias != nil {
		r.bias = matrix[T]{opt.Bias.Data, 0, opt.Bias.Strides[0]}
		if p.swapped {
			r.bias = r.bias.transposed()
		}
	}
	limited := opt.ReLU && r.limitsTiles(opt.Mask)
	r.run(work)
	if opt.ReLU && !limited {
		limit(dst, opt.Mask)
	}
}

// run carries out the plan.
func (r *runner[T]) run(work []byte) {
	kern, lane := r.kern, r.laneBytes()
	if lane == 0 {
		if r.tasks == 1 {
			r.task(0, nil)
			return
		}
		shared := kern.share(r)
		cpu.Parallel(shared.tasks, func(i int) { shared.task(i, nil) })
		kern.shared.Put(shared)
		return
	}
	// Each thread that takes part has a lane of scratch memory and works on
	// tasks until none is left.
	base := unsafe.Pointer(unsafe.SliceData(work))
	skip := int(-uintptr(base) % alignment)
	lanes := min((len(work)-skip)/lane, r.tasks, cpu.NumThreads())
	if lanes < 1 {
		panic("gemm: workspace is smaller than WorkspaceSize")
	}
	if lanes == 1 {
		for i := range r.tasks {
			r.task(i, unsafe.Add(base, skip))
		}
		return
	}
	shared := kern.share(r)
	shared.next.Store(0)
	cpu.Parallel(lanes, func(l int) {
		scratch := unsafe.Add(base, skip+l*lane)
		for i := shared.next.Add(1) - 1; i < int64(shared.tasks); i = shared.next.Add(1) - 1 {
			shared.task(int(i), scratch)
		}
	})
	kern.shared.Put(shared)
}

// sharedRunner is a runner that several threads work on.
type sharedRunner[T float] struct {
	runner[T]
	next atomic.Int64 // task
}

// share returns a copy of r on the heap, from those used before.
func (k *kernels[T]) share(r *runner[T]) *sharedRunner[T] {
	s, _ := k.shared.Get().(*sharedRunner[T])
	if s == nil {
		s = new(sharedRunner[T])
	}
	s.runner = *r
	return s
}

// A runner is a plan with what is added to the product and made of the sum.
type runner[T float] struct {
	plan[T]
	accumulate bool
	bias       matrix[T] // repeated over the result; p is nil without bias

	relu    bool           // tiles are limited to at least 0 when their sums are complete
	mask    unsafe.Pointer // and bits noted here, or nil
	maskRow int            // bytes from row to row of the mask
}

// task computes the i-th task in scratch memory.
func (r *runner[T]) task(i int, scratch unsafe.Pointer) {
	blocks := r.mBlocks * r.nBlocks
	first := i / blocks * r.perTask
	bl := block[T]{runner: *r} // a copy: what the block points to moves to the heap
	for item := first; item < min(first+r.perTask, r.count); item++ {
		dst, a, b := r.item(item)
		bl.bias = r.bias
		i0, j0 := i%blocks/r.nBlocks*r.rows, i%r.nBlocks*r.cols
		bl.m, bl.n = min(r.rows, r.m-i0), min(r.cols, r.n-j0)
		bl.dst, bl.a, bl.b = dst.from(i0, j0), a.from(i0, 0), b.from(0, j0)
		if bl.bias.p != nil {
			bl.bias = bl.bias.from(i0, j0)
		}
		if r.mask != nil {
			bl.mask = unsafe.Add(r.mask, (item*r.m+i0)*r.maskRow+j0/8)
		}
		bl.mark()
		switch {
		case r.tiny:
			bl.loops()
		case r.dots:
			bl.dotProducts()
		default:
			bl.tiles(scratch)
		}
	}
}

// A block is one rectangle of a result and what it needs of a and b: m rows of
// a and n columns of b.
type block[T float] struct {
	runner[T]
	m, n            int
	dst, a, b, bias matrix[T]
}

// put stores the sum for element i, j, with what is added to it.
func (b *block[T]) put(i, j int, sum T) {
	if b.accumulate {
		sum += *b.dst.at(i, j)
	}
	if b.bias.p != nil {
		sum += *b.bias.at(i, j)
	}
	*b.dst.at(i, j) = sum
}

// loops computes the block by the definition.
func (b *block[T]) loops() {
	for i := range b.m {
		for j := range b.n {
			if b.k == 0 {
				b.put(i, j, 0)
				continue
			}
			b.put(i, j, goTile1x1(b.k, b.a.at(i, 0), b.a.cs, b.b.at(0, j), b.b.rs))
		}
	}
}

// dotProducts computes the block as products of a matrix, whose rows are in
// one piece, and vectors: the rows of a, or the column of b.
func (b *block[T]) dotProducts() {
	var d dots[T]
	if b.n == 1 {
		for i := 0; i < b.m; i += 4 {
			d.run(b.kern, min(4, b.m-i), b.k, b.a.at(i, 0), b.a.rs, (*T)(b.b.p))
			for x := range min(4, b.m-i) {
				b.put(i+x, 0, d.sums[x])
			}
		}
		return
	}
	for i := range b.m {
		for j := 0; j < b.n; j += 4 {
			d.run(b.kern, min(4, b.n-j), b.k, b.b.at(0, j), b.b.cs, b.a.at(i, 0))
			for x := range min(4, b.n-j) {
				b.put(i, j+x, d.sums[x])
			}
		}
	}
}

// dots holds up to four dot products.
type dots[T float] struct{ sums, part [4]T }

// stepDots is how many products one call of a kernel adds up: some
// microseconds' worth, since a goroutine cannot be stopped in assembly.
const stepDots = 1 << 15

// run computes the products of rows of a matrix, ld apart, and x.
func (d *dots[T]) run(kern *kernels[T], rows, k int, m *T, ld int, x *T) {
	d.sums = [4]T{}
	for p := 0; p < k; p += stepDots {
		n := min(stepDots, k-p)
		if rows == 4 {
			kern.dot4(n, step(m, p), ld, step(x, p), &d.part[0])
		} else {
			for i := range rows {
				kern.dot1(n, step(m, i*ld+p), ld, step(x, p), &d.part[i])
			}
		}
		for i := range rows {
			d.sums[i] += d.part[i]
		}
	}
}
