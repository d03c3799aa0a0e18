//go:build !(amd64 || arm64) || noasm

package elementwise

import "github.com/ebb-ml/ebb/internal/cpu"

func accelerate(*kernels, cpu.SIMD) {}
