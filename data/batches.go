package data

import (
	"fmt"
	"iter"

	"github.com/ebb-ml/ebb"
)

// BatchSampler says which samples make a batch together.
type BatchSampler interface {
	// Len returns how many batches a pass over n samples has.
	Len(n int) int

	// Batches returns the indices of each batch of one pass. The loader copies
	// them, so a slice may be used again for the next batch. For g see
	// [Sampler].
	Batches(n int, g *ebb.Generator) iter.Seq[[]int64]
}

// FixedBatches takes the samples of a [Sampler] Size at a time. It is
// torch.utils.data.BatchSampler.
type FixedBatches struct {
	Sampler  Sampler
	Size     int  // samples of a batch, 1 or more
	DropLast bool // leave out the last batch if it has fewer
}

// Len returns the number of batches. A Size below 1 is a panic with
// [ebb.ErrValue].
func (b FixedBatches) Len(n int) int {
	if b.Size < 1 {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "loader", Given: fmt.Sprintf("batches of %d samples", b.Size), Advice: "a batch has 1 sample or more"})
	}
	n = b.Sampler.Len(n)
	if n%b.Size > 0 && !b.DropLast {
		return n/b.Size + 1
	}
	return n / b.Size
}

// Batches returns the batches' indices.
func (b FixedBatches) Batches(n int, g *ebb.Generator) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		batch := make([]int64, 0, min(b.Size, b.Sampler.Len(n)))
		for i := range b.Sampler.Indices(n, g) {
			if batch = append(batch, i); len(batch) == b.Size {
				if !yield(batch) {
					return
				}
				batch = batch[:0]
			}
		}
		if len(batch) > 0 && !b.DropLast {
			yield(batch)
		}
	}
}
