package reduce

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Op is a reduction. Each is torch's of the same name.
type Op uint8

// The reductions, with what they give for no elements.
const (
	Sum        Op = iota // floats: src's dtype; integers and bool: int64, wrapped. Of none: 0
	Mean                 // floats: src's dtype. Of none: NaN
	Prod                 // as Sum. Of none: 1
	Max                  // src's dtype; NaN if any is (torch.amax). Of none: a panic
	Min                  // src's dtype; NaN if any is (torch.amin). Of none: a panic
	Any                  // bool: is one not 0? NaN is not 0. Of none: false
	All                  // bool: is none 0? Of none: true
	SumSquares           // floats: src's dtype; the square of the norm. Of none: 0

	ops
)

// Reduce sets dst to the reduction of src over dims, which are dimensions of
// src, each at most once; over no dims it reduces every element by itself. dst
// has size 1 in those dimensions and src's sizes in the others.
func Reduce(op Op, dst, src cpu.Array, dims []int) {
	f := reductions[op][src.DType]
	if f == nil {
		panic("reduce: no kernel for this operation and dtype")
	}
	f(dst, src, dims)
}

type reduction func(dst, src cpu.Array, dims []int)

var reductions = [ops][cpu.Bool + 1]reduction{
	Sum: {
		cpu.Float32: sumFloats[float32](),
		cpu.Float64: sumFloats[float64](),
		cpu.Int64:   sumIntegers[int64](),
		cpu.Int32:   sumIntegers[int32](),
		cpu.Uint8:   sumIntegers[uint8](),
		cpu.Bool:    sumIntegers[uint8](),
	},
	Mean: {
		cpu.Float32: meanFloats[float32],
		cpu.Float64: meanFloats[float64],
	},
	Prod: {
		cpu.Float32: prodFloats[float32](),
		cpu.Float64: prodFloats[float64](),
		cpu.Int64:   prodIntegers[int64](),
		cpu.Int32:   prodIntegers[int32](),
		cpu.Uint8:   prodIntegers[uint8](),
		cpu.Bool:    prodIntegers[uint8](),
	},
	Max: {
		cpu.Float32: maxOf(float32(math.Inf(-1))),
		cpu.Float64: maxOf(math.Inf(-1)),
		cpu.Int64:   maxOf(int64(math.MinInt64)),
		cpu.Int32:   maxOf(int32(math.MinInt32)),
		cpu.Uint8:   maxOf(uint8(0)),
		cpu.Bool:    maxOf(uint8(0)),
	},
	Min: {
		cpu.Float32: minOf(float32(math.Inf(1))),
		cpu.Float64: minOf(math.Inf(1)),
		cpu.Int64:   minOf(int64(math.MaxInt64)),
		cpu.Int32:   minOf(int32(math.MaxInt32)),
		cpu.Uint8:   minOf(uint8(math.MaxUint8)),
		cpu.Bool:    minOf(uint8(math.MaxUint8)),
	},
	Any: {
		cpu.Float32: anyOf[float32](),
		cpu.Float64: anyOf[float64](),
		cpu.Int64:   anyOf[int64](),
		cpu.Int32:   anyOf[int32](),
		cpu.Uint8:   anyOf[uint8](),
		cpu.Bool:    anyOf[uint8](),
	},
	All: {
		cpu.Float32: allOf[float32](),
		cpu.Float64: allOf[float64](),
		cpu.Int64:   allOf[int64](),
		cpu.Int32:   allOf[int32](),
		cpu.Uint8:   allOf[uint8](),
		cpu.Bool:    allOf[uint8](),
	},
	SumSquares: {
		cpu.Float32: sumSquares[float32](),
		cpu.Float64: sumSquares[float64](),
	},
}

// The Go types of elements. A bool array holds uint8, each 0 or 1.
type (
	float   interface{ float32 | float64 }
	integer interface{ int64 | int32 | uint8 }
	number  interface{ float | integer }
)

// folder makes the kernel once, for all calls.
func folder[T, A any](k kernel[T, A], store func(p unsafe.Pointer, v A)) reduction {
	k.store = store
	return func(dst, src cpu.Array, dims []int) { fold(k, dst, src, dims) }
}

// write stores an accumulator as a T.
func write[T, A number](p unsafe.Pointer, v A) { *(*T)(p) = T(v) }

func plus[A number](a, b A) A  { return a + b }
func times[A number](a, b A) A { return a * b }

func sumFloats[T float]() reduction {
	return folder(sumOf[T, float64](), write[T, float64])
}

func sumIntegers[T integer]() reduction {
	return folder(sumOf[T, int64](), write[int64, int64])
}

func meanFloats[T float](dst, src cpu.Array, dims []int) {
	n := 1.0
	for _, d := range dims {
		n *= float64(src.Shape[d])
	}
	store := func(p unsafe.Pointer, v float64) { *(*T)(p) = T(v / n) }
	k := sumOf[T, float64]()
	k.store = store
	fold(k, dst, src, dims)
}

func prodFloats[T float]() reduction {
	return folder(kernel[T, float64]{identity: 1, run: prodRun[T, float64], rows: mulRow[T, float64], merge: times[float64]}, write[T, float64])
}

func prodIntegers[T integer]() reduction {
	return folder(kernel[T, int64]{identity: 1, run: prodRun[T, int64], rows: mulRow[T, int64], merge: times[int64]}, write[int64, int64])
}

func sumSquares[T float]() reduction {
	return folder(sumSquaresOf[T](), write[T, float64])
}

func maxOf[T number](lowest T) reduction {
	k := maxKernel(lowest)
	k.store = write[T, T]
	return func(dst, src cpu.Array, dims []int) { foldSome(k, dst, src, dims) }
}

func minOf[T number](highest T) reduction {
	k := minKernel(highest)
	k.store = write[T, T]
	return func(dst, src cpu.Array, dims []int) { foldSome(k, dst, src, dims) }
}

// foldSome is fold for reductions that have no value for no elements.
func foldSome[T, A any](k kernel[T, A], dst, src cpu.Array, dims []int) {
	if src.Len() == 0 && dst.Len() > 0 {
		panic("reduce: extreme of no elements")
	}
	fold(k, dst, src, dims)
}

func anyOf[T number]() reduction {
	either := func(a, b uint8) uint8 { return a | b }
	return folder(kernel[T, uint8]{run: anyRun[T], rows: anyRow[T], merge: either}, write[uint8, uint8])
}

func allOf[T number]() reduction {
	both := func(a, b uint8) uint8 { return a & b }
	return folder(kernel[T, uint8]{identity: 1, run: allRun[T], rows: allRow[T], merge: both}, write[uint8, uint8])
}
