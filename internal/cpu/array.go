// Package cpu is the processor as a device: how its kernels see tensor
// memory, and the pool that runs them. Each family of kernels is a package
// below this one (elementwise, reduce, gemm, ...).
//
// Only this package and those below it may look behind Array.Data; to the
// rest of Ebb tensor memory is an address.
package cpu

import "unsafe"

// DType is an element type. The values are those of ebb.DType.
type DType uint8

// The element types, in the order of ebb.DType. Bool is one byte, 0 or 1.
const (
	Float32 DType = iota
	Float64
	Int64
	Int32
	Uint8
	Bool
)

// Size returns the bytes of one element.
func (d DType) Size() int {
	switch d {
	case Float64, Int64:
		return 8
	case Float32, Int32:
		return 4
	}
	return 1
}

// Array is a strided view of tensor memory, as a kernel sees it. Shape and
// Strides have the same length and count elements, not bytes. A stride of 0
// repeats (broadcasting). An Array with a zero in its shape has no elements
// and its Data must not be read.
type Array struct {
	Data    unsafe.Pointer // element [0, 0, ...]
	DType   DType
	Shape   []int
	Strides []int
}

// Len returns the number of elements.
func (a Array) Len() int {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// Contiguous reports whether the elements lie row-major without gaps.
func (a Array) Contiguous() bool {
	want := 1
	for i := len(a.Shape) - 1; i >= 0; i-- {
		if a.Shape[i] == 0 {
			return true
		}
		if a.Shape[i] != 1 {
			if a.Strides[i] != want {
				return false
			}
			want *= a.Shape[i]
		}
	}
	return true
}

// Slice returns the elements of a contiguous array. T must be the Go type of
// a.DType (bool arrays are []uint8).
func Slice[T any](a Array) []T {
	n := a.Len()
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(a.Data), n)
}
