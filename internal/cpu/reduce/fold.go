package reduce

import (
	"sync"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

const (
	// runLen is the most elements that go to a kernel at once.
	runLen = 512

	// tileLen is the most outputs that are computed side by side.
	tileLen = 64

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
}

// scratch holds what a fold needs while it runs: its axes, gathered elements,
// a tile's cascade.
type scratch struct {
	axes     [2][8]axis
	gathered [runLen]uint64
	levels   [cascadeLevels][tileLen]uint64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// fold reduces src over dims. Operand 0 of its axes is dst, operand 1 is src.
func fold[T, A any](k kernel[T, A], dst, src cpu.Array, dims []int) {
	room := scratches.Get().(*scratch)
	defer scratches.Put(room)
	reduced, kept := split(room.axes[0][:0], room.axes[1][:0], dims, dst, src)
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
	f := folding[T, A]{kernel: k, dst: dst.Data, src: src.Data, scratch: room}
	f.outer, f.inner = cut(reduced)
	outer, tile := cut(kept)
	if tile.n >= leastTile && tile.stride[1] > 0 && tile.stride[1] < f.inner.stride[1] {
		f.reduced = reduced
		visit(outer, offsets{}, func(at offsets) { f.columns(at, tile) })
	} else {
		visit(kept, offsets{}, f.line)
	}
}

type folding[T, A any] struct {
	kernel   kernel[T, A]
	dst, src unsafe.Pointer
	reduced  []axis // all of outer and inner
	outer    []axis
	inner    axis
	scratch  *scratch
}

// line computes the one output at an offset.
func (f *folding[T, A]) line(at offsets) {
	if len(f.outer) == 0 && f.inner.n <= runLen { // nothing to merge
		f.kernel.store(unsafe.Add(f.dst, at[0]), f.kernel.run(f.elements(at[1], f.inner.n, f.inner.stride[1])))
		return
	}
	c := newCascade(f.kernel.merge, f.kernel.identity)
	visit(f.outer, at, func(at offsets) {
		for i := 0; i < f.inner.n; i += runLen {
			n := min(runLen, f.inner.n-i)
			c.add(f.kernel.run(f.elements(at[1]+i*f.inner.stride[1], n, f.inner.stride[1])))
		}
	})
	f.kernel.store(unsafe.Add(f.dst, at[0]), c.total())
}

// columns computes the outputs along tile, tileLen at a time.
func (f *folding[T, A]) columns(at offsets, tile axis) {
	for i := 0; i < tile.n; i += tileLen {
		n := min(tileLen, tile.n-i)
		var level [cascadeLevels][]A
		var filled [cascadeLevels]int
		for l := range level {
			level[l] = unsafe.Slice((*A)(unsafe.Pointer(&f.scratch.levels[l])), n)
			f.reset(level[l])
		}
		visit(f.reduced, offsets{0, at[1] + i*tile.stride[1]}, func(at offsets) {
			f.kernel.rows(level[0], f.elements(at[1], n, tile.stride[1]))
			for l := 0; l < cascadeLevels-1; l++ {
				if filled[l]++; filled[l] < cascadeLen {
					return
				}
				f.mergeAll(level[l+1], level[l])
				f.reset(level[l])
				filled[l] = 0
			}
		})
		for l := cascadeLevels - 1; l > 0; l-- {
			f.mergeAll(level[l-1], level[l])
		}
		for j, v := range level[0] {
			f.kernel.store(unsafe.Add(f.dst, at[0]+(i+j)*tile.stride[0]), v)
		}
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
