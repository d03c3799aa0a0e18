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

// A loop computes n elements that lie one after the other in every operand.
// d is the output; a, b and c are inputs, nil where the operation has fewer; v
// and w are numbers of the operation, as bits of the dtype (see bitsOf). It must
// read an element's inputs before it writes the element, since d may equal an
// input.
type loop func(n int, d, a, b, c unsafe.Pointer, v, w uint64)

// A kernel is a loop and the least number of elements of a task: some 20
// microseconds, so that a second processor is worth waking.
type kernel struct {
	loop
	least int
	past  loop // writes d, a multiple of 64, past the caches; nil if there is none
}

const (
	vectorTask   = 1 << 17 // loops in assembly, about 0.1 ns an element
	longTask     = 1 << 15 // functions in assembly, 0.3 to 1 ns
	goTask       = 1 << 15 // loops in Go, about 1 ns
	functionTask = 1 << 12 // functions of package math, about 10 ns
)

// inGo and inVectors make kernels of loops in Go and in assembly.

func inGo(l loop) kernel { return kernel{loop: l, least: goTask} }

func inVectors(l loop) kernel { return kernel{loop: l, least: vectorTask} }

// functionInVectors makes one of an exponential or its like in assembly.
func functionInVectors(l loop) kernel { return kernel{loop: l, least: longTask} }

// kernels are the loops of one processor level: its own, and those in Go where
// it has none.
type kernels struct {
	unary  [dtypes][unaryOps]kernel
	binary [dtypes][binaryOps]kernel

	// The operations of binary with v in the place of the right or of the left
	// operand. Without a loop: a block of v is made for binary.
	right, left [dtypes][binaryOps]kernel

	cast                                                    [dtypes][dtypes]kernel // from the second to the first
	addScaled, addcmul, addcdiv, lerpNear, lerpFar, clamped [dtypes]kernel
	where                                                   [9]kernel // by element size; a is the condition

	// transpose, if there is one, sets d[r*dRow+c*4] to s[c*sCol+r*4], of n rows and
	// cols columns of elements of 4 bytes: multiples of 8, strides in bytes.
	transpose func(n, cols int, d unsafe.Pointer, dRow int, s unsafe.Pointer, sCol int)

	// fill sets n elements of 8 bytes to v.
	fill kernel

	// b is a bit mask; n is a multiple of 64.
	reluMask, maskMul [dtypes]kernel
}

// inUse are the kernels of the processor's level.
var inUse = func() kernels {
	level, _ := cpu.Level() // an unusable EBB_CPU is reported by the runtime
	return kernelsOf(level)
}()

// kernelsOf returns the kernels of a level that the processor has.
func kernelsOf(level cpu.SIMD) kernels {
	k := kernels{
		unary: unaryKernels, binary: binaryKernels, cast: casts,
		addScaled: addScaledKernels,
		addcmul:   [dtypes]kernel{cpu.Float32: inGo(addcmul[float32]), cpu.Float64: inGo(addcmul[float64])},
		addcdiv:   [dtypes]kernel{cpu.Float32: inGo(addcdiv[float32]), cpu.Float64: inGo(addcdiv[float64])},
		lerpNear:  [dtypes]kernel{cpu.Float32: inGo(lerpNear[float32]), cpu.Float64: inGo(lerpNear[float64])},
		lerpFar:   [dtypes]kernel{cpu.Float32: inGo(lerpFar[float32]), cpu.Float64: inGo(lerpFar[float64])},
		clamped:   clampedKernels,
		where:     [9]kernel{1: inGo(choose[uint8]), 4: inGo(choose[uint32]), 8: inGo(choose[uint64])},
		fill:      inVectors(fillWords),
		reluMask:  [dtypes]kernel{cpu.Float32: inGo(reluMaskBytes[float32]), cpu.Float64: inGo(reluMaskBytes[float64])},
		maskMul:   [dtypes]kernel{cpu.Float32: inGo(maskMulBytes[float32]), cpu.Float64: inGo(maskMulBytes[float64])},
	}
	if level != cpu.Generic {
		accelerate(&k, level)
	}
	for t := range k.right {
		for _, op := range []BinaryOp{Add, Mul, Maximum, Minimum} {
			k.left[t][op] = k.right[t][op]
		}
	}
	return k
}

func slice[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// unary and binary make kernels of loops over slices of equal length.

func unary[D, A any](f func(d []D, a []A)) kernel {
	return inGo(func(n int, d, a, _, _ unsafe.Pointer, _, _ uint64) { f(slice[D](d, n), slice[A](a, n)) })
}

func binary[D, A any](f func(d []D, a, b []A)) kernel {
	return inGo(func(n int, d, a, b, _ unsafe.Pointer, _, _ uint64) {
		f(slice[D](d, n), slice[A](a, n), slice[A](b, n))
	})
}

// bitsOf is v, converted to the dtype as by [Copy], in the low bits.
func bitsOf(t cpu.DType, v float64) uint64 {
	switch t {
	case cpu.Float32:
		return uint64(math.Float32bits(float32(v)))
	case cpu.Float64:
		return math.Float64bits(v)
	case cpu.Int64:
		return uint64(truncated[int64](v))
	case cpu.Int32:
		return uint64(uint32(truncated[int32](v)))
	case cpu.Uint8:
		return uint64(truncated[uint8](v))
	}
	return uint64(truth(v != 0))
}

// bitsOfInt is [bitsOf] for an integer.
func bitsOfInt(t cpu.DType, v int64) uint64 {
	switch t {
	case cpu.Float32:
		return uint64(math.Float32bits(float32(v)))
	case cpu.Float64:
		return math.Float64bits(float64(v))
	case cpu.Int64:
		return uint64(v)
	case cpu.Int32:
		return uint64(uint32(v))
	case cpu.Uint8:
		return uint64(uint8(v))
	}
	return uint64(truth(v != 0))
}

// fromBits is the number in the low bits of v.
func fromBits[T any](v uint64) T {
	switch unsafe.Sizeof(*new(T)) {
	case 1:
		low := uint8(v)
		return *(*T)(unsafe.Pointer(&low))
	case 4:
		low := uint32(v)
		return *(*T)(unsafe.Pointer(&low))
	}
	return *(*T)(unsafe.Pointer(&v))
}

// repeat is an array of the number in v everywhere.
func repeat(v uint64, t cpu.DType, shape []int) cpu.Array {
	return cpu.Array{Data: numberAt(v, t), DType: t, Shape: shape, Strides: make([]int, len(shape))}
}

// numberAt is an address of the number in v.
func numberAt(v uint64, t cpu.DType) unsafe.Pointer {
	switch t.Size() {
	case 1:
		low := uint8(v)
		return unsafe.Pointer(&low)
	case 4:
		low := uint32(v)
		return unsafe.Pointer(&low)
	}
	return unsafe.Pointer(&v)
}

// loadBits is the element of the given size at p.
func loadBits(p unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
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
