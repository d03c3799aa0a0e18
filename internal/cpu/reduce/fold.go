package reduce

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

const (
	// runLen is the most elements that go to a kernel at once.
	runLen = 512

	// tileLen is the most outputs that are computed side by side, and taskTile the
	// least that are given to a task.
	tileLen  = 1024
	taskTile = 256

	// manyRows is how many rows are added to sums of float64 before the cascade
	// takes them up: of float32, whose last places are far from those of the sum.
	manyRows = 4096

	// taskLen is how many elements a task has at least, and longTask those of
	// kernels that take many at once: some ten microseconds.
	taskLen  = 1 << 15
	longTask = 1 << 17

	// leastTile is the least number of outputs for which it pays to go through
	// memory in order, a few elements of each output at a time.
	leastTile = 8
)

// kernel reduces elements of type T in accumulators of type A.
type kernel[T, A any] struct {
	identity A
	run      func(x []T) A        // the reduction of x, at most runLen elements
	rows     func(acc []A, x []T) // acc[i] = merge(acc[i], x[i])
	merge    func(a, b A) A
	store    func(p unsafe.Pointer, v A) // writes the result

	// lines, if there is one, is run for rows of n elements, stride bytes apart.
	lines func(sums []A, x *T, n, stride int)

	// long is how many elements run takes where they lie side by side, if not
	// runLen. many, if there is one, is rows for many rows, stride bytes apart.
	long int
	many func(acc []A, x *T, rows, stride int)
}

// scratch holds what a fold needs while it runs: gathered elements, a tile's
// cascade.
type scratch struct {
	gathered [max(runLen, tileLen)]uint64
	levels   [cascadeLevels][tileLen]uint64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// spaces hold the axes of folds under way, which tasks share and which therefore
// cannot be on the stack.
var spaces = sync.Pool{New: func() any { return new([2][8]axis) }}

// fold reduces src over dims. Operand 0 of its axes is dst, operand 1 is src.
func fold[T, A any](k kernel[T, A], dst, src cpu.Array, dims []int) {
	if n := src.Len(); len(dims) == len(src.Shape) && n > 0 && n <= max(k.long, runLen) && src.Contiguous() {
		k.store(dst.Data, k.run(unsafe.Slice((*T)(src.Data), n)))
		return
	}
	space := spaces.Get().(*[2][8]axis)
	defer spaces.Put(space)
	reduced, kept := split(space[0][:0], space[1][:0], dims, dst, src)
	for i := range reduced {
		reduced[i].stride[0] = 0
	}
	if count(kept) == 0 {
		return
	}
	if count(reduced) == 0 {
		visit(kept, offsets{}, func(at offsets) { k.store(unsafe.Add(dst.Data, at[0]), k.identity) })
		return
	}
	reduced, kept = joined(reduced, 1), joined(kept, 1)
	f := folding[T, A]{kernel: k, dst: dst.Data, src: src.Data}
	_, inner := cut(reduced)
	_, tile := cut(kept)
	f.tiled = tile.n >= leastTile && tile.stride[1] > 0 && tile.stride[1] < inner.stride[1]
	f.all(reduced, kept)
}

// folding is a fold under way.
type folding[T, A any] struct {
	kernel   kernel[T, A]
	dst, src unsafe.Pointer
	tiled    bool // outputs side by side
	outer    []axis
	inner    axis // of the reduced axes, outer being the others
	scratch  *scratch
}

// all computes all outputs, in tasks that depend on the axes alone: along the
// longest axis of the outputs, or, where those are few, along the longest of
// what they are reduced from.
func (f folding[T, A]) all(reduced, kept []axis) {
	least := taskLen
	if f.kernel.long > 0 {
		least = longTask
	}
	tasks := count(reduced) * count(kept) / least
	long := longest(kept)
	switch {
	case tasks < 2:
		f.part(reduced, kept)
	case f.tiled:
		tile := len(kept) - 1
		f.divided(min(tasks, (kept[tile].n+taskTile-1)/taskTile), tile, reduced, kept)
	case len(kept) > 0 && kept[long].n >= leastTile:
		f.divided(min(tasks, kept[long].n), long, reduced, kept)
	default:
		f.combined(min(tasks, reduced[longest(reduced)].n), reduced, kept)
	}
}

// divided gives each task a part of one axis of the outputs.
func (f folding[T, A]) divided(tasks, axis int, reduced, kept []axis) {
	n := kept[axis].n
	unit := 1 // what is not divided
	if f.tiled {
		unit = taskTile
	}
	units := (n + unit - 1) / unit
	cpu.Parallel(tasks, func(i int) {
		from, to := units*i/tasks*unit, min(n, units*(i+1)/tasks*unit)
		part, g := slices.Clone(kept), f
		part[axis].n = to - from
		g.dst = unsafe.Add(f.dst, from*kept[axis].stride[0])
		g.src = unsafe.Add(f.src, from*kept[axis].stride[1])
		g.part(reduced, part)
	})
}

// combined gives each task a part of one axis of what each output comes from.
func (f folding[T, A]) combined(tasks int, reduced, kept []axis) {
	along := longest(reduced)
	n, step := reduced[along].n, reduced[along].stride[1]
	visit(kept, offsets{}, func(at offsets) {
		parts := make([]A, tasks)
		cpu.Parallel(tasks, func(i int) {
			from, to := n*i/tasks, n*(i+1)/tasks
			part, g := slices.Clone(reduced), f
			part[along].n = to - from
			g.outer, g.inner = cut(part)
			g.scratch = scratches.Get().(*scratch)
			defer scratches.Put(g.scratch)
			parts[i] = g.total(offsets{0, at[1] + from*step})
		})
		c := newCascade(f.kernel.merge, f.kernel.identity)
		for _, p := range parts {
			c.add(p)
		}
		f.kernel.store(unsafe.Add(f.dst, at[0]), c.total())
	})
}

// part computes the outputs along kept.
func (f folding[T, A]) part(reduced, kept []axis) {
	f.scratch = scratches.Get().(*scratch)
	defer scratches.Put(f.scratch)
	f.outer, f.inner = cut(reduced)
	if f.tiled {
		outer, tile := cut(kept)
		visit(outer, offsets{}, func(at offsets) { f.columns(at, tile) })
		return
	}
	outer, last := cut(kept)
	visit(outer, offsets{}, func(at offsets) { f.lines(at, last) })
}

// lines computes the outputs along last.
func (f *folding[T, A]) lines(at offsets, last axis) {
	size := int(unsafe.Sizeof(*new(T)))
	if len(f.outer) > 0 || f.inner.n > max(f.kernel.long, runLen) || f.inner.stride[1] != size && f.inner.n > 1 {
		for range last.n {
			f.kernel.store(unsafe.Add(f.dst, at[0]), f.total(at))
			at[0] += last.stride[0]
			at[1] += last.stride[1]
		}
		return
	}
	if f.kernel.lines != nil && last.n > 1 {
		rows := min(tileLen, max(1, longRun/f.inner.n)) // in one call
		sums := unsafe.Slice((*A)(unsafe.Pointer(&f.scratch.levels[0])), rows)
		for i := 0; i < last.n; i += rows {
			m := min(rows, last.n-i)
			f.kernel.lines(sums[:m], (*T)(unsafe.Add(f.src, at[1]+i*last.stride[1])), f.inner.n, last.stride[1])
			for j, v := range sums[:m] {
				f.kernel.store(unsafe.Add(f.dst, at[0]+(i+j)*last.stride[0]), v)
			}
		}
		return
	}
	for i := range last.n { // short runs as they lie in memory
		run := unsafe.Slice((*T)(unsafe.Add(f.src, at[1]+i*last.stride[1])), f.inner.n)
		f.kernel.store(unsafe.Add(f.dst, at[0]+i*last.stride[0]), f.kernel.run(run))
	}
}

// total is the output whose elements begin at an offset.
func (f *folding[T, A]) total(at offsets) A {
	step, long := f.inner.stride[1], runLen
	if f.kernel.long > 0 && step == int(unsafe.Sizeof(*new(T))) {
		long = f.kernel.long
	}
	if len(f.outer) == 0 && f.inner.n <= long { // nothing to merge
		return f.kernel.run(f.elements(at[1], f.inner.n, step))
	}
	c := newCascade(f.kernel.merge, f.kernel.identity)
	visit(f.outer, at, func(at offsets) {
		for i := 0; i < f.inner.n; i += long {
			n := min(long, f.inner.n-i)
			c.add(f.kernel.run(f.elements(at[1]+i*step, n, step)))
		}
	})
	return c.total()
}

// columns computes the outputs along tile, tileLen at a time.
func (f *folding[T, A]) columns(at offsets, tile axis) {
	many, batch := f.kernel.many, cascadeLen
	if tile.stride[1] != int(unsafe.Sizeof(*new(T))) {
		many = nil
	}
	if many != nil {
		batch = manyRows
	}
	levels, terms := 1, batch // of the cascade, as many as are needed
	for rows := count(f.outer) * f.inner.n; rows > terms && levels < cascadeLevels; levels++ {
		terms *= cascadeLen
	}
	for i := 0; i < tile.n; i += tileLen {
		n := min(tileLen, tile.n-i)
		c := columnCascade[T, A]{folding: f, batch: batch}
		for l := range levels {
			c.level = append(c.level, unsafe.Slice((*A)(unsafe.Pointer(&f.scratch.levels[l])), n))
			f.reset(c.level[l])
		}
		visit(f.outer, offsets{0, at[1] + i*tile.stride[1]}, func(at offsets) {
			if many == nil {
				for r := range f.inner.n {
					f.kernel.rows(c.level[0], f.elements(at[1]+r*f.inner.stride[1], n, tile.stride[1]))
					c.added(1)
				}
				return
			}
			rows := max(8, longRun/n&^7) // in one call
			for r := 0; r < f.inner.n; r += rows {
				m := min(rows, f.inner.n-r)
				many(c.level[0], (*T)(unsafe.Add(f.src, at[1]+r*f.inner.stride[1])), m, f.inner.stride[1])
				c.added(m)
			}
		})
		for l := levels - 1; l > 0; l-- {
			f.mergeAll(c.level[l-1], c.level[l])
		}
		for j, v := range c.level[0] {
			f.kernel.store(unsafe.Add(f.dst, at[0]+(i+j)*tile.stride[0]), v)
		}
	}
}

// columnCascade is a cascade of many outputs side by side.
type columnCascade[T, A any] struct {
	*folding[T, A]
	batch  int // rows that the lowest level takes
	level  [][]A
	filled [cascadeLevels]int
}

// added notes n rows in the lowest level and moves up what is full.
func (c *columnCascade[T, A]) added(n int) {
	c.filled[0] += n
	most := c.batch
	for l := 0; l < len(c.level)-1 && c.filled[l] >= most; l++ {
		c.mergeAll(c.level[l+1], c.level[l])
		c.reset(c.level[l])
		c.filled[l] = 0
		c.filled[l+1]++
		most = cascadeLen
	}
}

func (f *folding[T, A]) reset(a []A) {
	for i := range a {
		a[i] = f.kernel.identity
	}
}

func (f *folding[T, A]) mergeAll(a, b []A) {
	for i := range a {
		a[i] = f.kernel.merge(a[i], b[i])
	}
}

// elements are n elements of src from an offset on, gathered unless they lie
// side by side.
func (f *folding[T, A]) elements(at, n, step int) []T {
	p := unsafe.Add(f.src, at)
	var t T
	if step == int(unsafe.Sizeof(t)) || n == 1 {
		return unsafe.Slice((*T)(p), n)
	}
	x := unsafe.Slice((*T)(unsafe.Pointer(&f.scratch.gathered)), n)
	for i := range x {
		x[i] = *element[T](p, i, step)
	}
	return x
}
