package random

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A WeightsError is the error of [Multinomial] for weights that nothing can be
// drawn by.
type WeightsError struct {
	Index      int     // of the first weight that is negative, infinite or NaN, or -1
	Weight     float64 // that weight, or the sum of all if Index is -1
	Draws      int     // how many were to be drawn
	Categories int     // the number of weights
}

// Error says what is wrong.
func (e *WeightsError) Error() string {
	switch {
	case e.Index >= 0:
		return fmt.Sprintf("random: weight %d is %v: weights must be finite and not negative", e.Index, e.Weight)
	case e.Draws > e.Categories && e.Weight > 0:
		return fmt.Sprintf("random: cannot draw %d of %d categories without replacement", e.Draws, e.Categories)
	}
	return fmt.Sprintf("random: the %d weights add up to %v: their sum must be positive and finite", e.Categories, e.Weight)
}

// Multinomial fills dst with indices into weights, each drawn with a probability
// proportional to its weight, as torch.multinomial(weights, len(dst),
// replacement). For a matrix of weights PyTorch draws row by row: call it for
// each.
//
// With replacement each draw takes 64 bits of the stream, and is looked up in the
// cumulative sum of the weights in T. Without, each weight takes 64 bits: it is
// divided by a number of the exponential distribution, and the indices of the
// largest quotients are taken, largest first. Once the positive weights are used
// up, those of weight zero follow in their order (in PyTorch's case in no order
// it promises).
//
// The error is a *[WeightsError]: a weight is negative or not finite, all are
// zero, or more are to be drawn without replacement than there are. Then nothing
// is drawn.
func Multinomial[T Float](s *Source, dst []int64, weights []T, replacement bool) error {
	fail := &WeightsError{Index: -1, Draws: len(dst), Categories: len(weights)}
	var sum T
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(float64(w), 1) {
			fail.Index, fail.Weight = i, float64(w)
			return fail
		}
		sum += w
	}
	fail.Weight = float64(sum)
	if !(sum > 0) || math.IsInf(float64(sum), 1) || !replacement && len(dst) > len(weights) {
		return fail
	}
	if replacement {
		drawMany(s, dst, weights, sum)
	} else {
		drawDistinct(s, dst, weights)
	}
	return nil
}

func drawMany[T Float](s *Source, dst []int64, weights []T, sum T) {
	bounds := make([]T, len(weights))
	var to T
	for i, w := range weights {
		to += w
		bounds[i] = to / sum
	}
	bounds[len(bounds)-1] = 1
	for i := range dst {
		j, _ := slices.BinarySearchFunc(bounds, s.float64(), func(bound T, u float64) int {
			return cmp.Compare(float64(bound), u)
		})
		dst[i] = int64(j)
	}
}

func drawDistinct[T Float](s *Source, dst []int64, weights []T) {
	keys := make([]T, len(weights))
	order := make([]int64, len(weights))
	for i, w := range weights {
		keys[i] = w / T(-math.Log1p(-s.float64()))
		order[i] = int64(i)
	}
	slices.SortStableFunc(order, func(i, j int64) int { return cmp.Compare(keys[j], keys[i]) })
	copy(dst, order)
}
