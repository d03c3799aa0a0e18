//go:build !noasm

package image

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd ../_generate && go run ./image -pkg image -out ../image/image_amd64.s -stubs ../image/stubs_amd64.go"

// lookups returns the levels' kernels, in order.
func lookups() []lookupKernel {
	return []lookupKernel{{cpu.AVX2, lookupAVX2}, {cpu.AVX512, lookupAVX512}}
}
