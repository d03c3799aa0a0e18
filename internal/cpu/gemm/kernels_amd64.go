//go:build !noasm

package gemm

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd _generate && go run . -pkg gemm -out ../gemm_amd64.s -stubs ../stubs_amd64.go"

func kernelSets32() []*kernels[float32] {
	return []*kernels[float32]{
		goKernels[float32](),
		{
			level: cpu.AVX2, nr: 16,
			tiles: []tileFunc[float32]{
				tile1x16AVX2, tile2x16AVX2, tile3x16AVX2, tile4x16AVX2, tile5x16AVX2, tile6x16AVX2,
			},
			columns: []tileFunc[float32]{
				columns1x16AVX2, columns2x16AVX2, columns3x16AVX2, columns4x16AVX2, columns5x16AVX2, columns6x16AVX2,
			},
			rows: []tileFunc[float32]{
				rows1x16AVX2, rows2x16AVX2, rows3x16AVX2, rows4x16AVX2, rows5x16AVX2, rows6x16AVX2,
			},
			dot4: dot4AVX2, dot1: dot1AVX2,
			transpose: []transposeFunc[float32]{transpose4AVX2, transpose8AVX2}, quad: 4,
			copyRows: copyRowsAVX2, relu: reluAVX2,
		},
		{
			level: cpu.AVX512, nr: 32,
			tiles: []tileFunc[float32]{
				tile1x32AVX512, tile2x32AVX512, tile3x32AVX512, tile4x32AVX512, tile5x32AVX512, tile6x32AVX512,
				tile7x32AVX512, tile8x32AVX512, tile9x32AVX512, tile10x32AVX512, tile11x32AVX512, tile12x32AVX512,
			},
			columns: []tileFunc[float32]{
				columns1x32AVX512, columns2x32AVX512, columns3x32AVX512, columns4x32AVX512, columns5x32AVX512, columns6x32AVX512,
				columns7x32AVX512, columns8x32AVX512, columns9x32AVX512, columns10x32AVX512, columns11x32AVX512, columns12x32AVX512,
			},
			rows: []tileFunc[float32]{
				rows1x32AVX512, rows2x32AVX512, rows3x32AVX512, rows4x32AVX512, rows5x32AVX512, rows6x32AVX512,
				rows7x32AVX512, rows8x32AVX512, rows9x32AVX512, rows10x32AVX512, rows11x32AVX512, rows12x32AVX512,
			},
			dot4: dot4AVX512, dot1: dot1AVX512,
			transpose: []transposeFunc[float32]{transpose4AVX2, transpose8AVX2, transpose12AVX512, transpose16AVX512}, quad: 4,
			copyRows: copyRowsAVX512, relu: reluAVX512,
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
			columns: []tileFunc[float64]{
				columns1x8AVX2f64, columns2x8AVX2f64, columns3x8AVX2f64, columns4x8AVX2f64, columns5x8AVX2f64, columns6x8AVX2f64,
			},
			rows: []tileFunc[float64]{
				rows1x8AVX2f64, rows2x8AVX2f64, rows3x8AVX2f64, rows4x8AVX2f64, rows5x8AVX2f64, rows6x8AVX2f64,
			},
			dot4: dot4AVX2f64, dot1: dot1AVX2f64,
			transpose: []transposeFunc[float64]{transpose2AVX2f64, transpose4AVX2f64}, quad: 2,
			copyRows: copyRowsAVX2f64, relu: reluAVX2f64,
		},
		{
			level: cpu.AVX512, nr: 16,
			tiles: []tileFunc[float64]{
				tile1x16AVX512f64, tile2x16AVX512f64, tile3x16AVX512f64, tile4x16AVX512f64, tile5x16AVX512f64, tile6x16AVX512f64,
				tile7x16AVX512f64, tile8x16AVX512f64, tile9x16AVX512f64, tile10x16AVX512f64, tile11x16AVX512f64, tile12x16AVX512f64,
			},
			columns: []tileFunc[float64]{
				columns1x16AVX512f64, columns2x16AVX512f64, columns3x16AVX512f64, columns4x16AVX512f64, columns5x16AVX512f64, columns6x16AVX512f64,
				columns7x16AVX512f64, columns8x16AVX512f64, columns9x16AVX512f64, columns10x16AVX512f64, columns11x16AVX512f64, columns12x16AVX512f64,
			},
			rows: []tileFunc[float64]{
				rows1x16AVX512f64, rows2x16AVX512f64, rows3x16AVX512f64, rows4x16AVX512f64, rows5x16AVX512f64, rows6x16AVX512f64,
				rows7x16AVX512f64, rows8x16AVX512f64, rows9x16AVX512f64, rows10x16AVX512f64, rows11x16AVX512f64, rows12x16AVX512f64,
			},
			dot4: dot4AVX512f64, dot1: dot1AVX512f64,
			transpose: []transposeFunc[float64]{transpose2AVX2f64, transpose4AVX2f64, transpose6AVX512f64, transpose8AVX512f64}, quad: 2,
			copyRows: copyRowsAVX512f64, relu: reluAVX512f64,
		},
	}
}
