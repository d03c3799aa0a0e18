package index

import "github.com/ebb-ml/ebb/internal/cpu"

// OneHot sets dst to 0 except for a 1 at dst[.., idx[..]], as
// torch.nn.functional.one_hot does. dst has the shape of idx and one dimension
// more, the classes; any dtype (PyTorch's is Int64).
func OneHot(dst, idx cpu.Array) error {
	last := len(dst.Shape) - 1
	if err := check(idx, dst.Shape[last]); err != nil {
		return err
	}
	switch dst.DType {
	case cpu.Float32:
		oneHot[float32](dst, idx)
	case cpu.Float64:
		oneHot[float64](dst, idx)
	case cpu.Int64:
		oneHot[int64](dst, idx)
	case cpu.Int32:
		oneHot[int32](dst, idx)
	default:
		oneHot[uint8](dst, idx)
	}
	return nil
}

func oneHot[T number](dst, idx cpu.Array) {
	last := len(dst.Shape) - 1
	rows(dst.Shape, [][]int{dst.Strides}, func(n int, start, step []int) bool {
		for i := range n {
			*at[T](dst.Data, start[0]+i*step[0]) = 0
		}
		return true
	})
	rows(idx.Shape, [][]int{idx.Strides, dst.Strides[:last]}, func(n int, start, step []int) bool {
		for i := range n {
			x := start[0] + i*step[0]
			var class int
			if idx.DType == cpu.Int32 {
				class = int(*at[int32](idx.Data, x))
			} else {
				class = int(*at[int64](idx.Data, x))
			}
			*at[T](dst.Data, start[1]+i*step[1]+class*dst.Strides[last]) = 1
		}
		return true
	})
}

// Tril sets dst to src with 0 above the diagonal-th diagonal, as torch.tril
// does: element [.., i, j] is kept where j - i <= diagonal. dst and src have
// the same shape, of two dimensions or more, and any one dtype; dst may be src.
func Tril(dst, src cpu.Array, diagonal int) { triangle(dst, src, diagonal, true) }

// Triu sets dst to src with 0 below the diagonal-th diagonal, as torch.triu
// does: element [.., i, j] is kept where j - i >= diagonal. dst and src have
// the same shape, of two dimensions or more, and any one dtype; dst may be src.
func Triu(dst, src cpu.Array, diagonal int) { triangle(dst, src, diagonal, false) }

func triangle(dst, src cpu.Array, diagonal int, lower bool) {
	switch dst.DType.Size() {
	case 1:
		triangleWords[uint8](dst, src, diagonal, lower)
	case 4:
		triangleWords[uint32](dst, src, diagonal, lower)
	default:
		triangleWords[uint64](dst, src, diagonal, lower)
	}
}

func triangleWords[W word](dst, src cpu.Array, diagonal int, lower bool) {
	r := len(dst.Shape) - 2
	n, m := dst.Shape[r], dst.Shape[r+1]
	for o := range product(dst.Shape[:r]) {
		d, s := offset(o, dst.Shape[:r], dst.Strides), offset(o, src.Shape[:r], src.Strides)
		for i := range n {
			from, to := 0, min(max(i+diagonal+1, 0), m) // what is kept
			if !lower {
				from, to = min(max(i+diagonal, 0), m), m
			}
			for j := range m {
				var w W
				if j >= from && j < to {
					w = *at[W](src.Data, s+i*src.Strides[r]+j*src.Strides[r+1])
				}
				*at[W](dst.Data, d+i*dst.Strides[r]+j*dst.Strides[r+1]) = w
			}
		}
	}
}

// Arange sets the elements of dst, which has one dimension and dtype Float32
// or Float64, to start, start + step, start + 2*step, ..., each computed in
// float64 and rounded once, as torch.arange defines them.
func Arange(dst cpu.Array, start, step float64) {
	for i := range dst.Len() {
		v := start + float64(float64(i)*step)
		if dst.DType == cpu.Float32 {
			*at[float32](dst.Data, i*dst.Strides[0]) = float32(v)
		} else {
			*at[float64](dst.Data, i*dst.Strides[0]) = v
		}
	}
}

// ArangeInt is Arange for the integer dtypes; values wrap to the dtype.
func ArangeInt(dst cpu.Array, start, step int64) {
	for i := range dst.Len() {
		v := start + int64(i)*step
		switch dst.DType {
		case cpu.Int64:
			*at[int64](dst.Data, i*dst.Strides[0]) = v
		case cpu.Int32:
			*at[int32](dst.Data, i*dst.Strides[0]) = int32(v)
		default:
			*at[uint8](dst.Data, i*dst.Strides[0]) = uint8(v)
		}
	}
}
