package reduce

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// ArgMax sets dst, which is int64 with size 1 in dim, to the position along
// dim of the largest element: the first of equals, and NaN is larger than any
// (torch.argmax). dim must not be empty. Every dtype.
func ArgMax(dst, src cpu.Array, dim int) { positions(dst, src, dim, false) }

// ArgMin is [ArgMax] for the smallest element; NaN is smaller than any.
func ArgMin(dst, src cpu.Array, dim int) { positions(dst, src, dim, true) }

// MaxDim sets indices as [ArgMax] does and values, of src's dtype and indices'
// shape, to the elements there (torch.max with dim).
func MaxDim(values, indices, src cpu.Array, dim int) { extremes(values, indices, src, dim, false) }

// MinDim is [MaxDim] for the smallest element (torch.min with dim).
func MinDim(values, indices, src cpu.Array, dim int) { extremes(values, indices, src, dim, true) }

func positions(dst, src cpu.Array, dim int, least bool) {
	extremes(cpu.Array{}, dst, src, dim, least)
}

func extremes(values, indices, src cpu.Array, dim int, least bool) {
	switch src.DType {
	case cpu.Float32:
		extremesOf[float32](values, indices, src, dim, least)
	case cpu.Float64:
		extremesOf[float64](values, indices, src, dim, least)
	case cpu.Int64:
		extremesOf[int64](values, indices, src, dim, least)
	case cpu.Int32:
		extremesOf[int32](values, indices, src, dim, least)
	default:
		extremesOf[uint8](values, indices, src, dim, least)
	}
}

func extremesOf[T number](values, indices, src cpu.Array, dim int, least bool) {
	if src.Len() == 0 && indices.Len() > 0 {
		panic("reduce: extreme of no elements")
	}
	wanted := values.Data != nil
	if !wanted {
		values = indices // any strides will do
	}
	lines(dim, taskLen, func(n int, at, step offsets) {
		p := unsafe.Add(src.Data, at[2])
		best, where := *element[T](p, 0, step[2]), 0
		first := 1
		if src.DType == cpu.Float32 && inUse != nil && inUse.indexOf != nil && step[2] == 4 && n >= 32 {
			if where = extremeAt(n, p, least); where < n {
				best, first = *element[T](p, where, 4), n
			} else {
				where = 0 // there is a NaN
			}
		}
		for i := first; i < n && best == best; i++ {
			v := *element[T](p, i, step[2])
			better := v > best
			if least {
				better = v < best
			}
			if better || v != v {
				best, where = v, i
			}
		}
		*(*int64)(unsafe.Add(indices.Data, at[1])) = int64(where)
		if wanted {
			*(*T)(unsafe.Add(values.Data, at[0])) = best
		}
	}, values, indices, src)
}

// extremeAt is the position of the first of the largest or smallest elements,
// n or more if one is NaN.
func extremeAt(n int, p unsafe.Pointer, least bool) int {
	cpu.MarkRead(p, n*4)
	find := inUse.greatest
	if least {
		find = inUse.least
	}
	best := find(min(n, longRun), at32(p, 0))
	for from := longRun; from < n; from += longRun {
		v := find(min(longRun, n-from), at32(p, from))
		if least {
			best = min(best, v)
		} else {
			best = max(best, v)
		}
	}
	for from := 0; from < n; from += longRun {
		m := min(longRun, n-from)
		if i := inUse.indexOf(m, at32(p, from), best); i < m {
			return from + i
		}
	}
	return n
}
