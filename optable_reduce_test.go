package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	big := []Input{F(1000, 777)}
	table.Add("reduce", []Case{
		{Op: "Tensor.Sum", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.Sum() }), Torch: "a.sum()", Large: big},
		{Op: "Tensor.Sum", Name: "dimensions", In: []Input{F(2, 3, 4)}, Call: Unary(func(x T) T { return x.Sum(0, -1) }), Torch: "a.sum((0, -1))"},
		{Op: "Tensor.Sum", Name: "first dimension", In: []Input{F(4, 3)}, Call: Unary(func(x T) T { return x.Sum(0) }), Torch: "a.sum(0)", Large: big},
		{Op: "Tensor.Sum", Name: "last dimension", In: []Input{F(4, 3)}, Call: Unary(func(x T) T { return x.Sum(1) }), Torch: "a.sum(1)", Large: big},
		{Op: "Tensor.Sum", Name: "number", In: []Input{F()}, Call: Unary(func(x T) T { return x.Sum() }), Torch: "a.sum()"},
		{Op: "Tensor.Sum", Name: "empty", In: []Input{F(0, 3)}, Call: Unary(func(x T) T { return x.Sum(0) }), Torch: "a.sum(0)"},
		{Op: "Tensor.Sum", Name: "int32", In: []Input{I32(2, 3)}, Call: Unary(func(x T) T { return x.Sum(1) }), Torch: "a.sum(1)"},
		{Op: "Tensor.Sum", Name: "bool", In: []Input{B(7)}, Call: Unary(func(x T) T { return x.Sum() }), Torch: "a.sum()"},
		{Op: "Tensor.Sum", Name: "special", In: []Input{F(2, 16).As(Special)}, Call: Unary(func(x T) T { return x.Sum(0) }), Torch: "a.sum(0)"},
		{Op: "Tensor.SumKeep", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.SumKeep(1) }), Torch: "a.sum(1, keepdim=True)"},
		{Op: "Tensor.SumKeep", Name: "all", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.SumKeep() }), Torch: "a.sum((0, 1), keepdim=True)"},
		{Op: "Tensor.SumTo", In: []Input{F(2, 3, 4)}, Call: Unary(func(x T) T { return x.SumTo(3, 1) }), Torch: "a.sum_to_size(3, 1)"},
		{Op: "Tensor.SumTo", Name: "a number", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.SumTo() }), Torch: "a.sum_to_size(())"},
		{Op: "Tensor.SumTo", Name: "the same shape", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.SumTo(2, 3) }), Torch: "a.sum_to_size(2, 3)"},
	})
}
