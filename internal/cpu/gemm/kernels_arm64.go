//go:build !noasm

package gemm

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd _generate && go run ./neon -out ../gemm_arm64.s -stubs ../stubs_arm64.go"

func kernelSets32() []*kernels[float32] {
	neon := goKernels[float32]()
	neon.level, neon.nr, neon.wholeTiles = cpu.NEON, 12, true
	neon.tiles = []tileFunc[float32]{
		tile1x12NEON, tile2x12NEON, tile3x12NEON, tile4x12NEON, tile5x12NEON, tile6x12NEON, tile7x12NEON, tile8x12NEON,
	}
	neon.columns, neon.rows = neon.tiles, neon.tiles
	return []*kernels[float32]{goKernels[float32](), neon}
}

func kernelSets64() []*kernels[float64] {
	neon := goKernels[float64]()
	neon.level, neon.nr, neon.wholeTiles = cpu.NEON, 6, true
	neon.tiles = []tileFunc[float64]{
		tile1x6NEONf64, tile2x6NEONf64, tile3x6NEONf64, tile4x6NEONf64, tile5x6NEONf64, tile6x6NEONf64, tile7x6NEONf64, tile8x6NEONf64,
	}
	neon.columns, neon.rows = neon.tiles, neon.tiles
	return []*kernels[float64]{goKernels[float64](), neon}
}
