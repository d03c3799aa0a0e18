package data

import (
	"fmt"
	"iter"

	"github.com/ebb-ml/ebb"
)

// Sampler says in which order samples are taken.
type Sampler interface {
	// Len returns how many indices a pass over n samples takes.
	Len(n int) int

	// Indices returns the indices, each from 0 to n-1, of one pass over n
	// samples. What the sampler draws, it draws while the pass goes on, from a
	// generator of its own or, without one, from g, which is the runtime's.
	Indices(n int, g *ebb.Generator) iter.Seq[int64]
}

// SequentialSampler takes every sample in order. It is
// torch.utils.data.SequentialSampler.
type SequentialSampler struct{}

// Len returns n.
func (SequentialSampler) Len(n int) int { return n }

// Indices returns the numbers from 0 to n-1.
func (SequentialSampler) Indices(n int, _ *ebb.Generator) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range int64(n) {
			if !yield(i) {
				return
			}
		}
	}
}

// RandomSampler takes samples in random order. It is
// torch.utils.data.RandomSampler, draw by draw.
type RandomSampler struct {
	Replacement bool           // a sample can come again before all have come
	NumSamples  int            // how many; 0: as many as there are
	Generator   *ebb.Generator // nil: for each pass a new one, seeded by a draw from the runtime's
}

// Len returns NumSamples or, if that is 0, n.
func (s RandomSampler) Len(n int) int {
	if s.NumSamples > 0 && n > 0 {
		return s.NumSamples
	}
	return n
}

// chunk is how many numbers a RandomSampler with replacement draws at a time.
const chunk = 32

// Indices returns a random order.
func (s RandomSampler) Indices(n int, g *ebb.Generator) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if n == 0 {
			return
		}
		draws := s.Generator
		if draws == nil {
			draws = ebb.NewGenerator(uint64(g.Int63()))
		}
		size := n
		if s.Replacement {
			size = chunk
		}
		buf := make([]int64, size)
		// The last round may be cut short, to nothing even: PyTorch draws the
		// permutation nevertheless.
		for left := s.Len(n); ; left -= size {
			use := min(left, size)
			if s.Replacement {
				draws.Randint(buf[:use], 0, int64(n))
			} else {
				draws.Randperm(buf)
			}
			for _, i := range buf[:use] {
				if !yield(i) {
					return
				}
			}
			if use < size {
				return
			}
		}
	}
}

// SubsetRandomSampler takes the samples of Samples in random order. It is
// torch.utils.data.SubsetRandomSampler.
type SubsetRandomSampler struct {
	Samples   []int64
	Generator *ebb.Generator // nil: the runtime's
}

// Len returns the number of Samples.
func (s SubsetRandomSampler) Len(int) int { return len(s.Samples) }

// Indices returns Samples in random order.
func (s SubsetRandomSampler) Indices(_ int, g *ebb.Generator) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		order := make([]int64, len(s.Samples))
		own(s.Generator, g).Randperm(order)
		for _, i := range order {
			if !yield(s.Samples[i]) {
				return
			}
		}
	}
}

// WeightedRandomSampler takes NumSamples samples, each with a probability
// proportional to its weight. It is torch.utils.data.WeightedRandomSampler.
type WeightedRandomSampler struct {
	Weights            []float64 // one for each sample, 0 or more, need not add up to 1
	NumSamples         int
	WithoutReplacement bool           // a sample comes once at most
	Generator          *ebb.Generator // nil: the runtime's
}

// Len returns NumSamples. One below 0 is a panic with [ebb.ErrValue].
func (s WeightedRandomSampler) Len(int) int {
	if s.NumSamples < 0 {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "WeightedRandomSampler", Given: fmt.Sprintf("%d samples", s.NumSamples), Advice: "NumSamples is 0 or more"})
	}
	return s.NumSamples
}

// Indices returns the samples drawn. Weights that nothing can be drawn by are
// a panic with [ebb.ErrValue], which a loader returns as an error.
func (s WeightedRandomSampler) Indices(_ int, g *ebb.Generator) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		drawn := make([]int64, s.NumSamples)
		own(s.Generator, g).Multinomial(drawn, s.Weights, !s.WithoutReplacement)
		for _, i := range drawn {
			if !yield(i) {
				return
			}
		}
	}
}

func own(g, other *ebb.Generator) *ebb.Generator {
	if g != nil {
		return g
	}
	return other
}
