package data

import (
	"context"
	"fmt"
	"math"

	"github.com/ebb-ml/ebb"
)

// Subset is a data set of some of another's samples. Closing is the other's
// matter.
type Subset[B any] struct {
	set     Dataset[B]
	indices []int64
}

// NewSubset returns a data set of the samples of set that indices, which it
// keeps, names. An index out of range is a panic with [ebb.ErrIndex]. It is
// torch.utils.data.Subset.
func NewSubset[B any](set Dataset[B], indices []int64) *Subset[B] {
	n := set.Len()
	for _, i := range indices {
		if i < 0 || i >= int64(n) {
			panic(&ebb.Error{Kind: ebb.ErrIndex, Op: "Subset", Given: fmt.Sprintf("index %d of a data set of %d samples", i, n)})
		}
	}
	return &Subset[B]{set, indices}
}

// Len returns the number of samples.
func (s *Subset[B]) Len() int { return len(s.indices) }

// Runtime returns the runtime of the other data set.
func (s *Subset[B]) Runtime() *ebb.Runtime { return s.set.Runtime() }

// Batch returns the samples at the given positions of the subset. Errors name
// samples by their index in the other data set.
func (s *Subset[B]) Batch(ctx context.Context, scope *ebb.Scope, indices []int64) (B, error) {
	in := make([]int64, len(indices))
	for i, at := range indices {
		in[i] = s.indices[at]
	}
	return s.set.Batch(ctx, scope, in)
}

// RandomSplit splits set into subsets of the given lengths at random. The
// lengths must be 0 or more and add up to set's (see [Fractions]), or it is a
// panic with [ebb.ErrValue]. g draws; nil is the runtime's generator. It is
// torch.utils.data.random_split.
func RandomSplit[B any](set Dataset[B], g *ebb.Generator, lengths ...int) []*Subset[B] {
	sum := 0
	for _, n := range lengths {
		if n < 0 || n > set.Len()-sum {
			sum = -1
			break
		}
		sum += n
	}
	if sum != set.Len() {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "RandomSplit", Given: fmt.Sprintf("lengths %v for %d samples", lengths, set.Len()), Advice: "they must add up to the number of samples"})
	}
	order := make([]int64, sum)
	own(g, set.Runtime().Generator()).Randperm(order)
	subsets := make([]*Subset[B], len(lengths))
	for i, n := range lengths {
		subsets[i] = &Subset[B]{set, order[:n:n]}
		order = order[n:]
	}
	return subsets
}

// Fractions returns the lengths that the given fractions of n samples have: each
// rounded down, and what is left over dealt out one by one from the first, as
// torch.utils.data.random_split does. Fractions must be from 0 to 1 and add up
// to 1, or it is a panic with [ebb.ErrValue].
func Fractions(n int, fractions ...float64) []int {
	lengths := make([]int, len(fractions))
	sum, left := 0.0, n
	for i, f := range fractions {
		if !(f >= 0 && f <= 1) {
			sum = math.NaN()
			break
		}
		sum += f
		lengths[i] = int(math.Floor(float64(n) * f))
		left -= lengths[i]
	}
	if !(math.Abs(sum-1) <= 1e-9) {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "Fractions", Given: fmt.Sprintf("fractions %v", fractions), Advice: "each is from 0 to 1, and they add up to 1"})
	}
	for i := range left {
		lengths[i%len(lengths)]++
	}
	return lengths
}
