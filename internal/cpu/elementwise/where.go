package elementwise

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Where sets dst to a where cond, which is bool, is true and to b elsewhere
// (torch.where); dst, a and b have one dtype.
func Where(dst, cond, a, b cpu.Array) {
	run3(inUse.where[dst.DType.Size()], &dst, &cond, &a, &b, 0)
}

func choose[T uint8 | uint32 | uint64](n int, dp, cp, ap, bp unsafe.Pointer, _, _ uint64) {
	d, cond := slice[T](dp, n), slice[uint8](cp, n)
	a, b := slice[T](ap, n), slice[T](bp, n)
	for i := range d {
		v, other := b[i], a[i]
		if cond[i] != 0 {
			v = other
		}
		d[i] = v
	}
}
