//go:build !noasm

package machine

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// The loops are in loops_amd64.s. fma* do steps times so many independent
// multiply-adds; the others go through memory once, NT writing past the caches.

//go:noescape
func fmaAVX2(steps int)

//go:noescape
func fmaAVX512(steps int)

//go:noescape
func readAVX2(p unsafe.Pointer, n int)

//go:noescape
func copyAVX2(dst, a unsafe.Pointer, n int)

//go:noescape
func copyAVX2NT(dst, a unsafe.Pointer, n int)

//go:noescape
func addAVX2(dst, a, b unsafe.Pointer, n int)

//go:noescape
func addAVX2NT(dst, a, b unsafe.Pointer, n int)

//go:noescape
func readAVX512(p unsafe.Pointer, n int)

//go:noescape
func copyAVX512(dst, a unsafe.Pointer, n int)

//go:noescape
func copyAVX512NT(dst, a unsafe.Pointer, n int)

//go:noescape
func addAVX512(dst, a, b unsafe.Pointer, n int)

//go:noescape
func addAVX512NT(dst, a, b unsafe.Pointer, n int)

// fmaLoop returns the processor's loop of multiply-adds and the operations of
// one of its steps.
func fmaLoop() (loop func(steps int), flops float64) {
	switch level, _ := cpu.Level(); level {
	case cpu.AVX512:
		return fmaAVX512, 24 * 16 * 2
	case cpu.AVX2:
		return fmaAVX2, 14 * 8 * 2
	}
	return nil, 0
}

func movers() []mover {
	switch level, _ := cpu.Level(); level {
	case cpu.AVX512:
		return []mover{{readAVX512, copyAVX512, addAVX512}, {readAVX512, copyAVX512NT, addAVX512NT}}
	case cpu.AVX2:
		return []mover{{readAVX2, copyAVX2, addAVX2}, {readAVX2, copyAVX2NT, addAVX2NT}}
	}
	return []mover{goMover}
}
