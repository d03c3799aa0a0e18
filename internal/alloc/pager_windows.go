//go:build !race

package alloc

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// systemPager reserves and commits private memory. Large pages on Windows need a
// privilege and cannot be returned in part; it uses none.
type systemPager struct{}

var discardVirtualMemory = windows.NewLazySystemDLL("kernel32.dll").NewProc("DiscardVirtualMemory")

func (systemPager) mapPages(size uint64, _ bool) (mapping, error) {
	addr, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return mapping{}, err
	}
	// The address is no Go object's, so reading it as a pointer is sound.
	memory := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	return mapping{addr: uint64(addr), size: size, memory: memory}, nil
}

func (systemPager) unmap(m mapping) error {
	return windows.VirtualFree(uintptr(m.addr), 0, windows.MEM_RELEASE)
}

// release discards the pages and keeps them committed. Decommitting would need a
// commit before every reuse, which can fail.
func (systemPager) release(m mapping, from, to uint64) error {
	if err := discardVirtualMemory.Find(); err != nil { // before Windows 8.1
		return err
	}
	if code, _, _ := discardVirtualMemory.Call(uintptr(from), uintptr(to-from)); code != 0 {
		return windows.Errno(code)
	}
	return nil
}

func (systemPager) hugePages(mapping, uint64, uint64, bool) {}
