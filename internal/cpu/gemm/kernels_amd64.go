//go:build !noasm

package gemm

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd _generate && go run . -pkg gemm -out ../gemm_amd64.s -stubs ../stubs_amd64.go"

func kernelSets32() []*kernels[float32] {
	return []*kernels[float32]{
		goKernels[float32](),
		{
			level: cpu.AVX2, nr: 16,
			tiles: []tileFunc[float32]{tile1x16AVX2, tile2x16AVX2, tile3x16AVX2, tile4x16AVX2, tile5x16AVX2, tile6x16AVX2},
			dot4:  dot4AVX2, dot1: dot1AVX2,
			square: 8, transpose: transposeAVX2, copyLine: copyLineAVX2,
		},
		{
			level: cpu.AVX512, nr: 32,
			tiles: []tileFunc[float32]{
				tile1x32AVX512, tile2x32AVX512, tile3x32AVX512, tile4x32AVX512, tile5x32AVX512, tile6x32AVX512,
				tile7x32AVX512, tile8x32AVX512, tile9x32AVX512, tile10x32AVX512, tile11x32AVX512, tile12x32AVX512,
			},
			dot4: dot4AVX512, dot1: dot1AVX512,
			square: 8, transpose: transposeAVX2, copyLine: copyLineAVX2,
		},
	}
}

func kernelSets64() []*kernels[float64] {
	return []*kernels[float64]{
		goKernels[float64](),
		{
			level: cpu.AVX2, nr: 8,
			tiles: []tileFunc[float64]{
				tile1x8AVX2f64, tile2x8AVX2f64, tile3x8AVX2f64, tile4x8AVX2f64, tile5x8AVX2f64, tile6x8AVX2f64,
			},
			dot4: dot4AVX2f64, dot1: dot1AVX2f64,
			square: 4, transpose: transposeAVX2f64, copyLine: copyLineAVX2f64,
		},
		{
			level: cpu.AVX512, nr: 16,
			tiles: []tileFunc[float64]{
				tile1x16AVX512f64, tile2x16AVX512f64, tile3x16AVX512f64, tile4x16AVX512f64, tile5x16AVX512f64, tile6x16AVX512f64,
				tile7x16AVX512f64, tile8x16AVX512f64, tile9x16AVX512f64, tile10x16AVX512f64, tile11x16AVX512f64, tile12x16AVX512f64,
			},
			dot4: dot4AVX512f64, dot1: dot1AVX512f64,
			square: 4, transpose: transposeAVX2f64, copyLine: copyLineAVX2f64,
		},
	}
}
