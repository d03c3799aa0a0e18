package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	join := func(f func(xs []T) T) Func {
		return func(_ *ebb.Scope, in []T) []T { return []T{f(in)} }
	}
	part := func(f func(x T) []T) Func {
		return func(_ *ebb.Scope, in []T) []T { return f(in[0]) }
	}
	cat := func(dim int) Func { return join(func(xs []T) T { return ebb.Cat(xs, dim) }) }
	stack := func(dim int) Func { return join(func(xs []T) T { return ebb.Stack(xs, dim) }) }
	table.Add("join", []Case{
		{Op: "Cat", In: []Input{F(2, 3), F(1, 3), F(0, 3)}, Call: cat(0), Torch: "torch.cat([a, b, c])", Large: []Input{F(300, 100), F(200, 100), F(100, 100)}},
		{Op: "Cat", Name: "last dimension", In: []Input{F(2, 3), F(2, 2)}, Call: cat(-1), Torch: "torch.cat([a, b], -1)"},
		{Op: "Cat", Name: "promoted", In: []Input{I(2, 2), F(1, 2), B(2, 2)}, Call: cat(0), Torch: "torch.cat([a, b, c])"},
		{Op: "Cat", Name: "float64", In: []Input{F(2), D(3)}, Call: cat(0), Torch: "torch.cat([a, b])"},
		{Op: "Cat", Name: "same", In: []Input{F(2, 2), F(2, 2)}, Call: cat(1), Torch: "torch.cat([a, b], 1)"},
		{Op: "Cat", Name: "nothing between", In: []Input{F(0), F(2, 3), D(0)}, Call: cat(1), Torch: "torch.cat([a, b, c], 1)"},
		{Op: "Cat", Name: "nothing", In: []Input{F(0), F(0)}, Call: cat(0), Torch: "torch.cat([a, b])"},
		{Op: "Stack", In: []Input{F(2, 3), F(2, 3)}, Call: stack(0), Torch: "torch.stack([a, b])"},
		{Op: "Stack", Name: "last dimension", In: []Input{F(2, 3), I(2, 3)}, Call: stack(-1), Torch: "torch.stack([a, b], -1)"},
		{Op: "Stack", Name: "numbers", In: []Input{F(), F(), F()}, Call: stack(0), Torch: "torch.stack([a, b, c])"},

		{Op: "Tensor.Split", In: []Input{F(2, 5)}, Call: part(func(x T) []T { return x.Split(2, 1) }), Torch: "a.split(2, 1)"},
		{Op: "Tensor.Split", Name: "one used", In: []Input{F(5, 2)}, Call: part(func(x T) []T { return x.Split(2, 0)[1:2] }), Torch: "a.split(2)[1]"},
		{Op: "Tensor.Split", Name: "of size 0", In: []Input{F(0, 2)}, Call: part(func(x T) []T { return x.Split(0, 0) }), Torch: "a.split(0)"},
		{Op: "Tensor.SplitSizes", In: []Input{F(6, 2)}, Call: part(func(x T) []T { return x.SplitSizes([]int{1, 3, 0, 2}, 0) }), Torch: "a.split([1, 3, 0, 2])"},
		{Op: "Tensor.Chunk", In: []Input{F(2, 7)}, Call: part(func(x T) []T { return x.Chunk(3, 1) }), Torch: "a.chunk(3, 1)"},
		{Op: "Tensor.Chunk", Name: "fewer", In: []Input{F(5)}, Call: part(func(x T) []T { return x.Chunk(4, 0) }), Torch: "a.chunk(4)"},
		{Op: "Tensor.Chunk", Name: "empty", In: []Input{F(0)}, Call: part(func(x T) []T { return x.Chunk(3, 0) }), Torch: "a.chunk(3)"},
		{Op: "Tensor.Unbind", In: []Input{F(3, 2)}, Call: part(func(x T) []T { return x.Unbind(0) }), Torch: "a.unbind()"},
		{Op: "Tensor.Unbind", Name: "last dimension", In: []Input{F(3, 2)}, Call: part(func(x T) []T { return x.Unbind(-1) }), Torch: "a.unbind(-1)"},

		{Op: "Tensor.Repeat", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.Repeat(2, 1, 3) }), Torch: "a.repeat(2, 1, 3)"},
		{Op: "Tensor.Repeat", Name: "not at all", In: []Input{F(2)}, Call: Unary(func(x T) T { return x.Repeat(0) }), Torch: "a.repeat(0)"},
		{Op: "Tensor.Repeat", Name: "number", In: []Input{F()}, Call: Unary(func(x T) T { return x.Repeat(3) }), Torch: "a.repeat(3)"},
		{Op: "Tensor.Tile", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.Tile(2) }), Torch: "a.tile(2)"},
		{Op: "Tensor.Tile", Name: "int64", In: []Input{I(2)}, Call: Unary(func(x T) T { return x.Tile(2, 2) }), Torch: "a.tile(2, 2)"},
	})
}
