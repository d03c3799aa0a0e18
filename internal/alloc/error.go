package alloc

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is the cause of an out-of-memory error after Close.
var ErrClosed = errors.New("the allocator is closed")

var (
	errSize  = errors.New("not a possible size")
	errLimit = errors.New("over the limit") // becomes a nil Cause
)

// OutOfMemoryError says that a request could not be met, after the cache was
// emptied. All figures are bytes, taken when the request failed.
type OutOfMemoryError struct {
	Asked       int64 // the request
	Rounded     int64 // the request rounded up to a multiple of Alignment; 0 if it is no possible size
	Mapped      int64 // mapped from the system
	Limit       int64 // the bound on Mapped; 0: none
	InUse       int64 // in blocks handed out
	Free        int64 // mapped and in no block
	LargestHole int64 // the largest contiguous part of Free
	Fits        int64 // the largest request that the limit and the holes still allow (without a limit: the holes)
	Cause       error // why the system refused; nil if the limit did
}

// Error describes the request and what stood in its way.
func (e *OutOfMemoryError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "out of memory: asked for %d bytes", e.Asked)
	if e.Cause != nil {
		fmt.Fprintf(&s, ": %v", e.Cause)
	}
	fmt.Fprintf(&s, " (mapped %d", e.Mapped)
	if e.Limit > 0 {
		fmt.Fprintf(&s, " of limit %d", e.Limit)
	}
	fmt.Fprintf(&s, ", in use %d, free %d, largest hole %d", e.InUse, e.Free, e.LargestHole)
	if e.Limit > 0 {
		fmt.Fprintf(&s, ", would fit %d", e.Fits)
	}
	s.WriteByte(')')
	return s.String()
}

// Unwrap returns Cause.
func (e *OutOfMemoryError) Unwrap() error { return e.Cause }

// BlocksOutError says that an allocator was closed while blocks were handed out.
type BlocksOutError struct {
	Blocks int64 // blocks handed out
	Bytes  int64 // their sizes, summed
	Mapped int64 // bytes that stay mapped until they are freed
}

// Error gives the number of blocks and bytes.
func (e *BlocksOutError) Error() string {
	return fmt.Sprintf("alloc: closed with %d blocks of %d bytes still in use", e.Blocks, e.Bytes)
}
