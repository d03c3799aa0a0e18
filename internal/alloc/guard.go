package alloc

import (
	"fmt"
	"sync/atomic"
)

// In a guarded build (tag invariants, and not the race detector's, whose memory
// is the Go heap's) a block is whole pages between two pages that cannot be
// touched. The data lies at the end, so that the first byte past it is a fault;
// before it, that holds for the first byte before its page.

// footprint returns the bytes of a segment that a request takes.
func footprint(request uint64) uint64 {
	if guards {
		return roundUp(request, pageSize) + 2*pageSize
	}
	return request
}

// request returns the largest request with at most a footprint, or 0.
func request(footprint uint64) uint64 {
	if guards {
		return max(roundDown(footprint, pageSize), 2*pageSize) - 2*pageSize
	}
	return footprint
}

// dataAddr returns where the holder's bytes begin.
func (b *Block) dataAddr() uint64 {
	if guards {
		return b.end() - pageSize - b.rounded
	}
	return b.addr
}

// maxGuarded bounds the guarded blocks of the process. Each costs two or three of
// the 65,530 mappings that Linux allows by default, and the Go runtime needs some
// too. Blocks beyond it have their guard pages, but may touch them.
const maxGuarded = 12_000

var guarded atomic.Int64

// guard makes the first and last page of a block untouchable.
func guard(b *Block) {
	if !guards {
		return
	}
	if guarded.Add(1) > maxGuarded {
		guarded.Add(-1)
		return
	}
	first, last := guardPages(b)
	if protect(first, true) != nil {
		guarded.Add(-1)
		return
	}
	b.guarded = true
	if protect(last, true) != nil { // no mappings left: go without
		unguard(b)
	}
}

// unguard undoes guard.
func unguard(b *Block) {
	if !b.guarded {
		return
	}
	b.guarded = false
	guarded.Add(-1)
	first, last := guardPages(b)
	for _, page := range [][]byte{first, last} {
		if err := protect(page, false); err != nil {
			panic(fmt.Sprintf("alloc: guard page of the block at %#x: %v", b.addr, err))
		}
	}
}

func guardPages(b *Block) (first, last []byte) {
	m := &b.segment.mapping
	return m.bytes(b.addr, b.addr+pageSize), m.bytes(b.end()-pageSize, b.end())
}
