package index

import "github.com/ebb-ml/ebb/internal/cpu"

// Gather sets each element of dst to the element of src that idx names along
// dim, as torch.gather does: dst[i, j, k] = src[i, idx[i, j, k], k] for dim 1.
// dst has the shape of idx, which may be smaller than src in dimensions other
// than dim; any dtype, the same for dst and src.
func Gather(dst, src cpu.Array, dim int, idx cpu.Array) error {
	if err := check(idx, sizeOf(src, dim)); err != nil {
		return err
	}
	switch src.DType.Size() {
	case 1:
		gatherWords[uint8](dst, src, dim, idx)
	case 4:
		gatherWords[uint32](dst, src, dim, idx)
	default:
		gatherWords[uint64](dst, src, dim, idx)
	}
	return nil
}

func gatherWords[W word](dst, src cpu.Array, dim int, idx cpu.Array) {
	if idx.DType == cpu.Int32 {
		gather[W, int32](dst, src, dim, idx)
	} else {
		gather[W, int64](dst, src, dim, idx)
	}
}

func gather[W word, I integer](dst, src cpu.Array, dim int, idx cpu.Array) {
	along := strideOf(src, dim)
	split(idx.Shape, dim, taskElements, func(axis, from, to int) {
		dst, src, idx := narrow(dst, axis, from, to), narrow(src, axis, from, to), narrow(idx, axis, from, to)
		rows(idx.Shape, [][]int{dst.Strides, idx.Strides, across(src, dim)}, func(n int, start, step []int) bool {
			d, x, s := start[0], start[1], start[2]
			for range n {
				*at[W](dst.Data, d) = *at[W](src.Data, s+int(*at[I](idx.Data, x))*along)
				d, x, s = d+step[0], x+step[1], s+step[2]
			}
			return true
		})
	})
}

// ScatterAdd adds each element of src to the element of dst that idx names
// along dim, as torch.Tensor.scatter_add_ does: dst[i, idx[i, j, k], k] +=
// src[i, j, k] for dim 1. idx may be smaller than src in any dimension and
// than dst in those other than dim; any dtype, the same for dst and src (bool
// adds as or, integers wrap).
func ScatterAdd(dst cpu.Array, dim int, idx, src cpu.Array) error {
	if err := check(idx, sizeOf(dst, dim)); err != nil {
		return err
	}
	switch src.DType {
	case cpu.Float32:
		scatterNumbers(dst, dim, idx, src, add[float32])
	case cpu.Float64:
		scatterNumbers(dst, dim, idx, src, add[float64])
	case cpu.Int64:
		scatterNumbers(dst, dim, idx, src, add[int64])
	case cpu.Int32:
		scatterNumbers(dst, dim, idx, src, add[int32])
	case cpu.Uint8:
		scatterNumbers(dst, dim, idx, src, add[uint8])
	case cpu.Bool:
		scatterNumbers(dst, dim, idx, src, func(d *uint8, s uint8) { *d |= s })
	}
	return nil
}

func add[T number](d *T, s T) { *d += s }

func scatterNumbers[T number](dst cpu.Array, dim int, idx, src cpu.Array, add func(*T, T)) {
	if idx.DType == cpu.Int32 {
		scatter[T, int32](dst, dim, idx, src, add)
	} else {
		scatter[T, int64](dst, dim, idx, src, add)
	}
}

func scatter[T number, I integer](dst cpu.Array, dim int, idx, src cpu.Array, add func(*T, T)) {
	along := strideOf(dst, dim)
	split(idx.Shape, dim, taskElements, func(axis, from, to int) {
		dst, src, idx := narrow(dst, axis, from, to), narrow(src, axis, from, to), narrow(idx, axis, from, to)
		rows(idx.Shape, [][]int{across(dst, dim), idx.Strides, src.Strides}, func(n int, start, step []int) bool {
			d, x, s := start[0], start[1], start[2]
			for range n {
				add(at[T](dst.Data, d+int(*at[I](idx.Data, x))*along), *at[T](src.Data, s))
				d, x, s = d+step[0], x+step[1], s+step[2]
			}
			return true
		})
	})
}

// across is a's strides with the one along dim, which the index replaces, 0.
func across(a cpu.Array, dim int) []int {
	strides := append([]int(nil), a.Strides...)
	if len(strides) > 0 {
		strides[dim] = 0
	}
	return strides
}

// sizeOf and strideOf take an array without dimensions as one of one element.
func sizeOf(a cpu.Array, dim int) int {
	if len(a.Shape) == 0 {
		return 1
	}
	return a.Shape[dim]
}

func strideOf(a cpu.Array, dim int) int {
	if len(a.Shape) == 0 {
		return 0
	}
	return a.Strides[dim]
}
