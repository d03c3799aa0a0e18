//go:build !noasm

package update

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd _generate && go run . -pkg update -out ../update_amd64.s -stubs ../stubs_amd64.go"

func kernelSets32() []*kernels[float32] {
	avx2 := &kernels[float32]{level: cpu.AVX2, lanes: 8, sumSquares: sumSquaresAVX2}
	avx2.sgd[0], avx2.sgd[1] = sgdAVX2, sgdDecayAVX2
	avx2.momentum[0], avx2.momentum[1] = sgdMomentumAVX2, sgdMomentumDecayAVX2
	avx2.nesterov[0], avx2.nesterov[1] = sgdNesterovAVX2, sgdNesterovDecayAVX2
	return []*kernels[float32]{goKernels[float32](), avx2}
}

func kernelSets64() []*kernels[float64] {
	avx2 := &kernels[float64]{level: cpu.AVX2, lanes: 4, sumSquares: sumSquaresAVX2f64}
	avx2.sgd[0], avx2.sgd[1] = sgdAVX2f64, sgdDecayAVX2f64
	avx2.momentum[0], avx2.momentum[1] = sgdMomentumAVX2f64, sgdMomentumDecayAVX2f64
	avx2.nesterov[0], avx2.nesterov[1] = sgdNesterovAVX2f64, sgdNesterovDecayAVX2f64
	return []*kernels[float64]{goKernels[float64](), avx2}
}
