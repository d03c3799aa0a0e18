//go:build !(amd64 || arm64) || noasm

package update

func kernelSets32() []*kernels[float32] { return []*kernels[float32]{goKernels[float32]()} }

func kernelSets64() []*kernels[float64] { return []*kernels[float64]{goKernels[float64]()} }
