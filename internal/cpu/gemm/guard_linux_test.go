//go:build linux && !race

package gemm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory returns n bytes that end where a page begins that cannot be read, so
// that reading past them is a crash.
func memory(t testing.TB, n int) unsafe.Pointer {
	page := unix.Getpagesize()
	size := roundUp(max(n, 1), page)
	m, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mprotect(m[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	return unsafe.Add(unsafe.Pointer(&m[0]), size-n)
}
