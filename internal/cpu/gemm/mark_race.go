//go:build race

package gemm

import (
	"runtime"
	"unsafe"
)

// mark tells the race detector, which does not see into assembly, what the
// block reads and writes.
func (b *block[T]) mark() {
	mark(b.a, b.m, b.k, runtime.RaceReadRange)
	mark(b.b, b.k, b.n, runtime.RaceReadRange)
	mark(b.dst, b.m, b.n, runtime.RaceWriteRange)
	if b.bias.p != nil {
		mark(b.bias, b.m, b.n, runtime.RaceReadRange)
	}
	if b.mask != nil {
		for i := range b.m {
			runtime.RaceWriteRange(unsafe.Add(b.mask, i*b.maskRow), (b.n+7)/8)
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
