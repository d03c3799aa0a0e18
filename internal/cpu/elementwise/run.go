package elementwise

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// callLen is the most elements of one call of a kernel, which cannot be
// interrupted: at most some 100 microseconds.
const callLen = 1 << 16

// largeResult is how many bytes a result has that is written past the caches. It is
// more than they may keep of it until it is read; to read there what will be
// overwritten, as a write does otherwise, costs as much as an operand.
const largeResult = 16 << 20

// forms are the kernels of one operation: on two arrays and, where there are,
// with a number on the right or on the left.
type forms struct{ both, right, left kernel }

// task is a kernel and its operands: where they begin, the sizes of their
// elements, and the second number.
type task struct {
	kernel   kernel
	w        uint64
	operands int
	base     [maxOperands]unsafe.Pointer
	size     offsets
}

// call runs the kernel on n elements of each operand from p on.
func (t *task) call(n int, p *[maxOperands]unsafe.Pointer, v uint64) {
	t.mark(n, p)
	if n <= callLen {
		t.kernel.loop(n, p[0], p[1], p[2], p[3], v, t.w)
		return
	}
	for i := 0; i < n; i += callLen {
		q := *p
		for o := range t.operands {
			if q[o] != nil {
				q[o] = unsafe.Add(q[o], i*t.size[o])
			}
		}
		t.kernel.loop(min(callLen, n-i), q[0], q[1], q[2], q[3], v, t.w)
	}
}

// run1, run2 and run3 apply a kernel to all elements of one, two or three
// inputs. Contiguous arrays take a way of their own, without looking at layouts
// and without allocating, since most operations are on few elements.

func run1(k kernel, dst, a *cpu.Array, v, w uint64) {
	n, flat := flatLen(dst)
	if _, also := flatLen(a); flat && also {
		if k.loop == nil {
			copyFlat(dst, a, n)
			return
		}
		flatRun(k, n, dst, a, nil, nil, v, w)
		return
	}
	runStrided(forms{both: k}, v, w, []cpu.Array{*dst, *a})
}

func run2(f forms, dst, a, b *cpu.Array, v uint64) {
	n, flat := flatLen(dst)
	if flat {
		if _, flat = flatLen(a); flat {
			_, flat = flatLen(b)
		}
	}
	if flat {
		flatRun(f.both, n, dst, a, b, nil, v, 0)
		return
	}
	runStrided(f, v, 0, []cpu.Array{*dst, *a, *b})
}

func run3(k kernel, dst, a, b, c *cpu.Array, v uint64) {
	n, flat := flatLen(dst)
	for _, x := range [...]*cpu.Array{a, b, c} {
		_, also := flatLen(x)
		flat = flat && also
	}
	if flat {
		flatRun(k, n, dst, a, b, c, v, 0)
		return
	}
	runStrided(forms{both: k}, v, 0, []cpu.Array{*dst, *a, *b, *c})
}

// flatLen returns the number of elements and whether they lie row-major without
// gaps.
func flatLen(a *cpu.Array) (n int, flat bool) {
	n, flat = 1, true
	strides := a.Strides[:len(a.Shape)]
	for i := len(a.Shape) - 1; i >= 0; i-- {
		if d := a.Shape[i]; d != 1 {
			flat = flat && strides[i] == n
			n *= d
		}
	}
	return n, flat || n == 0
}

// flatRun applies k to n elements that lie side by side in every operand.
func flatRun(k kernel, n int, dst, a, b, c *cpu.Array, v, w uint64) {
	x := task{kernel: k, w: w, operands: 1}
	x.base[0], x.size[0] = dst.Data, dst.DType.Size()
	if a != nil {
		x.base[1], x.size[1], x.operands = a.Data, a.DType.Size(), 2
	}
	if b != nil {
		x.base[2], x.size[2], x.operands = b.Data, b.DType.Size(), 3
	}
	if c != nil {
		x.base[3], x.size[3], x.operands = c.Data, c.DType.Size(), 4
	}
	if n*x.size[0] >= largeResult && k.past != nil && uintptr(x.base[0])%64 == 0 && x.base[0] != x.base[1] && x.base[0] != x.base[2] {
		x.kernel.loop = k.past
	}
	if n < 2*k.least {
		if n > 0 {
			x.call(n, &x.base, v)
		}
		return
	}
	parallelFlat(x, n, v)
}

// parallelFlat is apart, so that only it moves the task to the heap.
func parallelFlat(x task, n int, v uint64) {
	tasks := n / x.kernel.least
	cpu.Parallel(tasks, func(i int) {
		// Tasks begin at whole cache lines of the smallest element.
		from, to := n/64*i/tasks*64, n/64*(i+1)/tasks*64
		if i == tasks-1 {
			to = n
		}
		p := x.base
		for o := range x.operands {
			p[o] = unsafe.Add(p[o], from*x.size[o])
		}
		x.call(to-from, &p, v)
	})
}

// copyFlat copies n elements of one dtype.
func copyFlat(dst, src *cpu.Array, n int) {
	if n == 0 {
		return
	}
	size := dst.DType.Size()
	d, s := slice[byte](dst.Data, n*size), slice[byte](src.Data, n*size)
	if n < 2*vectorTask {
		copy(d, s)
		return
	}
	parallelCopy(d, s, n/vectorTask)
}

func parallelCopy(d, s []byte, tasks int) {
	cpu.Parallel(tasks, func(i int) {
		from, to := len(d)*i/tasks, len(d)*(i+1)/tasks
		copy(d[from:to], s[from:to])
	})
}
