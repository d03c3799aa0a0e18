//go:build !linux || race

package gemm

import (
	"testing"
	"unsafe"
)

func memory(_ testing.TB, n int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, n/8+1)))
}
