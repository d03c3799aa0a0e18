package elementwise

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// markTransposed tells the race detector, which does not see into assembly, what
// [transpose] moves.
func markTransposed(dst, src view, rows, cols int) {
	if !cpu.Race {
		return
	}
	for c := range cols {
		cpu.MarkRead(unsafe.Add(src.data, c*src.col), 4*rows)
	}
	for r := range rows {
		cpu.MarkWrite(unsafe.Add(dst.data, r*dst.row), 4*cols)
	}
}

// mark tells it of n elements of each operand from p on.
func (t *task) mark(n int, p *[maxOperands]unsafe.Pointer) {
	if !cpu.Race {
		return
	}
	cpu.MarkWrite(p[0], n*t.size[0])
	for o := 1; o < t.operands; o++ {
		if p[o] != nil {
			cpu.MarkRead(p[o], n*t.size[o])
		}
	}
}
