//go:build !noasm

package reduce

import "github.com/ebb-ml/ebb/internal/cpu"

//go:generate sh -c "cd ../_generate && go run ./reduce -pkg reduce -out ../reduce/reduce_amd64.s -stubs ../reduce/stubs_amd64.go"

// vectorSets returns the levels' loops, in order.
func vectorSets() []*vectors {
	return []*vectors{
		{
			level: cpu.AVX2, sum: sumAVX2, sumRows: sumRowsAVX2, sumSquares: sumSquaresAVX2, sum64: sumAVX2f64, dot: dotAVX2, addRows: addRowsAVX2,
			peak: peakAVX2, greatest: greatestAVX2, least: leastAVX2, indexOf: indexOfAVX2, expSum: expSumAVX2, sumExp: sumExpAVX2,
			scale: scaleAVX2, subtract: subtractAVX2, softMaxGradient: softMaxGradientAVX2,
			logSoftMaxGradient: logSoftMaxGradientAVX2,
		},
		{
			level: cpu.AVX512, sum: sumAVX512, sumRows: sumRowsAVX512, sumSquares: sumSquaresAVX512, sum64: sumAVX512f64, dot: dotAVX512,
			addRows: addRowsAVX512, peak: peakAVX512, greatest: greatestAVX512, least: leastAVX512, indexOf: indexOfAVX512,
			expSum: expSumAVX512, sumExp: sumExpAVX512, scale: scaleAVX512, subtract: subtractAVX512,
			softMaxGradient: softMaxGradientAVX512, logSoftMaxGradient: logSoftMaxGradientAVX512,
		},
	}
}
