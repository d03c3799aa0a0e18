//go:build !linux || race

package arraytest

import (
	"testing"
	"unsafe"
)

// Memory returns n bytes.
func Memory(_ testing.TB, n int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, n/8+1)))
}
