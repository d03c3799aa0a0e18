//go:build race

package elementwise

import (
	"runtime"
	"unsafe"
)

// markRead and markWrite tell the race detector, which does not see into
// assembly, that n bytes from p on are read or written.

func markRead(p unsafe.Pointer, n int) { runtime.RaceReadRange(p, n) }

func markWrite(p unsafe.Pointer, n int) { runtime.RaceWriteRange(p, n) }

// markTransposed tells it of what [transpose] moves.
func markTransposed(dst, src view, rows, cols int) {
	for c := range cols {
		markRead(unsafe.Add(src.data, c*src.col), 4*rows)
	}
	for r := range rows {
		markWrite(unsafe.Add(dst.data, r*dst.row), 4*cols)
	}
}

// mark tells it of n elements of each operand from p on.
func (t *task) mark(n int, p *[maxOperands]unsafe.Pointer) {
	markWrite(p[0], n*t.size[0])
	for o := 1; o < t.operands; o++ {
		if p[o] != nil {
			markRead(p[o], n*t.size[o])
		}
	}
}
