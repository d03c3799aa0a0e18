//go:build invariants && !race

package alloc

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// protect makes pages untouchable, or usable again.
func protect(pages []byte, on bool) error {
	access := uint32(windows.PAGE_READWRITE)
	if on {
		access = windows.PAGE_NOACCESS
	}
	var old uint32
	return windows.VirtualProtect(uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)), access, &old)
}
