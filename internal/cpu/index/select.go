package index

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// IndexSelect sets dst to the slices of src along dim that idx names, as
// torch.index_select does: dst[.., j, ..] = src[.., idx[j], ..]. idx has one
// dimension, dst the shape of src with idx's length in dim; any dtype, the
// same for both. A row look-up (an embedding) is dim 0 of a matrix.
func IndexSelect(dst, src cpu.Array, dim int, idx cpu.Array) error {
	if err := check(idx, src.Shape[dim]); err != nil {
		return err
	}
	switch src.DType.Size() {
	case 1:
		selectWords[uint8](dst, src, dim, idx)
	case 4:
		selectWords[uint32](dst, src, dim, idx)
	default:
		selectWords[uint64](dst, src, dim, idx)
	}
	return nil
}

func selectWords[W word](dst, src cpu.Array, dim int, idx cpu.Array) {
	if idx.DType == cpu.Int32 {
		selectSlices[W, int32](dst, src, dim, idx)
	} else {
		selectSlices[W, int64](dst, src, dim, idx)
	}
}

// selectSlices goes through dst in row-major order: for each position in the
// dimensions before dim, for each index, the dimensions after dim.
func selectSlices[W word, I integer](dst, src cpu.Array, dim int, idx cpu.Array) {
	n := idx.Len()
	outer, outerStrides := merge(dst.Shape[:dim], [][]int{dst.Strides[:dim], src.Strides[:dim]})
	inner, innerStrides := merge(dst.Shape[dim+1:], [][]int{dst.Strides[dim+1:], src.Strides[dim+1:]})
	outerLen, innerLen := product(outer), product(inner)
	if n*outerLen*innerLen == 0 {
		return
	}
	indexAt := indices[I](idx)
	slices := outerLen * n
	least := taskElements
	last := len(inner) - 1
	unit := innerStrides[0][last] == 1 && innerStrides[1][last] == 1
	if unit && inner[last] >= shortRow {
		least = rowElements
	}
	size := int(unsafe.Sizeof(*new(W)))
	inVectors := unit && last == 0 && idx.DType == cpu.Int64 && (n == 1 || idx.Strides[0] == 1)
	tasks := max(min(slices*innerLen/least, slices), 1)
	cpu.Parallel(tasks, func(task int) {
		for s, end := task*slices/tasks, (task+1)*slices/tasks; s < end; {
			d, from := offset(s/n, outer, outerStrides[0]), offset(s/n, outer, outerStrides[1])
			if j := s % n; inVectors {
				dj, rows := d+j*dst.Strides[dim], min(n-j, end-s)
				if selectInVectors(unsafe.Pointer(at[W](dst.Data, dj)), dst.Strides[dim]*size, unsafe.Pointer(at[W](src.Data, from)),
					src.Strides[dim]*size, at[int64](idx.Data, j), rows, innerLen*size) {
					s += rows
					continue
				}
			}
			for j := s % n; j < n && s < end; j, s = j+1, s+1 {
				dj, fj := d+j*dst.Strides[dim], from+int(indexAt(j))*src.Strides[dim]
				if innerLen == 1 {
					*at[W](dst.Data, dj) = *at[W](src.Data, fj)
					continue
				}
				copySlice[W](unsafe.Pointer(at[W](dst.Data, dj)), unsafe.Pointer(at[W](src.Data, fj)), inner, innerStrides)
			}
		}
	})
}

func copySlice[W word](dst, src unsafe.Pointer, shape []int, strides [][]int) {
	if len(shape) == 1 && strides[0][0] == 1 && strides[1][0] == 1 {
		copy(unsafe.Slice((*W)(dst), shape[0]), unsafe.Slice((*W)(src), shape[0]))
		return
	}
	rows(shape, strides, func(n int, start, step []int) bool {
		for i := range n {
			*at[W](dst, start[0]+i*step[0]) = *at[W](src, start[1]+i*step[1])
		}
		return true
	})
}

// IndexAdd adds the slices of src along dim to those of dst that idx names,
// as torch.Tensor.index_add_ does: dst[.., idx[j], ..] += src[.., j, ..]. idx
// has one dimension, src the shape of dst with idx's length in dim; any
// dtype, the same for both (bool adds as or, integers wrap).
func IndexAdd(dst cpu.Array, dim int, idx, src cpu.Array) error {
	if err := check(idx, dst.Shape[dim]); err != nil {
		return err
	}
	switch src.DType {
	case cpu.Float32:
		eachSlice(dst, dim, idx, src, addFloat32)
	case cpu.Float64:
		eachSlice(dst, dim, idx, src, addFloat64)
	case cpu.Int64:
		eachSlice(dst, dim, idx, src, addRow[int64])
	case cpu.Int32:
		eachSlice(dst, dim, idx, src, addRow[int32])
	case cpu.Uint8:
		eachSlice(dst, dim, idx, src, addRow[uint8])
	case cpu.Bool:
		eachSlice(dst, dim, idx, src, orRow)
	}
	return nil
}

// addRow is dst[i] += src[i] for n elements.
func addRow[T number](dst, src unsafe.Pointer, n, dstStep, srcStep int) {
	if dstStep == 1 && srcStep == 1 {
		d, s := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n)
		for i := range d {
			d[i] += s[i]
		}
		return
	}
	for i := range n {
		*at[T](dst, i*dstStep) += *at[T](src, i*srcStep)
	}
}

func orRow(dst, src unsafe.Pointer, n, dstStep, srcStep int) {
	for i := range n {
		*at[uint8](dst, i*dstStep) |= *at[uint8](src, i*srcStep)
	}
}

// eachSlice calls add for the rows of each pair of slices, in the order of idx.
func eachSlice(dst cpu.Array, dim int, idx, src cpu.Array, add func(dst, src unsafe.Pointer, n, dstStep, srcStep int)) {
	if src.Len() == 0 {
		return
	}
	size := src.DType.Size()
	least := taskElements
	if last := len(src.Shape) - 1; dim < last && src.Shape[last] >= shortRow && src.Strides[last] == 1 && dst.Strides[last] == 1 {
		least = rowElements
	}
	split(src.Shape, dim, least, func(axis, from, to int) {
		dst, src := narrow(dst, axis, from, to), narrow(src, axis, from, to)
		indexAt := indices[int64](idx)
		if idx.DType == cpu.Int32 {
			indexAt = indices[int32](idx)
		}
		before, after := src.Shape[:dim], src.Shape[dim+1:]
		inner, innerStrides := merge(after, [][]int{dst.Strides[dim+1:], src.Strides[dim+1:]})
		for o := range product(before) {
			d, s := offset(o, before, dst.Strides), offset(o, before, src.Strides)
			for j := range src.Shape[dim] {
				dp := unsafe.Add(dst.Data, (d+int(indexAt(j))*dst.Strides[dim])*size)
				sp := unsafe.Add(src.Data, (s+j*src.Strides[dim])*size)
				if len(inner) == 1 {
					add(dp, sp, inner[0], innerStrides[0][0], innerStrides[1][0])
					continue
				}
				rows(inner, innerStrides, func(n int, start, step []int) bool {
					add(unsafe.Add(dp, start[0]*size), unsafe.Add(sp, start[1]*size), n, step[0], step[1])
					return true
				})
			}
		}
	})
}

// indices returns a reader of a one-dimensional index array.
func indices[I integer](idx cpu.Array) func(j int) int64 {
	step := 0
	if len(idx.Strides) > 0 {
		step = idx.Strides[0]
	}
	return func(j int) int64 { return int64(*at[I](idx.Data, j*step)) }
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// offset is where the i-th position of shape, in row-major order, lies.
func offset(i int, shape, strides []int) int {
	at := 0
	for d := len(shape) - 1; d >= 0; d-- {
		at += i % shape[d] * strides[d]
		i /= shape[d]
	}
	return at
}
