package data

import (
	"context"
	"fmt"

	"github.com/ebb-ml/ebb"
)

// ConcatDataset is a data set of the samples of several, one after another.
// Closing is theirs.
type ConcatDataset struct {
	sets []Dataset[Batch]
	ends []int64 // index after the last sample of each
}

// Concat returns a data set of the samples of sets, one or more of one runtime,
// whose samples must have the same shapes and types. It is
// torch.utils.data.ConcatDataset.
func Concat(sets ...Dataset[Batch]) *ConcatDataset {
	if len(sets) == 0 {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "Concat", Given: "no data sets"})
	}
	c := &ConcatDataset{sets: sets}
	end := int64(0)
	for _, s := range sets {
		end += int64(s.Len())
		c.ends = append(c.ends, end)
	}
	return c
}

// Len returns the number of samples.
func (c *ConcatDataset) Len() int { return int(c.ends[len(c.ends)-1]) }

// Runtime returns the runtime of the data sets.
func (c *ConcatDataset) Runtime() *ebb.Runtime { return c.sets[0].Runtime() }

// Batch returns the samples of the given indices. Errors name samples by their
// index in their own data set.
func (c *ConcatDataset) Batch(ctx context.Context, scope *ebb.Scope, indices []int64) (b Batch, err error) {
	defer ebb.Catch(&err)
	// What each set is asked for, and where in the parts, one after another, the
	// sample of each index will lie.
	asked := make([][]int64, len(c.sets))
	from := make([]int, len(indices))
	for i, index := range indices {
		k, start := 0, int64(0)
		for index >= c.ends[k] {
			start = c.ends[k]
			k++
		}
		from[i] = k
		asked[k] = append(asked[k], index-start)
	}
	places, n := make([]int64, len(c.sets)), int64(0)
	for k := range asked {
		if len(asked[k]) == len(indices) {
			return c.sets[k].Batch(ctx, scope, asked[k])
		}
		places[k] = n
		n += int64(len(asked[k]))
	}
	below := scope.NewStaging("parts")
	defer below.Close()
	var inputs, targets []*ebb.Tensor
	for k := range asked {
		if len(asked[k]) == 0 {
			continue
		}
		part, err := c.sets[k].Batch(ctx, below, asked[k])
		if err != nil {
			return Batch{}, fmt.Errorf("data set %d: %w", k, err)
		}
		inputs, targets = append(inputs, part.Input), append(targets, part.Target)
	}
	order := make([]int64, len(indices))
	for i, k := range from {
		order[i] = places[k]
		places[k]++
	}
	at := ebb.FromSlice(below, order)
	b.Scope = scope
	b.Input = ebb.Cat(inputs, 0).IndexSelect(0, at).MoveTo(scope)
	if targets[0] != nil {
		b.Target = ebb.Cat(targets, 0).IndexSelect(0, at).MoveTo(scope)
	}
	return b, nil
}
