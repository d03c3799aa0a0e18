//go:build !noasm

package update

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

//go:generate sh -c "cd ../_generate && go run ./neon -pkg update -out ../update/update_arm64.s -stubs ../update/stubs_arm64.go"

func kernelSets32() []*kernels[float32] {
	neon := goKernels[float32]()
	neon.level = cpu.NEON
	for i, k := range []func(n int, param, grad *float32, minusLR, decay float32){sgdNEON, sgdDecayNEON} {
		rest := neon.sgd[i]
		neon.sgd[i] = func(n int, param, grad *float32, minusLR, decay float32) {
			whole := n &^ 3
			k(whole, param, grad, minusLR, decay)
			rest(n-whole, after(param, whole), after(grad, whole), minusLR, decay)
		}
	}
	whole := func(k, rest func(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32)) func(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32) {
		return func(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32) {
			m := n &^ 3
			k(m, param, grad, buf, minusLR, decay, momentum, keep)
			rest(n-m, after(param, m), after(grad, m), after(buf, m), minusLR, decay, momentum, keep)
		}
	}
	neon.momentum[0] = whole(momentumNEON, neon.momentum[0])
	neon.momentum[1] = whole(momentumDecayNEON, neon.momentum[1])
	neon.nesterov[0] = whole(nesterovNEON, neon.nesterov[0])
	neon.nesterov[1] = whole(nesterovDecayNEON, neon.nesterov[1])
	return []*kernels[float32]{goKernels[float32](), neon}
}

func kernelSets64() []*kernels[float64] { return []*kernels[float64]{goKernels[float64]()} }

func after(p *float32, n int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*n)) }
