//go:build race

package alloc

import (
	"syscall"
	"unsafe"
)

// systemPager takes memory from the Go heap, because the race detector cannot
// see any other. The segment's record keeps it alive, and the heap does not move.
type systemPager struct{}

// heapRefusal is a size refused as a system would: the Go heap ends the process
// where a system call returns an error.
const heapRefusal = 1 << 35

func (systemPager) mapPages(size uint64, _ bool) (mapping, error) {
	if size >= heapRefusal {
		return mapping{}, syscall.ENOMEM
	}
	buffer := make([]byte, size+pageSize)
	memory := unsafe.Pointer(&buffer[0])
	if past := uint64(uintptr(memory)) % pageSize; past != 0 {
		memory = unsafe.Pointer(&buffer[pageSize-past])
	}
	return mapping{addr: uint64(uintptr(memory)), size: size, memory: memory}, nil
}

// unmap leaves the memory to the collector.
func (systemPager) unmap(mapping) error { return nil }

// release clears the memory, as new pages would.
func (systemPager) release(m mapping, from, to uint64) error {
	clear(m.bytes(from, to))
	return nil
}

func (systemPager) hugePages(mapping, uint64, uint64, bool) {}
