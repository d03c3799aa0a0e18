package elementwise

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// The Go types of elements. A bool array holds uint8, each 0 or 1.
type (
	float   interface{ float32 | float64 }
	integer interface{ int64 | int32 | uint8 }
	number  interface{ float | integer }
)

// dtypes is the number of element types, the first index of kernel tables.
const dtypes = int(cpu.Bool) + 1

func slice[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// unary, binary and ternary make kernels of loops over slices of equal length.

func unary[D, A any](f func(d []D, a []A)) kernel {
	return func(n int, d, a, _, _ unsafe.Pointer) { f(slice[D](d, n), slice[A](a, n)) }
}

func binary[D, A any](f func(d []D, a, b []A)) kernel {
	return func(n int, d, a, b, _ unsafe.Pointer) { f(slice[D](d, n), slice[A](a, n), slice[A](b, n)) }
}

func ternary[T any](f func(d, a, b, c []T)) kernel {
	return func(n int, d, a, b, c unsafe.Pointer) {
		f(slice[T](d, n), slice[T](a, n), slice[T](b, n), slice[T](c, n))
	}
}

// truth is 1 for true, the element of a bool array.
func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// keepIf is v if keep is 1 and 0 if it is 0, without a branch: which elements are
// positive is what no processor predicts.
func keepIf[T float](v T, keep uint8) T {
	if unsafe.Sizeof(v) == 4 {
		return T(math.Float32frombits(math.Float32bits(float32(v)) & -uint32(keep)))
	}
	return T(math.Float64frombits(math.Float64bits(float64(v)) & -uint64(keep)))
}

// fma is x*y + z rounded once, as PyTorch's vector code does it. For float32
// the product is exact in float64 and the sum is rounded twice, which differs
// from a true fused operation about once in 2^29.
// x comes widened, outside of the loop where that can be.
func fma[T float](x float64, y, z T) T {
	if unsafe.Sizeof(y) == 4 {
		return T(x*float64(y) + float64(z))
	}
	return T(math.FMA(x, float64(y), float64(z)))
}
