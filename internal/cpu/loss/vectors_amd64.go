//go:build !noasm

package loss

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd ../_generate && go run ./loss -pkg loss -out ../loss/loss_amd64.s -stubs ../loss/stubs_amd64.go"

// vectorSets returns the levels' loops, in order.
func vectorSets() []*vectors {
	return []*vectors{
		{cpu.AVX2, peakAVX2, sumExpAVX2, expScaleAVX2, squaredDistanceAVX2, distanceGradientAVX2},
		{cpu.AVX512, peakAVX512, sumExpAVX512, expScaleAVX512, squaredDistanceAVX512, distanceGradientAVX512},
	}
}
