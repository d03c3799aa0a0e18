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
	k := kernel{least: vectorTask} // without a loop: copies
	if dst.DType != src.DType {
		k = inUse.cast[dst.DType][src.DType]
	}
	run1(k, &dst, &src, 0, 0)
}

// Fill sets every element of dst to v, converted as by [Copy] (torch.full).
func Fill(dst cpu.Array, v float64) { fillBits(&dst, bitsOf(dst.DType, v)) }

// FillInt sets every element of dst to v, converted as by [Copy] (torch.full).
func FillInt(dst cpu.Array, v int64) { fillBits(&dst, bitsOfInt(dst.DType, v)) }

func fillBits(dst *cpu.Array, v uint64) {
	n, flat := flatLen(dst)
	if !flat {
		Copy(*dst, repeat(v, dst.DType, dst.Shape))
		return
	}
	size := dst.DType.Size()
	pattern := v
	switch size {
	case 1:
		pattern *= 0x0101010101010101
	case 4:
		pattern |= v << 32
	}
	words := cpu.Array{Data: dst.Data, DType: cpu.Float64}
	flatRun(inUse.fill, n*size/8, &words, nil, nil, nil, pattern, 0)
	for i := n * size / 8 * 8 / size; i < n; i++ {
		move(size, view{unsafe.Add(dst.Data, i*size), 0, size}, view{numberAt(v, dst.DType), 0, 0}, 1, 1)
	}
}

func fillWords(n int, d, _, _, _ unsafe.Pointer, v, _ uint64) { fill(slice[uint64](d, n), v) }

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
