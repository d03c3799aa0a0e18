//go:build !noasm

package update

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd ../_generate && go run ./update -pkg update -out ../update/update_amd64.s -stubs ../update/stubs_amd64.go"

func kernelSets32() []*kernels[float32] {
	return []*kernels[float32]{
		goKernels[float32](),
		{
			level: cpu.AVX2, scale: scaleAVX2, sumSquares: sumSquaresAVX2,
			sgd:      [2]func(n int, param, grad *float32, minusLR, decay float32){sgdAVX2, sgdDecayAVX2},
			momentum: [2]func(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32){momentumAVX2, momentumDecayAVX2},
			nesterov: [2]func(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32){nesterovAVX2, nesterovDecayAVX2},
		},
		{
			level: cpu.AVX512, scale: scaleAVX512, sumSquares: sumSquaresAVX512,
			sgd:      [2]func(n int, param, grad *float32, minusLR, decay float32){sgdAVX512, sgdDecayAVX512},
			momentum: [2]func(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32){momentumAVX512, momentumDecayAVX512},
			nesterov: [2]func(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32){nesterovAVX512, nesterovDecayAVX512},
		},
	}
}

func kernelSets64() []*kernels[float64] {
	return []*kernels[float64]{
		goKernels[float64](),
		{
			level: cpu.AVX2, scale: scaleAVX2f64, sumSquares: sumSquaresAVX2f64,
			sgd:      [2]func(n int, param, grad *float64, minusLR, decay float64){sgdAVX2f64, sgdDecayAVX2f64},
			momentum: [2]func(n int, param, grad, buf *float64, minusLR, decay, momentum, keep float64){momentumAVX2f64, momentumDecayAVX2f64},
			nesterov: [2]func(n int, param, grad, buf *float64, minusLR, decay, momentum, keep float64){nesterovAVX2f64, nesterovDecayAVX2f64},
		},
		{
			level: cpu.AVX512, scale: scaleAVX512f64, sumSquares: sumSquaresAVX512f64,
			sgd:      [2]func(n int, param, grad *float64, minusLR, decay float64){sgdAVX512f64, sgdDecayAVX512f64},
			momentum: [2]func(n int, param, grad, buf *float64, minusLR, decay, momentum, keep float64){momentumAVX512f64, momentumDecayAVX512f64},
			nesterov: [2]func(n int, param, grad, buf *float64, minusLR, decay, momentum, keep float64){nesterovAVX512f64, nesterovDecayAVX512f64},
		},
	}
}
