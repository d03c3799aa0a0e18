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
	return &TensorDataset{input, target}
}

// Len returns the number of samples.
func (d *TensorDataset) Len() int { return d.input.Size(0) }

// Runtime returns the runtime of the tensors.
func (d *TensorDataset) Runtime() *ebb.Runtime { return d.input.Store().Runtime() }

// Batch returns copies of the samples of the given indices.
func (d *TensorDataset) Batch(_ context.Context, scope *ebb.Scope, indices []int64) (b Batch, err error) {
	defer ebb.Catch(&err)
	b.Scope = scope
	b.Input = rows(scope, d.input, indices)
	if d.target != nil {
		b.Target = rows(scope, d.target, indices)
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

// rows returns a copy of the given rows of x, in scope.
func rows(scope *ebb.Scope, x *ebb.Tensor, indices []int64) *ebb.Tensor {
	shape := append(ebb.Shape{len(indices)}, x.Shape()[1:]...)
	switch x.DType() {
	case ebb.Float32:
		return rowsOf[float32](scope, x, shape, indices)
	case ebb.Float64:
		return rowsOf[float64](scope, x, shape, indices)
	case ebb.Int64:
		return rowsOf[int64](scope, x, shape, indices)
	case ebb.Int32:
		return rowsOf[int32](scope, x, shape, indices)
	case ebb.Uint8:
		return rowsOf[uint8](scope, x, shape, indices)
	}
	return rowsOf[bool](scope, x, shape, indices)
}

func rowsOf[T ebb.Element](scope *ebb.Scope, x *ebb.Tensor, shape ebb.Shape, indices []int64) *ebb.Tensor {
	n, size := int64(x.Size(0)), 1
	for _, d := range shape[1:] {
		size *= d
	}
	y, err := ebb.FromFunc(scope, shape, func(dst []T) (err error) {
		ebb.Read(x, func(src []T) {
			for i, row := range indices {
				if uint64(row) >= uint64(n) {
					err = &ebb.Error{Kind: ebb.ErrIndex, Op: "TensorDataset", Given: fmt.Sprintf("sample %d of a data set of %d", row, n)}
					return
				}
				copy(dst[i*size:(i+1)*size], src[int(row)*size:])
			}
		})
		return err
	}, ebb.Input)
	if err != nil {
		panic(err)
	}
	return y
}
