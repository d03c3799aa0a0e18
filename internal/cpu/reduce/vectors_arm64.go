//go:build !noasm

package reduce

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

//go:generate sh -c "cd ../_generate && go run ./neon -pkg reduce -out ../reduce/reduce_arm64.s -stubs ../reduce/stubs_arm64.go"

func vectorSets() []*vectors { return []*vectors{{level: cpu.NEON, sum: sum}} }

// sum is sumFloat32.
func sum(n int, p *float32) float64 {
	var sums [16]float64
	x := unsafe.Slice(p, n)
	whole := n &^ (len(lanes{}) - 1)
	if whole > 0 {
		sumNEON(whole, p, &sums)
	}
	if whole < n {
		var rest lanes
		copy(rest[:], x[whole:])
		sumNEON(len(rest), &rest[0], &sums)
	}
	return totalOf(&sums)
}
