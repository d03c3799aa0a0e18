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
	task
	v        uint64
	row, col dim

	buffer     *scratch
	direct     [maxOperands]bool
	constant   [maxOperands]bool // one element, repeated everywhere
	whole      bool              // whole rows go to the kernel, without a buffer
	number     int               // the operand of which the kernel takes one element a row, or 0
	rows, cols int               // of a block
}

// runStrided applies f to all elements of the operands, of which the first is
// the output. Without a kernel it copies the one input, of the same dtype. It
// runs in tasks that the shape and strides alone decide.
func runStrided(f forms, v, w uint64, operands []cpu.Array) {
	var space [8]dim
	dims := common(space[:0], operands)
	if dims == nil {
		return
	}
	bySize(dims)
	dims = merge(dims)
	total, longest := 1, 0
	for i, d := range dims {
		total *= d.n
		if d.n > dims[longest].n {
			longest = i
		}
	}
	least := f.both.least
	if !sideBySide(dims[len(dims)-1], operands) {
		least = goTask
	}
	if total < 2*least {
		newWalk(f, v, w, operands, offsets{}, dims).all(dims)
		return
	}
	if tasks := total / least; dims[0].n >= tasks {
		longest = 0
	}
	length := dims[longest].n
	tasks := min(total/least, length)
	cpu.Parallel(tasks, func(i int) {
		part := slices.Clone(dims)
		from := i * length / tasks
		part[longest].n = (i+1)*length/tasks - from
		var at offsets
		at.step(&part[longest].stride, from)
		newWalk(f, v, w, operands, at, part).all(part)
	})
}

// sideBySide reports whether each operand has the elements along d side by side or
// only one, so that none need be gathered.
func sideBySide(d dim, operands []cpu.Array) bool {
	for o, a := range operands {
		if s := d.stride[o]; s != 0 && s != a.DType.Size() {
			return false
		}
	}
	return true
}

// newWalk prepares a walk over dims that begins at an offset.
func newWalk(f forms, v, w uint64, operands []cpu.Array, at offsets, dims []dim) *walk {
	x := &walk{task: task{kernel: f.both, w: w, operands: len(operands)}, v: v, row: dim{n: 1}, col: dims[len(dims)-1]}
	if len(dims) > 1 {
		x.row = dims[len(dims)-2]
	}
	buffered, across := 0, false
	for o, a := range operands {
		x.base[o] = unsafe.Add(a.Data, at[o])
		x.size[o] = a.DType.Size()
		x.direct[o] = x.col.stride[o] == x.size[o] || x.col.n == 1
		if !x.direct[o] {
			buffered++
			across = across || x.row.n > 1 && x.col.stride[o] > x.row.stride[o] && x.row.stride[o] > 0
			x.constant[o] = o > 0 && !slices.ContainsFunc(dims, func(d dim) bool { return d.stride[o] != 0 })
		}
	}
	if buffered == 0 {
		x.whole, x.rows, x.cols = true, 1, x.col.n
		return x
	}
	if buffered == 1 { // perhaps by one element a row
		for o, k := range [...]kernel{1: f.left, 2: f.right} {
			if k.loop != nil && !x.direct[o] && x.col.stride[o] == 0 {
				x.kernel, x.number, x.whole = k, o, true
				return x
			}
		}
	}
	x.cols = min(x.col.n, blockLen)
	if f.both.loop == nil && !across {
		x.cols = x.col.n
	}
	if across {
		x.cols = min(x.cols, tileCols)
	}
	x.rows = max(1, min(x.row.n, blockLen/x.cols))
	return x
}

// all runs the walk over dims.
func (w *walk) all(dims []dim) {
	outer := dims[:max(0, len(dims)-2)]
	if w.kernel.loop != nil && !w.whole {
		w.buffer = scratches.Get().(*scratch)
		defer scratches.Put(w.buffer)
		for o := range w.operands {
			if w.constant[o] {
				move(w.size[o], view{unsafe.Pointer(&w.buffer[o]), 0, w.size[o]}, view{w.base[o], 0, 0}, 1, w.rows*w.cols)
			}
		}
	}
	positions(outer, offsets{}, w.plane)
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

// plane computes one plane, by rows or block by block.
func (w *walk) plane(at offsets) {
	if w.whole && w.kernel.loop != nil {
		w.wholeRows(at)
		return
	}
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
	if w.kernel.loop == nil {
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
		w.call(rows*cols, &p, w.v)
	} else {
		for r := range rows {
			// The offsets are formed anew so that no pointer passes the end of an operand.
			q := p
			for o := range w.operands {
				q[o] = unsafe.Add(p[o], r*step[o])
			}
			w.call(cols, &q, w.v)
		}
	}
	if !w.direct[0] {
		move(w.size[0], view{unsafe.Add(w.base[0], at[0]), w.row.stride[0], w.col.stride[0]},
			view{p[0], cols * w.size[0], w.size[0]}, rows, cols)
	}
}

// wholeRows computes the rows of a plane, perhaps with one operand that is the
// same element all along a row.
func (w *walk) wholeRows(at offsets) {
	var p [maxOperands]unsafe.Pointer
	v := w.v
	for range w.row.n {
		next := 0
		for o := range w.operands {
			q := unsafe.Add(w.base[o], at[o])
			if w.number != 0 && o == w.number {
				cpu.MarkRead(q, w.size[o])
				v = loadBits(q, w.size[o])
				continue
			}
			p[next] = q
			next++
		}
		w.call(w.col.n, &p, v)
		at.step(&w.row.stride, 1)
	}
}
