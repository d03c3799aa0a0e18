//go:build race

package update

import (
	"runtime"
	"unsafe"
)

// markRead and markWrite tell the race detector, which does not see into
// assembly, that n elements from p on are read or written.
func markRead[T float](p *T, n int) {
	runtime.RaceReadRange(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p)))
}

func markWrite[T float](p *T, n int) {
	runtime.RaceWriteRange(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p)))
}
