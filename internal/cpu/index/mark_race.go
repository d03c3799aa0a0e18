//go:build race

package index

import (
	"runtime"
	"unsafe"
)

const raceEnabled = true

// markRead and markWrite tell the race detector, which does not see into
// assembly, that n bytes from p on are read or written.

func markRead(p unsafe.Pointer, n int) { runtime.RaceReadRange(p, n) }

func markWrite(p unsafe.Pointer, n int) { runtime.RaceWriteRange(p, n) }
