// Package index has the processor's kernels for operations that address
// elements by index tensors or by position: IndexSelect, IndexAdd, Gather,
// ScatterAdd, OneHot, Tril, Triu and Arange, as the PyTorch functions of the
// same names define them.
//
// Arrays may have any strides; what is written must not overlap itself or
// what is read. Index arrays are Int64 or Int32. Every index is checked
// before anything is written, so an *Error leaves dst as it was. Shapes and
// dtypes are the caller's to check: each function says what must hold.
//
// Where several source elements are added to one destination element, they
// are added in row-major order of the index array, whatever the number of
// threads.
package index

import (
	"fmt"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Error says that an index lies outside its dimension. Negative indices are
// errors in every function of this package, as in PyTorch.
type Error struct {
	Index int64 // the offending index
	Size  int   // indices from 0 up to this are valid, it excluded
	Pos   int   // where it is in the index array, counted in row-major order
}

func (e *Error) Error() string {
	return fmt.Sprintf("index %d at position %d is out of bounds for a dimension of size %d", e.Index, e.Pos, e.Size)
}

// taskElements is how many elements a task covers at least, which run at about 1 ns
// an element, and rowElements where rows of elements side by side are copied or
// added, at a tenth of it.
const (
	taskElements = 1 << 15
	rowElements  = 1 << 17
	shortRow     = 16 // elements, of which fewer cost as much as others
)

// integer is the type of an index.
type integer interface{ int32 | int64 }

// word is what is copied: one element of a dtype's size.
type word interface{ uint8 | uint32 | uint64 }

// number is what is added.
type number interface {
	float32 | float64 | int64 | int32 | uint8
}

func at[T any](p unsafe.Pointer, offset int) *T {
	var t T
	return (*T)(unsafe.Add(p, offset*int(unsafe.Sizeof(t))))
}

// check returns an *Error for the first index outside [0, size).
func check(idx cpu.Array, size int) error {
	if idx.DType == cpu.Int32 {
		return checkAs[int32](idx, size)
	}
	return checkAs[int64](idx, size)
}

func checkAs[I integer](idx cpu.Array, size int) error {
	pos := 0
	var err error
	rows(idx.Shape, [][]int{idx.Strides}, func(n int, at0, step []int) bool {
		for i := range n {
			v := int64(*at[I](idx.Data, at0[0]+i*step[0]))
			if v < 0 || v >= int64(size) {
				err = &Error{Index: v, Size: size, Pos: pos + i}
				return false
			}
		}
		pos += n
		return true
	})
	return err
}

// rows calls f for each row along the last dimension of shape, in row-major
// order, until f returns false: n is the row's length, start the offset of its
// first element under each of the stride lists and step the distance between
// elements. Neighbouring dimensions are first merged where all strides allow.
func rows(shape []int, strides [][]int, f func(n int, start, step []int) bool) {
	shape, strides = merge(shape, strides)
	start, step := make([]int, len(strides)), make([]int, len(strides))
	last := len(shape) - 1
	total := 1
	for _, d := range shape[:last] {
		total *= d
	}
	if shape[last] == 0 {
		return
	}
	for k := range strides {
		step[k] = strides[k][last]
	}
	counter := make([]int, last)
	for range total {
		if !f(shape[last], start, step) {
			return
		}
		for d := last - 1; d >= 0; d-- {
			counter[d]++
			for k := range start {
				start[k] += strides[k][d]
			}
			if counter[d] < shape[d] {
				break
			}
			for k := range start {
				start[k] -= counter[d] * strides[k][d]
			}
			counter[d] = 0
		}
	}
}

// merge drops dimensions of size 1 and joins neighbours that lie behind each
// other under all stride lists. At least one dimension remains.
func merge(shape []int, strides [][]int) ([]int, [][]int) {
	s := make([]int, 0, len(shape)+1)
	st := make([][]int, len(strides))
	for d, size := range shape {
		if size == 1 {
			continue
		}
		top := len(s) - 1
		joins := top >= 0
		for k := range strides {
			joins = joins && st[k][top] == size*strides[k][d]
		}
		if joins {
			s[top] *= size
			for k := range strides {
				st[k][top] = strides[k][d]
			}
			continue
		}
		s = append(s, size)
		for k := range strides {
			st[k] = append(st[k], strides[k][d])
		}
	}
	if len(s) == 0 {
		s = append(s, 1)
		for k := range strides {
			st[k] = append(st[k], 0)
		}
	}
	return s, st
}

// split runs f on pieces of the arrays, which have equal sizes except in
// dimension dim. It cuts along the largest other dimension, so that no two
// pieces write the same element and each has the order of the whole. A piece has at
// least so many elements.
func split(sizes []int, dim, least int, f func(axis, from, to int)) {
	total, axis := 1, -1
	for d, size := range sizes {
		total *= size
		if d != dim && (axis < 0 || size > sizes[axis]) {
			axis = d
		}
	}
	if axis < 0 || total < 2*least {
		f(0, 0, -1)
		return
	}
	tasks := min(total/least, sizes[axis])
	cpu.Parallel(tasks, func(i int) {
		f(axis, i*sizes[axis]/tasks, (i+1)*sizes[axis]/tasks)
	})
}

// narrow is a limited to [from, to) of a dimension, or a itself if to < 0.
func narrow(a cpu.Array, axis, from, to int) cpu.Array {
	if to < 0 {
		return a
	}
	a.Data = unsafe.Add(a.Data, from*a.Strides[axis]*a.DType.Size())
	a.Shape = append([]int(nil), a.Shape...)
	a.Shape[axis] = to - from
	return a
}
