package elementwise

import (
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// Planes that are moved across, of every size, are those of the Go loop; nothing else
// is read, where a page ends, or written.
func TestMoveAcross(t *testing.T) {
	const most = 35
	const room = 4 * most * (most + 3)
	for _, rows := range []int{1, 2, 7, 8, 9, 16, 17, 24, 31, 32, 33, most} {
		for cols := 1; cols <= most; cols++ {
			dRow, sCol := 4*(cols+rows%4), 4*(rows+cols%3)
			dLen, sLen := (rows-1)*dRow+4*cols, (cols-1)*sCol+4*rows
			out, in := arraytest.Memory(t, room), arraytest.Memory(t, room)
			for i := range room {
				*(*byte)(unsafe.Add(out, i)) = arraytest.Canary
				*(*byte)(unsafe.Add(in, i)) = byte(i * 7 >> (i % 3))
			}
			want := make([]byte, room)
			copy(want, slice[byte](out, room))
			dst, src := view{unsafe.Add(out, room-dLen), dRow, 4}, view{unsafe.Add(in, room-sLen), 4, sCol}
			moveElements[uint32](view{unsafe.Pointer(&want[room-dLen]), dRow, 4}, src, rows, cols)
			if rows%2 == 0 {
				move(4, dst, src, rows, cols)
			} else {
				move(4, view{dst.data, dst.col, dst.row}, view{src.data, src.col, src.row}, cols, rows)
			}
			if string(want) != string(slice[byte](out, room)) {
				t.Fatalf("%d rows and %d columns: elements differ or others were written", rows, cols)
			}
		}
	}
}
