package elementwise

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// maxOperands is the most arrays of one operation: an output and three inputs.
const maxOperands = 4

// blockLen is how many elements of an operand that is not contiguous are
// gathered before the kernel runs on them: the buffers of all operands
// together stay in the first-level cache.
const blockLen = 512

// tileCols is the width of a block when some operand's rows run across
// memory (a transpose): 32 cache lines are read, up to 16 elements of each.
const tileCols = 32

// A kernel computes n elements that lie one after the other in every operand.
// d is the output; a, b and c are inputs, nil where the operation has fewer.
// It must read an element's inputs before it writes the element, since d may
// equal an input.
type kernel func(n int, d, a, b, c unsafe.Pointer)

// offsets are distances in bytes, one per operand.
type offsets [maxOperands]int

// dim is one dimension of a walk.
type dim struct {
	n      int
	stride offsets
}

// common appends to dims the dimensions of the operands, row-major, without
// those of size 1. There is always one; none means that there are no elements.
func common(dims []dim, operands []cpu.Array) []dim {
	for i, n := range operands[0].Shape {
		if n == 0 {
			return nil
		}
		if n == 1 {
			continue
		}
		d := dim{n: n}
		for o, a := range operands {
			d.stride[o] = a.Strides[i] * a.DType.Size()
		}
		dims = append(dims, d)
	}
	if len(dims) == 0 {
		dims = append(dims, dim{n: 1})
	}
	return dims
}

// bySize sorts dims so that the output's smallest stride is last.
func bySize(dims []dim) {
	slices.SortStableFunc(dims, func(x, y dim) int {
		for o, s := range x.stride {
			if s != y.stride[o] {
				return y.stride[o] - s
			}
		}
		return 0
	})
}

// merge makes one of neighbouring dimensions wherever every operand allows it.
func merge(dims []dim) []dim {
	last := 0
	for i := 1; i < len(dims); i++ {
		in, out := dims[i], &dims[last]
		if joins(out.stride, in) {
			*out = dim{n: out.n * in.n, stride: in.stride}
			continue
		}
		last++
		dims[last] = in
	}
	return dims[:min(last+1, len(dims))]
}

// joins reports whether one step of outer is all of inner for every operand.
func joins(outer offsets, inner dim) bool {
	for o, s := range outer {
		if s != inner.n*inner.stride[o] {
			return false
		}
	}
	return true
}

// scratch holds a gathered block of every operand.
type scratch [maxOperands][blockLen]uint64

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// walk is one operation over strided operands. The last two dimensions form a
// plane; blocks of it go to the kernel, straight from memory for an operand
// whose elements lie side by side, through a scratch buffer for any other.
type walk struct {
	kernel   kernel
	base     [maxOperands]unsafe.Pointer
	size     offsets
	operands int
	row, col dim

	buffer     *scratch
	direct     [maxOperands]bool
	constant   [maxOperands]bool // one element, repeated everywhere
	rows, cols int               // of a block
}

// run applies k to all elements of the operands, of which the first is the
// output. A nil kernel copies the one input, of the same dtype.
func run(k kernel, operands ...cpu.Array) {
	var space [8]dim
	dims := common(space[:0], operands)
	if dims == nil {
		return
	}
	bySize(dims)
	dims = merge(dims)
	w := walk{kernel: k, operands: len(operands), row: dim{n: 1}, col: dims[len(dims)-1]}
	outer := dims[:len(dims)-1]
	if len(outer) > 0 {
		w.row = outer[len(outer)-1]
		outer = outer[:len(outer)-1]
	}
	buffered, across := false, false
	for o, a := range operands {
		w.base[o] = a.Data
		w.size[o] = a.DType.Size()
		w.direct[o] = w.col.stride[o] == w.size[o] || w.col.n == 1
		if !w.direct[o] {
			buffered = true
			across = across || w.row.n > 1 && w.col.stride[o] > w.row.stride[o] && w.row.stride[o] > 0
			w.constant[o] = o > 0 && !slices.ContainsFunc(dims, func(d dim) bool { return d.stride[o] != 0 })
		}
	}
	if !buffered {
		w.rows, w.cols = 1, w.col.n
		positions(outer, offsets{}, w.plane)
		return
	}
	w.cols = min(w.col.n, blockLen)
	if k == nil && !across {
		w.cols = w.col.n
	}
	if across {
		w.cols = min(w.cols, tileCols)
	}
	w.rows = max(1, min(w.row.n, blockLen/w.cols))
	if k == nil {
		positions(outer, offsets{}, w.plane)
		return
	}
	w.buffer = scratches.Get().(*scratch)
	for o := range operands {
		if w.constant[o] {
			move(w.size[o], view{unsafe.Pointer(&w.buffer[o]), 0, w.size[o]}, view{w.base[o], 0, 0}, 1, w.rows*w.cols)
		}
	}
	positions(outer, offsets{}, w.plane)
	scratches.Put(w.buffer)
}

// positions calls f at every position of dims, row-major.
func positions(dims []dim, at offsets, f func(at offsets)) {
	if len(dims) == 0 {
		f(at)
		return
	}
	for range dims[0].n {
		positions(dims[1:], at, f)
		at.step(&dims[0].stride, 1)
	}
}

func (at *offsets) step(stride *offsets, n int) {
	for o := range at {
		at[o] += n * stride[o]
	}
}

// plane computes one plane, block by block.
func (w *walk) plane(at offsets) {
	for r := 0; r < w.row.n; r += w.rows {
		rows := min(w.rows, w.row.n-r)
		block := at
		for c := 0; c < w.col.n; c += w.cols {
			cols := min(w.cols, w.col.n-c)
			w.block(&block, rows, cols)
			block.step(&w.col.stride, cols)
		}
		at.step(&w.row.stride, rows)
	}
}

// block computes rows times cols elements.
func (w *walk) block(at *offsets, rows, cols int) {
	if w.kernel == nil {
		move(w.size[0], view{unsafe.Add(w.base[0], at[0]), w.row.stride[0], w.col.stride[0]},
			view{unsafe.Add(w.base[1], at[1]), w.row.stride[1], w.col.stride[1]}, rows, cols)
		return
	}
	var p [maxOperands]unsafe.Pointer
	var step offsets // from one row of the block to the next
	packed := true
	for o := range w.operands {
		row := cols * w.size[o]
		step[o] = row
		if w.direct[o] {
			p[o] = unsafe.Add(w.base[o], at[o])
			step[o] = w.row.stride[o]
			packed = packed && step[o] == row
			continue
		}
		p[o] = unsafe.Pointer(&w.buffer[o])
		if o > 0 && !w.constant[o] {
			move(w.size[o], view{p[o], row, w.size[o]},
				view{unsafe.Add(w.base[o], at[o]), w.row.stride[o], w.col.stride[o]}, rows, cols)
		}
	}
	if packed {
		w.kernel(rows*cols, p[0], p[1], p[2], p[3])
	} else {
		for r := range rows {
			// The offsets are formed anew so that no pointer passes the end of an operand.
			w.kernel(cols, unsafe.Add(p[0], r*step[0]), unsafe.Add(p[1], r*step[1]),
				unsafe.Add(p[2], r*step[2]), unsafe.Add(p[3], r*step[3]))
		}
	}
	if !w.direct[0] {
		move(w.size[0], view{unsafe.Add(w.base[0], at[0]), w.row.stride[0], w.col.stride[0]},
			view{p[0], cols * w.size[0], w.size[0]}, rows, cols)
	}
}
