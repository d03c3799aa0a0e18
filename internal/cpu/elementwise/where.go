package elementwise

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Where sets dst to a where cond, which is bool, is true and to b elsewhere
// (torch.where); dst, a and b have one dtype.
func Where(dst, cond, a, b cpu.Array) {
	switch dst.DType.Size() {
	case 1:
		run(choose[uint8](), dst, cond, a, b)
	case 4:
		run(choose[uint32](), dst, cond, a, b)
	default:
		run(choose[uint64](), dst, cond, a, b)
	}
}

func choose[T uint8 | uint32 | uint64]() kernel {
	return func(n int, dp, cp, ap, bp unsafe.Pointer) {
		d, cond := slice[T](dp, n), slice[uint8](cp, n)
		a, b := slice[T](ap, n), slice[T](bp, n)
		cond, a, b = cond[:len(d)], a[:len(d)], b[:len(d)]
		for i := range d {
			v, other := b[i], a[i]
			if cond[i] != 0 {
				v = other
			}
			d[i] = v
		}
	}
}
