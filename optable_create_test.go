package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	made := func(f func(s *ebb.Scope) T) func(*ebb.Scope, []T) []T {
		return func(s *ebb.Scope, _ []T) []T { return []T{f(s)} }
	}
	shape := ebb.Shape{2, 3}
	table.Add("create", []Case{
		{Op: "Zeros", Call: made(func(s *ebb.Scope) T { return ebb.Zeros(s, shape) }), Torch: "torch.zeros(2, 3)"},
		{Op: "Zeros", Name: "int64", Call: made(func(s *ebb.Scope) T { return ebb.Zeros(s, ebb.Shape{}, ebb.Int64) }), Torch: "torch.zeros((), dtype=torch.int64)"},
		{Op: "Ones", Call: made(func(s *ebb.Scope) T { return ebb.Ones(s, shape) }), Torch: "torch.ones(2, 3)"},
		{Op: "Ones", Name: "bool", Call: made(func(s *ebb.Scope) T { return ebb.Ones(s, shape, ebb.Bool) }), Torch: "torch.ones(2, 3, dtype=torch.bool)"},
		{Op: "Full", Call: made(func(s *ebb.Scope) T { return ebb.Full(s, shape, 2.5) }), Torch: "torch.full((2, 3), 2.5)"},
		{Op: "Full", Name: "int", Call: made(func(s *ebb.Scope) T { return ebb.Full(s, shape, -3) }), Torch: "torch.full((2, 3), -3)"},
		{Op: "Full", Name: "bool", Call: made(func(s *ebb.Scope) T { return ebb.Full(s, shape, true) }), Torch: "torch.full((2, 3), True)"},
		{Op: "Empty", Call: made(func(s *ebb.Scope) T { return ebb.Empty(s, shape).Fill_(1) }), Torch: "torch.empty(2, 3).fill_(1)"},
		{Op: "Arange", Call: made(func(s *ebb.Scope) T { return ebb.Arange(s, 2, 9, 3) }), Torch: "torch.arange(2, 9, 3)"},
		{Op: "Arange", Name: "floats down", Call: made(func(s *ebb.Scope) T { return ebb.Arange(s, 1, -0.6, -0.25) }), Torch: "torch.arange(1, -0.6, -0.25)"},
		{Op: "Arange", Name: "nothing", Call: made(func(s *ebb.Scope) T { return ebb.Arange(s, 3, 3, 1) }), Torch: "torch.arange(3, 3, 1)"},
		{Op: "FromSlice", Call: made(func(s *ebb.Scope) T { return ebb.FromSlice(s, []float64{1, 2, 3, 4}, 2, 2) }), Torch: "torch.tensor([[1., 2.], [3., 4.]], dtype=torch.float64)"},
		{Op: "FromSlice", Name: "bools", Call: made(func(s *ebb.Scope) T { return ebb.FromSlice(s, []bool{true, false, true}) }), Torch: "torch.tensor([True, False, True])"},
		{Op: "FromSliceWith", Call: made(func(s *ebb.Scope) T { return ebb.FromSliceWith(s, []float32{1, 2}, nil, ebb.RequiresGrad) }), Torch: "torch.tensor([1., 2.], requires_grad=True)"},
		{Op: "FromFunc", Call: made(func(s *ebb.Scope) T {
			x, err := ebb.FromFunc(s, ebb.Shape{2, 2}, func(data []int64) error { copy(data, []int64{4, 3, 2, 1}); return nil })
			if err != nil {
				panic(err)
			}
			return x
		}), Torch: "torch.tensor([[4, 3], [2, 1]])"},
		{Op: "Tensor.NewZeros", In: []Input{D(3)}, Call: Unary(func(x T) T { return x.NewZeros(2, 3) }), Torch: "a.new_zeros(2, 3)"},
		{Op: "Tensor.NewOnes", In: []Input{I(3)}, Call: Unary(func(x T) T { return x.NewOnes(2, 3) }), Torch: "a.new_ones(2, 3)"},
		{Op: "Tensor.NewFull", In: []Input{F(3)}, Call: Unary(func(x T) T { return x.NewFull(shape, 7) }), Torch: "a.new_full((2, 3), 7)"},
		{Op: "Tensor.NewEmpty", In: []Input{F(3)}, Call: Unary(func(x T) T { return x.NewEmpty(2, 3).Fill_(1) }), Torch: "a.new_empty(2, 3).fill_(1)"},
	})
}
