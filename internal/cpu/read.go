package cpu

import "unsafe"

// Gather copies the elements of a into dst in row-major order. T must be the Go
// type of a.DType.
func Gather[T any](dst []T, a Array) {
	if a.Len() == 0 {
		return
	}
	var zero T
	gather(dst, a.Data, int(unsafe.Sizeof(zero)), a.Shape, a.Strides)
}

// gather copies the elements of one dimension after another and returns the
// rest of dst.
func gather[T any](dst []T, at unsafe.Pointer, size int, shape, strides []int) []T {
	if len(shape) == 0 {
		dst[0] = *(*T)(at)
		return dst[1:]
	}
	for i := range shape[0] {
		dst = gather(dst, unsafe.Add(at, i*strides[0]*size), size, shape[1:], strides[1:])
	}
	return dst
}

// First returns the first element as a float64.
func First(a Array) float64 {
	switch a.DType {
	case Float32:
		return float64(*(*float32)(a.Data))
	case Float64:
		return *(*float64)(a.Data)
	case Int64:
		return float64(*(*int64)(a.Data))
	case Int32:
		return float64(*(*int32)(a.Data))
	}
	return float64(*(*uint8)(a.Data))
}
