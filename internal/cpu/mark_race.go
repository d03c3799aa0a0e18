//go:build race

package cpu

import (
	"runtime"
	"unsafe"
)

// Race says that the race detector runs.
const Race = true

// MarkRead tells the race detector, which does not see into assembly, that n
// bytes from p on are read.
func MarkRead(p unsafe.Pointer, n int) { runtime.RaceReadRange(p, n) }

// MarkWrite tells it that they are written.
func MarkWrite(p unsafe.Pointer, n int) { runtime.RaceWriteRange(p, n) }
