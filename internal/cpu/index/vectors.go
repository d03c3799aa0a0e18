package index

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// vectors are the loops of one processor level over elements side by side: the
// comments of the assembly say what each computes.
type vectors struct {
	level cpu.SIMD
	add32 func(n int, d, x *float32)
	add64 func(n int, d, x *float64)

	selectRows func(n int, d unsafe.Pointer, dRow int, s unsafe.Pointer, sRow int, idx *int64, width int)
}

// inUse are the loops of the processor's level, nil if there are none but
// those in Go.
var inUse = cpu.Best(vectorSets(), func(v *vectors) cpu.SIMD { return v.level })

// longRun is the most elements that go to a loop in assembly at once, which
// cannot be interrupted: some ten microseconds.
const longRun = 1 << 15

// addFloat32 and addFloat64 are addRow.

func addFloat32(dst, src unsafe.Pointer, n, dstStep, srcStep int) {
	if inUse == nil || dstStep != 1 || srcStep != 1 {
		addRow[float32](dst, src, n, dstStep, srcStep)
		return
	}
	addRuns(inUse.add32, dst, src, n)
}

func addFloat64(dst, src unsafe.Pointer, n, dstStep, srcStep int) {
	if inUse == nil || dstStep != 1 || srcStep != 1 {
		addRow[float64](dst, src, n, dstStep, srcStep)
		return
	}
	addRuns(inUse.add64, dst, src, n)
}

func addRuns[T float32 | float64](add func(n int, d, x *T), dst, src unsafe.Pointer, n int) {
	size := int(unsafe.Sizeof(*new(T)))
	cpu.MarkWrite(dst, n*size)
	cpu.MarkRead(src, n*size)
	for i := 0; i < n; i += longRun {
		add(min(longRun, n-i), at[T](dst, i), at[T](src, i))
	}
}

// selectInVectors copies the rows in src that n indices name to dst, strides in bytes,
// and reports whether it can.
func selectInVectors(dst unsafe.Pointer, dRow int, src unsafe.Pointer, sRow int, idx *int64, n, rowBytes int) bool {
	if inUse == nil || rowBytes%4 != 0 || rowBytes > longRun*4 {
		return false
	}
	if cpu.Race {
		for i, row := range unsafe.Slice(idx, n) {
			cpu.MarkRead(unsafe.Add(src, int(row)*sRow), rowBytes)
			cpu.MarkWrite(unsafe.Add(dst, i*dRow), rowBytes)
		}
	}
	rows := longRun * 4 / rowBytes // in one call
	for i := 0; i < n; i += rows {
		inUse.selectRows(min(rows, n-i), unsafe.Add(dst, i*dRow), dRow, src, sRow, at[int64](unsafe.Pointer(idx), i), rowBytes/4)
	}
	return true
}
