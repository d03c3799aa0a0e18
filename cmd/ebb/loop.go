package main

import (
	"context"
	"fmt"
	"math"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
)

// train goes through the loader's batches, epoch by epoch: step trains on one and
// returns its loss, and evaluate, unless it is nil, the accuracy after an epoch
// or what there was of it. A cancelled context ends it between two steps, without
// an error.
func (j *job) train(ctx context.Context, loader *data.Loader[data.Batch], step func(b data.Batch) *ebb.Tensor, evaluate func() (float64, error)) error {
	total := math.MaxInt
	if batches := loader.Len(); batches == 0 || j.epochs <= math.MaxInt/batches {
		total = j.epochs * batches
	}
	if j.steps > 0 {
		total = min(total, j.steps)
	}
	j.progress.start(total)
	n := 0
	for epoch := range j.epochs {
		sum, first := 0.0, n
		for b, err := range loader.Batches(ctx) {
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			j.markStep(n)
			loss := float32(step(b).Item())
			if err := j.metrics.step(epoch, n, loss); err != nil {
				return err
			}
			j.curve.add(loss)
			sum += float64(loss)
			n++
			j.progress.step(n, loss, b.Input.Size(0))
			if n == j.steps {
				break
			}
		}
		if ctx.Err() != nil || n == first { // stopped, or no data
			return nil
		}
		line := fmt.Sprintf("epoch %d of %d: loss %.6f", epoch+1, j.epochs, sum/float64(n-first))
		if evaluate != nil {
			share, err := evaluate()
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				err = j.metrics.accuracy(epoch, share)
			}
			if err != nil {
				return err
			}
			j.curve.evaluated(n, share)
			j.progress.evaluated(share)
			line += fmt.Sprintf(", accuracy %.4f", share)
		}
		j.progress.say(line)
		if n == j.steps {
			return nil
		}
	}
	return nil
}
