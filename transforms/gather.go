package transforms

import (
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/cpu/image"
)

// Gather returns, in scope, the images of the given indices, transformed: what
// a data set of images does for a batch. images are bytes of shape [N, H, W] or
// [N, H, W, C], contiguous, in a store; a nil t is none. An index out of range
// is a panic with [ebb.ErrIndex].
func Gather(scope *ebb.Scope, images *ebb.Tensor, indices []int64, t Transform) *ebb.Tensor {
	n := int64(images.Size(0))
	for _, i := range indices {
		if i < 0 || i >= n {
			panic(&ebb.Error{Kind: ebb.ErrIndex, Op: "Gather", Given: fmt.Sprintf("image %d of %d", i, n)})
		}
	}
	var steps compose
	switch t := t.(type) {
	case nil:
	case compose:
		steps = t
	default:
		steps = compose{t}
	}
	if len(steps) == 0 {
		return rows(scope, images, indices)
	}
	if _, ok := steps[0].(toTensor); !ok || !images.IsContiguous() {
		return steps.Apply(rows(scope, images, indices))
	}
	shape := planes(images).Shape()
	tables := make([]image.Table, shape[1])
	steps = tabulate(tables, steps, shape)
	pixels := shape[2] * shape[3]
	y, err := ebb.FromFunc(scope, ebb.Shape{len(indices), shape[1], shape[2], shape[3]}, func(dst []float32) error {
		ebb.Read(images, func(src []uint8) { image.Gather(dst, src, indices, pixels, tables) })
		return nil
	}, ebb.Input)
	if err != nil {
		panic(err) // the function returns none
	}
	return steps.Apply(y)
}

// tabulate fills a table for each channel with ToTensor, the first of steps, and
// each Normalize right after it, and returns the steps that are left.
func tabulate(tables []image.Table, steps compose, shape []int) compose {
	for c := range tables {
		for b := range tables[c] {
			tables[c][b] = float32(b) / 255
		}
	}
	for steps = steps[1:]; len(steps) > 0; steps = steps[1:] {
		n, ok := steps[0].(normalize)
		if !ok {
			break
		}
		n.check(shape)
		for c := range tables {
			k := c % len(n.mean)
			mean, std := float32(n.mean[k]), float32(n.std[k])
			for b := range tables[c] {
				tables[c][b] = (tables[c][b] - mean) / std
			}
		}
	}
	return steps
}

// rows returns copies of the images of the given indices.
func rows(scope *ebb.Scope, images *ebb.Tensor, indices []int64) *ebb.Tensor {
	return images.Detach().In(scope).IndexSelect(0, ebb.FromSliceWith(scope, indices, nil, ebb.Input))
}
