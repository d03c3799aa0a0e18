package reduce

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// CumSum sets dst to the sums of src up to and with each position along dim
// (torch.cumsum). Floats keep their dtype and accumulate in float64; of integers
// and bool dst is int64, and wraps.
func CumSum(dst, src cpu.Array, dim int) {
	switch src.DType {
	case cpu.Float32:
		cumSum[float32, float32, float64](dst, src, dim)
	case cpu.Float64:
		cumSum[float64, float64, float64](dst, src, dim)
	case cpu.Int64:
		cumSum[int64, int64, int64](dst, src, dim)
	case cpu.Int32:
		cumSum[int64, int32, int64](dst, src, dim)
	default:
		cumSum[int64, uint8, int64](dst, src, dim)
	}
}

func cumSum[D, T, A number](dst, src cpu.Array, dim int) {
	lines(dim, taskLen, func(n int, at, step offsets) {
		d, p := unsafe.Add(dst.Data, at[0]), unsafe.Add(src.Data, at[1])
		var sum A
		for i := range n {
			sum += A(*element[T](p, i, step[1]))
			*element[D](d, i, step[0]) = D(sum)
		}
	}, dst, src)
}
