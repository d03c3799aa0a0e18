//go:build !noasm

package index

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd ../_generate && go run ./index -pkg index -out ../index/index_amd64.s -stubs ../index/stubs_amd64.go"

// vectorSets returns the levels' loops, in order.
func vectorSets() []*vectors {
	return []*vectors{
		{level: cpu.AVX2, add32: addToAVX2, add64: addToAVX2f64, selectRows: selectRowsAVX2},
		{level: cpu.AVX512, add32: addToAVX512, add64: addToAVX512f64, selectRows: selectRowsAVX512},
	}
}
