package gemm

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// mark tells the race detector, which does not see into assembly, what the
// block reads and writes.
func (b *block[T]) mark() {
	if !cpu.Race {
		return
	}
	mark(b.a, b.m, b.k, cpu.MarkRead)
	mark(b.b, b.k, b.n, cpu.MarkRead)
	mark(b.dst, b.m, b.n, cpu.MarkWrite)
	if b.bias.p != nil {
		mark(b.bias, b.m, b.n, cpu.MarkRead)
	}
	if b.mask != nil {
		for i := range b.m {
			cpu.MarkWrite(unsafe.Add(b.mask, i*b.maskRow), (b.n+7)/8)
		}
	}
}

func mark[T float](m matrix[T], rows, cols int, report func(unsafe.Pointer, int)) {
	if m.cs != 1 && m.rs == 1 {
		m, rows, cols = m.transposed(), cols, rows
	}
	var t T
	size := int(unsafe.Sizeof(t))
	for i := range rows {
		if cols == 0 {
			return
		}
		if m.cs == 1 {
			report(unsafe.Pointer(m.at(i, 0)), cols*size)
			continue
		}
		for j := range cols {
			report(unsafe.Pointer(m.at(i, j)), size)
		}
	}
}
