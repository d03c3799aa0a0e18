//go:build !noasm

package reduce

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

//go:generate sh -c "cd ../_generate && go run ./neon -pkg reduce -out ../reduce/reduce_arm64.s -stubs ../reduce/stubs_arm64.go"

func vectorSets() []*vectors { return []*vectors{{level: cpu.NEON, sum: sum}} }

// sum is sumNEON of any number of elements.
func sum(n int, x *float32) float64 {
	whole := n &^ 3
	return sumNEON(whole, x) + sumRun[float32, float64](unsafe.Slice(x, n)[whole:])
}
