package data

import (
	"context"

	"github.com/ebb-ml/ebb"
)

// Samples is a map-style data set: a number of samples of type S, each made by
// its index. A loader calls Sample from several goroutines at once.
type Samples[S any] interface {
	// Len returns the number of samples.
	Len() int

	// Sample returns the sample at index, from 0 to Len-1. Tensors it makes in
	// scope live until the batch has been put together.
	Sample(ctx context.Context, scope *ebb.Scope, index int) (S, error)
}

// Slice is a map-style data set of what a slice holds: paths, say.
type Slice[S any] []S

// Len returns the number of samples.
func (s Slice[S]) Len() int { return len(s) }

// Sample returns the element at index.
func (s Slice[S]) Sample(_ context.Context, _ *ebb.Scope, index int) (S, error) {
	return s[index], nil
}

// Collator puts samples together to a batch whose tensors it makes in scope. It
// does not keep the slice.
type Collator[S, B any] func(ctx context.Context, scope *ebb.Scope, samples []S) (B, error)

// Collate makes a data set of single samples and a function that puts them
// together, as the collate_fn of torch.utils.data.DataLoader. An error or panic
// of a sample becomes an [*Error] with its index.
func Collate[S, B any](rt *ebb.Runtime, samples Samples[S], collate Collator[S, B]) Dataset[B] {
	return &collated[S, B]{rt, samples, collate}
}

type collated[S, B any] struct {
	rt      *ebb.Runtime
	samples Samples[S]
	collate Collator[S, B]
}

func (c *collated[S, B]) Len() int              { return c.samples.Len() }
func (c *collated[S, B]) Runtime() *ebb.Runtime { return c.rt }

func (c *collated[S, B]) Batch(ctx context.Context, scope *ebb.Scope, indices []int64) (b B, err error) {
	at := int64(-1)
	defer func() {
		if p := recover(); p != nil {
			c.rt.MarkFailed()
			err = panicked(p, at)
		}
	}()
	below := scope.NewStaging("samples")
	defer below.Close()
	got := make([]S, len(indices))
	for i, index := range indices {
		at = index
		if err := ctx.Err(); err != nil {
			return b, err
		}
		if got[i], err = c.samples.Sample(ctx, below, int(index)); err != nil {
			return b, &Error{Sample: index, Err: err}
		}
	}
	at = -1
	return c.collate(ctx, scope, got)
}

// Sample is a sample of tensors: what a map-style data set usually has.
type Sample struct {
	Input, Target *ebb.Tensor // of the same shapes in every sample; Target may be nil
}

// StackSamples puts samples together by stacking their tensors, as PyTorch's
// default_collate. Samples of differing shapes are an [ebb.ErrShape] error.
func StackSamples(_ context.Context, scope *ebb.Scope, samples []Sample) (b Batch, err error) {
	defer ebb.Catch(&err)
	b.Scope = scope
	inputs, targets := make([]*ebb.Tensor, len(samples)), make([]*ebb.Tensor, len(samples))
	for i, s := range samples {
		inputs[i], targets[i] = s.Input, s.Target
	}
	b.Input = stack(scope, inputs)
	if len(targets) > 0 && targets[0] != nil {
		b.Target = stack(scope, targets)
	}
	return b, nil
}

// stack stacks xs in a scope of its own, so that the result can lie in scope,
// which may be older than theirs.
func stack(scope *ebb.Scope, xs []*ebb.Tensor) *ebb.Tensor {
	below := scope.NewStaging("stack")
	defer below.Close()
	if len(xs) > 0 && xs[0] != nil {
		xs[0] = xs[0].Detach().In(below)
	}
	return ebb.Stack(xs, 0).MoveTo(scope)
}
