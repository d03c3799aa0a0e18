package alloc

import (
	"os"
	"unsafe"
)

// pageSize is the system's, in bytes.
var pageSize = uint64(os.Getpagesize())

// mapping is a range of addresses that the system gave.
type mapping struct {
	addr, size uint64         // bytes, whole pages
	memory     unsafe.Pointer // the byte at addr; nil where a plan runs without memory
}

// at returns a pointer to the byte at an address within the mapping.
func (m *mapping) at(addr uint64) unsafe.Pointer {
	return unsafe.Add(m.memory, addr-m.addr)
}

// bytes returns the part of the mapping from one address to another.
func (m *mapping) bytes(from, to uint64) []byte {
	return unsafe.Slice((*byte)(m.at(from)), to-from)
}

// pager is what the planner asks of the system. All addresses and sizes are
// multiples of pageSize.
type pager interface {
	// mapPages maps size bytes and never holds more than that, not even for a
	// moment. With huge, they should be backed by huge pages where the system has
	// them. New memory holds zeros.
	mapPages(size uint64, huge bool) (mapping, error)
	// unmap ends a mapping made by mapPages, whole.
	unmap(m mapping) error
	// release gives the memory behind part of a mapping back to the system. The
	// addresses stay mapped; what they hold is undefined.
	release(m mapping, from, to uint64) error
	// hugePages says whether the system may back part of a mapping made with huge
	// by huge pages from now on. It is advice and cannot fail.
	hugePages(m mapping, from, to uint64, on bool)
}

func roundUp(n, to uint64) uint64   { return (n + to - 1) &^ (to - 1) }
func roundDown(n, to uint64) uint64 { return n &^ (to - 1) }
