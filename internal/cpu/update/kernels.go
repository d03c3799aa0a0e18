package update

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/fma"
)

// kernels are the loops of one processor level over elements in one piece.
type kernels[T float] struct {
	level cpu.SIMD

	// The second of each pair is with weight decay.
	sgd                [2]func(n int, param, grad *T, minusLR, decay T)
	momentum, nesterov [2]func(n int, param, grad, buf *T, minusLR, decay, momentum, keep T)

	scale func(n int, x *T, factor T)

	// sumSquares adds the squares of n elements, a multiple of 16, to sums:
	// that of element i to sums[i%16].
	sumSquares func(n int, x *T, sums *[16]float64)
}

var (
	kernels32 = cpu.Best(kernelSets32(), (*kernels[float32]).levelOf)
	kernels64 = cpu.Best(kernelSets64(), (*kernels[float64]).levelOf)
)

func (k *kernels[T]) levelOf() cpu.SIMD { return k.level }

// kernelsOf returns the kernels in use for the dtype.
func kernelsOf[T float]() *kernels[T] {
	if k, ok := any(kernels32).(*kernels[T]); ok {
		return k
	}
	return any(kernels64).(*kernels[T])
}

// goKernels are the Go versions, on which the others are modelled.
func goKernels[T float]() *kernels[T] {
	k := &kernels[T]{level: cpu.Generic, scale: goScale[T], sumSquares: goSumSquares[T]}
	for i, decays := range []bool{false, true} {
		k.sgd[i] = goSGD[T](decays)
		k.momentum[i] = goMomentum[T](decays, false)
		k.nesterov[i] = goMomentum[T](decays, true)
	}
	return k
}

func goSGD[T float](decays bool) func(n int, param, grad *T, minusLR, decay T) {
	return func(n int, param, grad *T, minusLR, decay T) {
		p, g := unsafe.Slice(param, n), unsafe.Slice(grad, n)
		for i, x := range p {
			d := g[i]
			if decays {
				d = fma.Of(float64(decay), x, d)
			}
			p[i] = fma.Of(float64(minusLR), d, x)
		}
	}
}

func goMomentum[T float](decays, nesterov bool) func(n int, param, grad, buf *T, minusLR, decay, momentum, keep T) {
	return func(n int, param, grad, buf *T, minusLR, decay, momentum, keep T) {
		p, g, m := unsafe.Slice(param, n), unsafe.Slice(grad, n), unsafe.Slice(buf, n)
		for i, x := range p {
			d := g[i]
			if decays {
				d = fma.Of(float64(decay), x, d)
			}
			b := fma.Of(float64(keep), d, T(momentum*m[i]))
			m[i] = b
			if nesterov {
				b = fma.Of(float64(momentum), b, d)
			}
			p[i] = fma.Of(float64(minusLR), b, x)
		}
	}
}

func goScale[T float](n int, x *T, factor T) {
	s := unsafe.Slice(x, n)
	for i, v := range s {
		s[i] = v * factor
	}
}

func goSumSquares[T float](n int, x *T, sums *[16]float64) {
	for v := unsafe.Slice(x, n); len(v) >= 16; v = v[16:] {
		for i := range sums {
			sums[i] += float64(float64(v[i]) * float64(v[i]))
		}
	}
}
