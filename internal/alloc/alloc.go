// Package alloc is the caching allocator for tensor memory.
//
// Memory comes from anonymous mappings, off the Go heap, in segments that are
// cut into blocks. Freed blocks join their free neighbours and stay cached;
// [Allocator.EmptyCache] gives the cache back to the system, and
// [Allocator.SetLimit] bounds what is mapped at every moment.
//
// The planner decides (which hole, which segment to map, what to unmap) on plain
// addresses; a pager, one per platform, makes the system calls. Build tags change
// the pager and the checks, never the decisions' ledgers:
//
//   - race: memory comes from the Go heap, where the race detector sees it.
//   - invariants: guard pages around every block, poison in free memory, writes
//     after free and second frees found.
//
// An Allocator is not safe for concurrent use.
package alloc

import (
	"fmt"
	"math"
	"syscall"
	"unsafe"
)

// Alignment is what every block's address and size are a multiple of, in bytes:
// a cache line, and the widest vector register.
const Alignment = 64

// maxRequest bounds a request, in bytes. No processor Ebb runs on maps as much
// in one process (47 bits), and sums of sizes below it cannot overflow.
const maxRequest = 1 << 46

// Allocator hands out blocks of memory and takes them back. The zero value is
// not usable; see [New].
type Allocator struct {
	plan   planner
	check  *checker // nil unless built with the tag invariants, and in a dry one
	failIn int
	ooms   int64
}

// New returns an allocator that holds no memory and has no limit.
func New() *Allocator {
	a := &Allocator{}
	a.plan.pager = systemPager{}
	if invariants {
		a.check = &checker{pager: a.plan.pager, released: map[uint64]struct{}{}}
		a.plan.pager = a.check
	}
	return a
}

// SetLimit bounds the bytes mapped from the system, at every moment, guard pages
// and rounding included; 0 or less means no limit. Where more is mapped already,
// free segments are unmapped at once and the rest as its blocks are freed.
func (a *Allocator) SetLimit(bytes int64) {
	a.plan.setLimit(uint64(max(bytes, 0)))
}

// Alloc returns a block of at least n bytes, n rounded up to a multiple of
// [Alignment]; for n = 0, the smallest block. Its contents are undefined. The
// error is an [*OutOfMemoryError], and then nothing has changed but the cache.
func (a *Allocator) Alloc(n int) (*Block, error) {
	if a.failIn > 0 {
		if a.failIn--; a.failIn == 0 {
			return nil, a.outOfMemory(n, syscall.ENOMEM)
		}
	}
	if uint(n) > maxRequest {
		return nil, a.outOfMemory(n, errSize)
	}
	b, err := a.plan.alloc(round(n))
	if err != nil {
		return nil, a.outOfMemory(n, err)
	}
	if invariants && a.check != nil {
		a.check.handOut(b)
	}
	return b, nil
}

// Free takes a block back. The block must not be used again, and nothing may
// point into its memory: it may be unmapped, now or later. Freeing a block twice
// panics; builds without the tag invariants miss it once the block's record has
// been handed out again.
func (a *Allocator) Free(b *Block) {
	if b.state != used {
		panic(fmt.Sprintf("alloc: block at %#x freed twice", b.addr))
	}
	if invariants && a.check != nil {
		b = a.plan.renew(b) // the old record stays dead, so that a second Free is found
		a.check.takeBack(b)
	}
	a.plan.free(b)
}

// EmptyCache gives all cached memory back to the system: it unmaps the segments
// that are free and releases the free pages of those still in use (which stay
// mapped, and count in Stats.Mapped, without holding memory). It returns the
// bytes unmapped plus the bytes released.
func (a *Allocator) EmptyCache() (returned int64) {
	return int64(a.plan.emptyCache())
}

// Observe sets what is called whenever a segment of size bytes at addr has been
// mapped or unmapped; nil turns it off. It must not call the allocator.
func (a *Allocator) Observe(f func(addr, size uint64, mapped bool)) { a.plan.observer = f }

// Observed reports whether there is such a function.
func (a *Allocator) Observed() bool { return a.plan.observer != nil }

// FailNth makes the nth Alloc from now fail as if the system refused memory,
// once; n <= 0 turns that off. It is a hook for tests.
func (a *Allocator) FailNth(n int) { a.failIn = max(n, 0) }

// Close unmaps everything; further calls of Alloc fail with [ErrClosed]. Blocks
// still handed out are an error, a [*BlocksOutError]. Unmapping them would crash
// whoever still writes to them, so their segments are unmapped when the last of
// their blocks is freed. Close may be called again, to see that all is gone.
func (a *Allocator) Close() error { return a.plan.close() }

// round rounds a request up to Alignment. The smallest block is not empty, so
// that every block has an address of its own.
func round(n int) uint64 {
	return max(roundUp(uint64(n), Alignment), Alignment)
}

func (a *Allocator) outOfMemory(n int, cause error) error {
	a.ooms++
	e := &OutOfMemoryError{
		Asked:  int64(n),
		Mapped: int64(a.plan.mapped),
		Limit:  int64(a.plan.limit),
		InUse:  int64(a.plan.inUse),
		Free:   int64(a.plan.holes),
	}
	e.LargestHole = int64(a.plan.largestHole())
	e.Fits = int64(a.plan.fits())
	if 0 <= n && n <= math.MaxInt-Alignment {
		e.Rounded = int64(round(n))
	}
	if cause != errLimit {
		e.Cause = cause
	}
	return e
}

// Pointer returns the address of the block's memory, aligned to [Alignment] and
// never nil. It is valid until the block is freed.
func (b *Block) Pointer() unsafe.Pointer {
	return unsafe.Add(b.segment.memory, b.dataAddr()-b.segment.addr)
}

// Addr returns the address of the block's memory as a number.
func (b *Block) Addr() uint64 { return b.dataAddr() }

// Size returns the block's size in bytes: what was asked for, rounded up to a
// multiple of [Alignment].
func (b *Block) Size() int { return int(b.rounded) }
