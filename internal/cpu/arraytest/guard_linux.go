//go:build linux && !race

package arraytest

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory returns n bytes that end where a page begins that cannot be read, so
// that reading past them is a crash. Under the race detector, and elsewhere than
// on linux, it is ordinary memory.
func Memory(t testing.TB, n int) unsafe.Pointer {
	page := unix.Getpagesize()
	size := (max(n, 1) + page - 1) / page * page
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
