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
	if dst.DType == cpu.Float32 {
		reluMask[float32](&dst, &src, mask.Data)
	} else {
		reluMask[float64](&dst, &src, mask.Data)
	}
}

// MaskMul sets dst to g where the bit of mask is set and to 0 elsewhere, of
// floats: the gradient of torch.relu.
func MaskMul(dst, g, mask cpu.Array) {
	if dst.DType == cpu.Float32 {
		maskMul[float32](&dst, &g, mask.Data)
	} else {
		maskMul[float64](&dst, &g, mask.Data)
	}
}

// maskStep is how many elements a kernel of bit masks does at least.
const maskStep = 64

// flatMask runs k on all elements of contiguous arrays but a few at the end and
// returns how many it did.
func flatMask(k kernel, dst, src *cpu.Array, mask unsafe.Pointer) int {
	n, flat := flatLen(dst)
	if _, also := flatLen(src); !flat || !also {
		return 0
	}
	n -= n % maskStep
	tasks := max(1, n/k.least)
	if tasks == 1 {
		maskTask(k, 0, n, dst, src, mask)
		return n
	}
	d, s := *dst, *src // not dst and src, which would have to move to the heap
	cpu.Parallel(tasks, func(i int) {
		from, to := n/maskStep*i/tasks*maskStep, n/maskStep*(i+1)/tasks*maskStep
		maskTask(k, from, to, &d, &s, mask)
	})
	return n
}

func maskTask(k kernel, from, to int, dst, src *cpu.Array, mask unsafe.Pointer) {
	size := dst.DType.Size()
	d, s, b := unsafe.Add(dst.Data, from*size), unsafe.Add(src.Data, from*size), unsafe.Add(mask, from/8)
	cpu.MarkWrite(d, (to-from)*size)
	cpu.MarkRead(s, (to-from)*size)
	k.loop(to-from, d, s, b, nil, 0, 0)
}

func reluMask[T float](dst, src *cpu.Array, mask unsafe.Pointer) {
	done := flatMask(inUse.reluMask[dst.DType], dst, src, mask)
	bits := slice[uint8](mask, MaskLen(src.Len()))
	cpu.MarkWrite(mask, len(bits))
	clear(bits[done/8:])
	eachRow(*dst, *src, done, func(first, n int, d, s unsafe.Pointer, dStep, sStep int) {
		for i := range n {
			v := *(*T)(unsafe.Add(s, i*sStep))
			*(*T)(unsafe.Add(d, i*dStep)) = keepIf(v, truth(!(v < 0)))
			bits[(first+i)/8] |= truth(!(v <= 0)) << ((first + i) % 8)
		}
	})
}

// reluMaskBytes does whole bytes of the mask.
func reluMaskBytes[T float](n int, dp, sp, mask, _ unsafe.Pointer, _, _ uint64) {
	d, s, bits := slice[T](dp, n), slice[T](sp, n), slice[uint8](mask, n/8)
	for b := range bits {
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

func maskMul[T float](dst, g *cpu.Array, mask unsafe.Pointer) {
	done := flatMask(inUse.maskMul[dst.DType], dst, g, mask)
	bits := slice[uint8](mask, MaskLen(g.Len()))
	cpu.MarkRead(mask, len(bits))
	eachRow(*dst, *g, done, func(first, n int, d, s unsafe.Pointer, dStep, sStep int) {
		for i := range n {
			v := *(*T)(unsafe.Add(s, i*sStep))
			*(*T)(unsafe.Add(d, i*dStep)) = keepIf(v, bits[(first+i)/8]>>((first+i)%8)&1)
		}
	})
}

// maskMulBytes does whole bytes of the mask.
func maskMulBytes[T float](n int, dp, sp, mask, _ unsafe.Pointer, _, _ uint64) {
	d, s, bits := slice[T](dp, n), slice[T](sp, n), slice[uint8](mask, n/8)
	for i := range d {
		d[i] = keepIf(s[i], bits[i/8]>>(i%8)&1)
	}
}

// eachRow visits the rows of two arrays in row-major order, without the first
// done elements of contiguous ones: first is the row-major position of the
// row's first element, n its length, and the steps are in bytes.
func eachRow(a, b cpu.Array, done int, visit func(first, n int, a, b unsafe.Pointer, aStep, bStep int)) {
	var space [8]dim
	dims := merge(common(space[:0], []cpu.Array{a, b}))
	if len(dims) == 0 {
		return
	}
	if done > 0 {
		if rest := dims[0].n - done; rest > 0 {
			aStep, bStep := dims[0].stride[0], dims[0].stride[1]
			visit(done, rest, unsafe.Add(a.Data, done*aStep), unsafe.Add(b.Data, done*bStep), aStep, bStep)
		}
		return
	}
	last := len(dims) - 1
	row, first := dims[last], 0
	positions(dims[:last], offsets{}, func(at offsets) {
		visit(first, row.n, unsafe.Add(a.Data, at[0]), unsafe.Add(b.Data, at[1]), row.stride[0], row.stride[1])
		first += row.n
	})
}
