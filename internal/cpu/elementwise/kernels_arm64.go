//go:build !noasm

package elementwise

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

//go:generate sh -c "cd ../_generate && go run ./neon -pkg elementwise -out ../elementwise/elementwise_arm64.s -stubs ../elementwise/stubs_arm64.go"

// accelerate puts the assembly in the place of the Go loops.
func accelerate(k *kernels, _ cpu.SIMD) {
	const f32 = cpu.Float32
	replace := func(table *kernel, whole loop) { *table = inVectors(withRest(whole, table.loop)) }
	replace(&k.binary[f32][Add], addNEON)
	replace(&k.binary[f32][Sub], subNEON)
	replace(&k.binary[f32][Mul], mulNEON)
	replace(&k.binary[f32][Div], divNEON)
	replace(&k.addScaled[f32], addScaledNEON)
	replace(&k.unary[f32][ReLU], reluNEON)
	k.right[f32][Add] = inVectors(withRest(addRightNEON, numbered(add[float32])))
	k.right[f32][Sub] = inVectors(withRest(subRightNEON, numbered(sub[float32])))
	k.right[f32][Mul] = inVectors(withRest(mulRightNEON, numbered(mul[float32])))
	k.right[f32][Div] = inVectors(withRest(divRightNEON, numbered(div[float32])))
	k.unary[f32][Exp] = functionInVectors(padded(expNEON))
}

// withRest computes the elements that are less than a vector in Go, which gives
// the same bits.
func withRest(whole, rest loop) loop {
	return func(n int, d, a, b, c unsafe.Pointer, v, w uint64) {
		m := n &^ 3
		whole(m, d, a, b, c, v, w)
		if m == n {
			return
		}
		if b != nil {
			b = unsafe.Add(b, m*4)
		}
		rest(n-m, unsafe.Add(d, m*4), unsafe.Add(a, m*4), b, nil, v, w)
	}
}

// numbered makes a kernel with a number on the right of fewer than four elements.
func numbered(f func(d, a, b []float32)) loop {
	return func(n int, d, a, _, _ unsafe.Pointer, v, _ uint64) {
		x := fromBits[float32](v)
		f(slice[float32](d, n), slice[float32](a, n), []float32{x, x, x})
	}
}

// padded computes the elements that are less than a vector in one of their own,
// so that every element has the same bits wherever it is.
func padded(k loop) loop {
	return func(n int, d, a, _, _ unsafe.Pointer, v, w uint64) {
		whole := n &^ 3
		k(whole, d, a, nil, nil, v, w)
		if rest := n - whole; rest > 0 {
			x := new([4]float32)
			copy(x[:], slice[float32](unsafe.Add(a, whole*4), rest))
			k(4, unsafe.Pointer(x), unsafe.Pointer(x), nil, nil, v, w)
			copy(slice[float32](unsafe.Add(d, whole*4), rest), x[:])
		}
	}
}
