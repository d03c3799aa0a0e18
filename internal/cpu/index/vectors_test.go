package index

import (
	"math"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// Each loop of each level gives the bits of the Go loop, for every length, with its
// operands at the end of a page, and writes nothing before them.
func TestVectorsAgainstGo(t *testing.T) {
	best, _ := cpu.Level()
	for _, v := range vectorSets() {
		if v.level > best {
			continue
		}
		addAgainstGo(t, v.level, v.add32)
		addAgainstGo(t, v.level, v.add64)
		selectAgainstGo(t, v)
	}
}

func addAgainstGo[T float32 | float64](t *testing.T, level cpu.SIMD, add func(n int, d, x *T)) {
	const most = 150
	room := func() []T {
		return unsafe.Slice((*T)(arraytest.Memory(t, most*int(unsafe.Sizeof(T(0))))), most)
	}
	dst, src, want := room(), room(), make([]T, most)
	for n := 1; n <= most; n++ {
		for i := range most {
			dst[i], src[i] = T(math.Sin(float64(i+n))), T(math.Exp(float64(i%70-35)))
			if i%23 == 0 {
				src[i] = T(arraytest.Specials[(i/23+n)%len(arraytest.Specials)])
			}
		}
		copy(want, dst)
		from := most - n
		addRow[T](unsafe.Pointer(&want[from]), unsafe.Pointer(&src[from]), n, 1, 1)
		add(n, &dst[from], &src[from])
		for i, w := range want {
			if !arraytest.SameFloat(float64(dst[i]), float64(w)) {
				t.Fatalf("%v, %d elements: element %d is %v, in Go %v", level, n, i-from, dst[i], w)
			}
		}
	}
}

func selectAgainstGo(t *testing.T, v *vectors) {
	const most, height = 90, 5
	const room = 8 * most * 24
	dst, src, want := arraytest.Memory(t, room), arraytest.Memory(t, room), make([]byte, room)
	named := unsafe.Slice((*int64)(arraytest.Memory(t, 8*23)), 23)
	for i := range room {
		*(*byte)(unsafe.Add(src, i)) = byte(i*7 + i>>8)
	}
	for width := 1; width <= most; width++ {
		for _, n := range []int{1, 3, 8, 9, 23} {
			dRow, sRow := 4*(width+width%3), 4*(width+width%2)
			dLen, sLen := (n-1)*dRow+4*width, (height-1)*sRow+4*width
			idx := named[len(named)-n:]
			for i := range want {
				want[i] = arraytest.Canary
			}
			copy(unsafe.Slice((*byte)(dst), room), want)
			d, s := unsafe.Add(dst, room-dLen), unsafe.Add(src, room-sLen)
			for i := range idx {
				idx[i] = int64(i * i % height)
				copy(want[room-dLen+i*dRow:][:4*width], unsafe.Slice((*byte)(unsafe.Add(s, int(idx[i])*sRow)), 4*width))
			}
			v.selectRows(n, d, dRow, s, sRow, &idx[0], width)
			if string(want) != string(unsafe.Slice((*byte)(dst), room)) {
				t.Fatalf("%v: %d rows of %d elements differ, or others were written", v.level, n, width)
			}
		}
	}
}
