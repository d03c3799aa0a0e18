package elementwise

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Copy sets dst to src, converted to dst's dtype as torch.Tensor.to converts
// on x86: a float becomes an integer by truncation, where NaN and what int32
// or int64 cannot hold become the smallest integer; uint8 takes the low byte
// of the int64; integers wrap; a bool is whether the value is not 0.
func Copy(dst, src cpu.Array) {
	if dst.DType == src.DType {
		run(nil, dst, src)
		return
	}
	run(casts[dst.DType][src.DType], dst, src)
}

// Fill sets every element of dst to v, converted as by [Copy] (torch.full).
func Fill(dst cpu.Array, v float64) { Copy(dst, repeat(v, dst.DType, dst.Shape)) }

// FillInt sets every element of dst to v, converted as by [Copy] (torch.full).
func FillInt(dst cpu.Array, v int64) { Copy(dst, repeat(v, dst.DType, dst.Shape)) }

// repeat is an array of v, converted to t, everywhere.
func repeat[T float64 | int64](v T, t cpu.DType, shape []int) cpu.Array {
	wide := cpu.Array{Data: unsafe.Pointer(&v), DType: cpu.Int64}
	if _, ok := any(v).(float64); ok {
		wide.DType = cpu.Float64
	}
	var room [8]byte
	one := cpu.Array{Data: unsafe.Pointer(&room), DType: t}
	Copy(one, wide)
	one.Shape, one.Strides = shape, make([]int, len(shape))
	return one
}

// casts are the kernels from the second dtype to the first.
var casts = [dtypes][dtypes]kernel{
	cpu.Float32: castsTo[float32](),
	cpu.Float64: castsTo[float64](),
	cpu.Int64:   castsToInteger[int64](),
	cpu.Int32:   castsToInteger[int32](),
	cpu.Uint8:   castsToInteger[uint8](),
	cpu.Bool: {
		cpu.Float32: unary(isTrue[float32]),
		cpu.Float64: unary(isTrue[float64]),
		cpu.Int64:   unary(isTrue[int64]),
		cpu.Int32:   unary(isTrue[int32]),
		cpu.Uint8:   unary(isTrue[uint8]),
	},
}

func castsTo[D number]() [dtypes]kernel {
	return [dtypes]kernel{
		cpu.Float32: unary(cast[D, float32]),
		cpu.Float64: unary(cast[D, float64]),
		cpu.Int64:   unary(cast[D, int64]),
		cpu.Int32:   unary(cast[D, int32]),
		cpu.Uint8:   unary(cast[D, uint8]),
		cpu.Bool:    unary(cast[D, uint8]),
	}
}

func castsToInteger[D integer]() [dtypes]kernel {
	k := castsTo[D]()
	k[cpu.Float32] = unary(truncate[D, float32])
	k[cpu.Float64] = unary(truncate[D, float64])
	return k
}

// cast converts where Go's conversion is defined for every value.
func cast[D, A number](d []D, a []A) {
	a = a[:len(d)]
	for i := range d {
		d[i] = D(a[i])
	}
}

func truncate[D integer, A float](d []D, a []A) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truncated[D](float64(a[i]))
	}
}

// truncated is v as an integer. Go leaves a conversion out of range to the
// processor, and arm64 saturates where amd64 does as here.
func truncated[D integer](v float64) D {
	if unsafe.Sizeof(D(0)) == 4 {
		if v > math.MinInt32-1 && v < math.MaxInt32+1 {
			return D(int32(v))
		}
		lowest := int32(math.MinInt32)
		return D(lowest)
	}
	wide := int64(math.MinInt64)
	if v >= math.MinInt64 && v < -math.MinInt64 {
		wide = int64(v)
	}
	return D(wide)
}

func isTrue[A number](d []uint8, a []A) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] != 0)
	}
}
