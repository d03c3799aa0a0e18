package data

import (
	"context"
	"fmt"

	"github.com/ebb-ml/ebb"
)

// TensorDataset is a data set of tensors that agree in their first dimension:
// the samples. It is torch.utils.data.TensorDataset of one or two tensors.
type TensorDataset struct {
	input, target *ebb.Tensor
}

// NewTensorDataset returns a data set of input and, if not nil, target, both in
// stores and of one runtime. Their first dimensions must agree, or it is a
// panic with [ebb.ErrShape]. The data set owns them: Close closes their stores.
func NewTensorDataset(input, target *ebb.Tensor) *TensorDataset {
	const op = "TensorDataset"
	if input == nil {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: op, Given: "the input is nil"})
	}
	for _, t := range []*ebb.Tensor{input, target} {
		if t == nil {
			continue
		}
		e := &ebb.Error{Op: op, Shapes: [][]int{t.Shape()}, DTypes: []ebb.DType{t.DType()}}
		switch {
		case t.Dim() == 0:
			e.Kind, e.Given = ebb.ErrShape, "a tensor without dimensions has no samples"
		case t.Store() == nil:
			e.Kind, e.Given, e.Advice = ebb.ErrOutward, "a tensor of a scope would die with it", "MoveTo a store first"
		case t.Size(0) != input.Size(0):
			e.Kind, e.Given, e.Advice = ebb.ErrShape, fmt.Sprintf("%d inputs and %d targets", input.Size(0), t.Size(0)), "the first dimensions must agree"
		default:
			continue
		}
		panic(e)
	}
	d := &TensorDataset{input: input.Detach()}
	if target != nil {
		d.target = target.Detach()
	}
	return d
}

// Len returns the number of samples.
func (d *TensorDataset) Len() int { return d.input.Size(0) }

// Runtime returns the runtime of the tensors.
func (d *TensorDataset) Runtime() *ebb.Runtime { return d.input.Store().Runtime() }

// Batch returns copies of the samples of the given indices, without graph.
func (d *TensorDataset) Batch(_ context.Context, scope *ebb.Scope, indices []int64) (b Batch, err error) {
	defer ebb.Catch(&err)
	at := ebb.FromSliceWith(scope, indices, nil, ebb.Input)
	b.Scope = scope
	b.Input = d.input.In(scope).IndexSelect(0, at)
	if d.target != nil {
		b.Target = d.target.In(scope).IndexSelect(0, at)
	}
	return b, nil
}

// Close closes the stores that the tensors live in. Closing twice does nothing.
func (d *TensorDataset) Close() {
	d.input.Store().Close()
	if d.target != nil {
		d.target.Store().Close()
	}
}
