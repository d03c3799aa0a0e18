package elementwise

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// A bit mask is a contiguous uint8 array of MaskLen elements: bit i%8 of byte
// i/8 belongs to the element at row-major position i. It is what a gradient
// needs of a float array at one bit per element.

// MaskLen returns the bytes of a bit mask for n elements.
func MaskLen(n int) int { return (n + 7) / 8 }

// ReLUMask sets dst to src limited to at least 0, of floats (torch.relu; NaN and
// -0 are unchanged), and mask to the bits of the elements that the gradient of
// torch.relu passes: all but those with src <= 0, so NaN counts. Bits beyond
// the last element are 0.
func ReLUMask(dst, mask, src cpu.Array) {
	bits := slice[uint8](mask.Data, MaskLen(src.Len()))
	clear(bits)
	if dst.DType == cpu.Float32 {
		reluMask[float32](dst, src, bits)
	} else {
		reluMask[float64](dst, src, bits)
	}
}

// MaskMul sets dst to g where the bit of mask is set and to 0 elsewhere, of
// floats: the gradient of torch.relu.
func MaskMul(dst, g, mask cpu.Array) {
	bits := slice[uint8](mask.Data, MaskLen(g.Len()))
	if dst.DType == cpu.Float32 {
		maskMul[float32](dst, g, bits)
	} else {
		maskMul[float64](dst, g, bits)
	}
}

func reluMask[T float](dst, src cpu.Array, bits []uint8) {
	eachRow(dst, src, func(first, n int, d, s unsafe.Pointer, dStep, sStep int) {
		i := 0
		if size := int(unsafe.Sizeof(T(0))); dStep == size && sStep == size && first%8 == 0 {
			i = n &^ 7
			reluMaskBytes(slice[T](d, i), slice[T](s, i), bits[first/8:])
		}
		for ; i < n; i++ {
			v := *(*T)(unsafe.Add(s, i*sStep))
			*(*T)(unsafe.Add(d, i*dStep)) = keepIf(v, truth(!(v < 0)))
			bits[(first+i)/8] |= truth(!(v <= 0)) << ((first + i) % 8)
		}
	})
}

// reluMaskBytes does whole bytes of the mask; len(d) is a multiple of 8.
func reluMaskBytes[T float](d, s []T, bits []uint8) {
	for b := range bits[:len(d)/8] {
		in, out := s[b*8:b*8+8], d[b*8:b*8+8]
		var set uint8
		for i := range 8 {
			v := in[i]
			set |= truth(!(v <= 0)) << i
			out[i] = keepIf(v, truth(!(v < 0)))
		}
		bits[b] = set
	}
}

func maskMul[T float](dst, g cpu.Array, bits []uint8) {
	eachRow(dst, g, func(first, n int, d, s unsafe.Pointer, dStep, sStep int) {
		for i := range n {
			v := *(*T)(unsafe.Add(s, i*sStep))
			*(*T)(unsafe.Add(d, i*dStep)) = keepIf(v, bits[(first+i)/8]>>((first+i)%8)&1)
		}
	})
}

// eachRow visits the rows of two arrays in row-major order: first is the
// row-major position of the row's first element, n its length, and the steps
// are in bytes.
func eachRow(a, b cpu.Array, visit func(first, n int, a, b unsafe.Pointer, aStep, bStep int)) {
	var space [8]dim
	dims := merge(common(space[:0], []cpu.Array{a, b}))
	if len(dims) == 0 {
		return
	}
	last := len(dims) - 1
	row, first := dims[last], 0
	positions(dims[:last], offsets{}, func(at offsets) {
		visit(first, row.n, unsafe.Add(a.Data, at[0]), unsafe.Add(b.Data, at[1]), row.stride[0], row.stride[1])
		first += row.n
	})
}
