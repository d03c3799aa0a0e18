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
