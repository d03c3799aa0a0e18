// Package data has data sets and the loader that makes batches of them, as
// torch.utils.data.
//
//	set := data.NewTensorDataset(x, y)
//	loader := data.NewLoader(set, data.BatchSize(10))
//	for batch, err := range loader.Batches(ctx) {
//		if err != nil {
//			return err
//		}
//		... // batch.Input, batch.Target
//	}
//	loader.Close()
//	set.Close()
//
// Each batch lies in a scope of its own, which opens when the batch is handed
// over and closes when the loop goes on; everything computed from the batch
// goes with it. [ebb.Tensor.MoveTo] takes a tensor out.
//
// # Data sets
//
// A [Dataset] gathers samples into batches of a type of its own, usually
// [Batch]. [TensorDataset] has its samples in tensors. [Collate] makes a
// Dataset of any [Samples] (a map-style data set: a number of samples, and one
// by its index) and a function that puts samples together. [Subset],
// [RandomSplit] and [Concat] make data sets of others.
//
// # Draws
//
// The order is PyTorch's: a pass of a loader draws one int64 from the loader's
// generator, shuffled or not, before anything else; a [RandomSampler] without a
// generator of its own then draws the seed of one.
package data

import (
	"context"

	"github.com/ebb-ml/ebb"
)

// Dataset is a data set whose samples can be gathered into batches of type B.
// A loader calls Batch from several goroutines at once.
type Dataset[B any] interface {
	// Len returns the number of samples.
	Len() int

	// Runtime returns the runtime that batches are made in.
	Runtime() *ebb.Runtime

	// Batch returns the samples of the given indices, each from 0 to Len-1, in
	// their order, with tensors made in scope. It does not keep indices. The
	// same indices give the same batch whenever and wherever it runs. When ctx
	// ends, which it does when a loop is left too, Batch returns soon: the loop
	// waits for it.
	Batch(ctx context.Context, scope *ebb.Scope, indices []int64) (B, error)
}

// Batch is what a loader hands over: samples and what is wanted for them.
type Batch struct {
	Input  *ebb.Tensor // [N, ...]
	Target *ebb.Tensor // [N, ...]; nil if the data set has none
	Scope  *ebb.Scope  // where both lie
}

// NoGrad given to [Loader.Batches] makes scopes that record no graph.
const NoGrad = ebb.NoGrad
