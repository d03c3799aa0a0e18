package gemm

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// A reluFunc limits rows of at most a tile's columns to at least 0 and notes in
// the bits of mask, unless it is nil, which were above 0 or NaN:
//
//	for i := range rows {
//		for j := range cols {
//			v := c[i*ldc+j]
//			if v < 0 {
//				c[i*ldc+j] = 0
//			}
//			if mask != nil {
//				if j%8 == 0 {
//					mask[i*ldm+j/8] = 0
//				}
//				if !(v <= 0) {
//					mask[i*ldm+j/8] |= 1 << (j % 8)
//				}
//			}
//		}
//	}
//
// ldm counts bytes.
type reluFunc[T float] func(rows int, c *T, ldc int, mask *byte, ldm, cols int)

func goReLU[T float](rows int, c *T, ldc int, mask *byte, ldm, cols int) {
	for i := range rows {
		row := unsafe.Slice(step(c, i*ldc), cols)
		var bits byte
		for j, v := range row {
			if v < 0 {
				row[j] = 0
			}
			if !(v <= 0) {
				bits |= 1 << (j % 8)
			}
			if mask != nil && (j%8 == 7 || j == cols-1) {
				*step(mask, i*ldm+j/8) = bits
				bits = 0
			}
		}
	}
}

// limit is elementwise's relu of a whole result.
func limit(dst cpu.Array, mask *cpu.Array) {
	if mask != nil {
		elementwise.ReLUMask(dst, *mask, dst)
	} else {
		elementwise.Unary(elementwise.ReLU, dst, dst)
	}
}

// limitsTiles arranges that each tile of the result is limited to at least 0 when
// its sums are complete, while it is in the cache. It reports whether that can
// be: the result is made of tiles that nothing is added to later, in rows that
// begin with a byte of the mask, as tiles must, too.
func (r *runner[T]) limitsTiles(mask *cpu.Array) bool {
	if r.tiny || r.dots || r.scatter || r.swapped || r.bias.p != nil && !r.biasInTile() {
		return false
	}
	if mask != nil {
		if r.n%8 != 0 || r.kern.nr%8 != 0 {
			return false
		}
		r.mask, r.maskRow = mask.Data, r.n/8
	}
	r.relu = true
	return true
}

// limitTile limits the tile at i, j.
func (b *block[T]) limitTile(i, j, rows, cols int) {
	var mask *byte
	if b.mask != nil {
		mask = (*byte)(unsafe.Add(b.mask, i*b.maskRow+j/8))
	}
	b.kern.relu(rows, b.dst.at(i, j), b.dst.rs, mask, b.maskRow, cols)
}
