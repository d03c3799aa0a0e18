package reduce

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// VarMean sets mean to the mean of src over dims and variance to its variance,
// the sum of squared distances from the mean over (count - correction)
// (torch.var_mean; correction 1 is "unbiased"). All have one float dtype; dims
// and the outputs are as for [Reduce]. A count that is not above correction
// divides by 0: NaN, or Inf if the sum is not 0.
//
// It goes over the elements twice; the second pass also sums the distances
// themselves and corrects by what is left of them (Chan, Golub and LeVeque,
// "Algorithms for Computing the Sample Variance", 1983).
func VarMean(variance, mean, src cpu.Array, dims []int, correction float64) {
	if src.DType == cpu.Float32 {
		varMean[float32](variance, mean, src, dims, correction)
	} else {
		varMean[float64](variance, mean, src, dims, correction)
	}
}

func varMean[T float](variance, mean, src cpu.Array, dims []int, correction float64) {
	reduced, kept := split(nil, nil, dims, variance, mean, src)
	for i := range reduced {
		reduced[i].stride[0], reduced[i].stride[1] = 0, 0
	}
	reduced, kept = joined(reduced, 2), joined(kept, 2)
	n := float64(count(reduced))
	outer, inner := cut(reduced)
	var room chunk
	// below hands f all elements that one output comes from, a chunk at a time.
	below := func(at offsets, f func(c []float64)) {
		visit(outer, at, func(at offsets) {
			l := line[T]{unsafe.Add(src.Data, at[2]), inner.n, inner.stride[2]}
			for first := 0; first < l.n; first += chunkLen {
				f(l.load(&room, first))
			}
		})
	}
	visit(kept, offsets{}, func(at offsets) {
		sums := newCascade(plus[float64], 0)
		below(at, func(c []float64) { sums.add(sumRun[float64, float64](c)) })
		m := sums.total() / n
		left, squares := newCascade(plus[float64], 0), newCascade(plus[float64], 0)
		below(at, func(c []float64) {
			for i := range c {
				c[i] -= m
			}
			left.add(sumRun[float64, float64](c))
			squares.add(squareRun(c))
		})
		rest := left.total()
		*(*T)(unsafe.Add(mean.Data, at[1])) = T(m)
		*(*T)(unsafe.Add(variance.Data, at[0])) = T((squares.total() - float64(rest*rest)/n) / max(0, n-correction))
	})
}
