package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	i := I(4).Of(2, 0, 2, 1)
	i32 := I32(4).Of(2, 0, 2, 1)
	at := I(2, 3).Of(0, 2, 1, 2, 2, 0)
	square := I(3, 3).Of(0, 2, 1, 2, 2, 0, 1, 1, 1)
	wide := I(1000).As(Below(1000))
	table.Add("index", []Case{
		{Op: "Tensor.IndexSelect", In: []Input{F(3, 2), i}, Call: Binary(func(x, i T) T { return x.IndexSelect(0, i) }), Torch: "a.index_select(0, b)", Saved: "b",
			Large: []Input{F(1000, 300), wide}},
		{Op: "Tensor.IndexSelect", Name: "last dimension", In: []Input{D(2, 3), i32}, Call: Binary(func(x, i T) T { return x.IndexSelect(-1, i) }), Torch: "a.index_select(-1, b)", Saved: "b"},
		{Op: "Tensor.IndexSelect", Name: "one", In: []Input{F(3), I().Of(1)}, Call: Binary(func(x, i T) T { return x.IndexSelect(0, i) }), Torch: "a.index_select(0, b)", Saved: "b"},
		{Op: "Tensor.IndexSelect", Name: "none", In: []Input{F(3, 2), I(0)}, Call: Binary(func(x, i T) T { return x.IndexSelect(0, i) }), Torch: "a.index_select(0, b)"},
		{Op: "Tensor.IndexSelect", Name: "bool", In: []Input{B(3, 2), i}, Call: Binary(func(x, i T) T { return x.IndexSelect(0, i) }), Torch: "a.index_select(0, b)"},

		{Op: "Tensor.IndexAdd", In: []Input{F(3, 2), i, F(4, 2)}, Call: Ternary(func(x, i, y T) T { return x.IndexAdd(0, i, y) }), Torch: "a.index_add(0, b, c)", Saved: "b",
			Large: []Input{F(1000, 300), wide, F(1000, 300)}},
		{Op: "Tensor.IndexAdd", Name: "last dimension", In: []Input{F(2, 3), i32, F(2, 4)}, Call: Ternary(func(x, i, y T) T { return x.IndexAdd(1, i, y) }), Torch: "a.index_add(1, b, c)", Saved: "b"},
		{Op: "Tensor.IndexAdd", Name: "int64", In: []Input{I(3, 2), i, I(4, 2)}, Call: Ternary(func(x, i, y T) T { return x.IndexAdd(0, i, y) }), Torch: "a.index_add(0, b, c)"},
		{Op: "Tensor.IndexAdd", Name: "square", In: []Input{F(3, 3), I(3).Of(1, 1, 2), F(3, 3)}, Call: Ternary(func(x, i, y T) T { return x.IndexAdd(1, i, y) }), Torch: "a.index_add(1, b, c)", Saved: "b"},
		{Op: "Tensor.IndexAdd_", InPlace: true, In: []Input{F(3, 2), i, F(4, 2)}, Call: Ternary(func(x, i, y T) T { return x.IndexAdd_(0, i, y) }), Torch: "a.index_add_(0, b, c)", Saved: "b"},
		{Op: "Tensor.IndexAdd_", Name: "square", InPlace: true, In: []Input{F(3, 3), I(3).Of(1, 1, 2), F(3, 3)}, Call: Ternary(func(x, i, y T) T { return x.IndexAdd_(0, i, y) }), Torch: "a.index_add_(0, b, c)", Saved: "b"},

		{Op: "Tensor.Gather", In: []Input{F(2, 3), at}, Call: Binary(func(x, i T) T { return x.Gather(1, i) }), Torch: "a.gather(1, b)", Saved: "b",
			Large: []Input{F(1000, 300), I(1000, 300).As(Below(300))}},
		{Op: "Tensor.Gather", Name: "part", In: []Input{F(3, 4), at}, Call: Binary(func(x, i T) T { return x.Gather(0, i) }), Torch: "a.gather(0, b)", Saved: "b"},
		{Op: "Tensor.Gather", Name: "int32", In: []Input{I32(3), i32}, Call: Binary(func(x, i T) T { return x.Gather(0, i) }), Torch: "a.gather(0, b.long())"},
		{Op: "Tensor.Gather", Name: "number", In: []Input{F(), I().Of(0)}, Call: Binary(func(x, i T) T { return x.Gather(0, i) }), Torch: "a.gather(0, b)", Saved: "b"},
		{Op: "Tensor.Gather", Name: "of a number", In: []Input{F(), I(2).Of(0, 0)}, Call: Binary(func(x, i T) T { return x.Gather(0, i) }), Torch: "a.gather(0, b)", Saved: "b"},

		{Op: "Tensor.ScatterAdd", In: []Input{F(2, 3), at, F(2, 3)}, Call: Ternary(func(x, i, y T) T { return x.ScatterAdd(1, i, y) }), Torch: "a.scatter_add(1, b, c)", Saved: "b",
			Large: []Input{F(1000, 300), I(1000, 300).As(Below(300)), F(1000, 300)}},
		{Op: "Tensor.ScatterAdd", Name: "larger source", In: []Input{F(3, 4), at, F(3, 5)}, Call: Ternary(func(x, i, y T) T { return x.ScatterAdd(0, i, y) }), Torch: "a.scatter_add(0, b, c[:2, :3])", Saved: "b"},
		{Op: "Tensor.ScatterAdd", Name: "number", In: []Input{F(), I().Of(0), F()}, Call: Ternary(func(x, i, y T) T { return x.ScatterAdd(0, i, y) }), Torch: "a.scatter_add(0, b, c)", Saved: "b"},
		{Op: "Tensor.ScatterAdd", Name: "bool", In: []Input{B(2, 3), at, B(2, 3)}, Call: Ternary(func(x, i, y T) T { return x.ScatterAdd(1, i, y) }), Torch: "a.scatter_add(1, b, c)"},
		{Op: "Tensor.ScatterAdd_", InPlace: true, In: []Input{F(2, 3), at, F(2, 3)}, Call: Ternary(func(x, i, y T) T { return x.ScatterAdd_(1, i, y) }), Torch: "a.scatter_add_(1, b, c)", Saved: "b"},
		{Op: "Tensor.ScatterAdd_", Name: "square", InPlace: true, In: []Input{F(3, 3), square, F(3, 3)}, Call: Ternary(func(x, i, y T) T { return x.ScatterAdd_(0, i, y) }), Torch: "a.scatter_add_(0, b, c)", Saved: "b"},

		{Op: "Tensor.OneHot", In: []Input{I(2, 3).Of(0, 1, 2, 3, 1, 0)}, Call: Unary(func(x T) T { return x.OneHot(5) }), Torch: "F.one_hot(a, 5)"},
		{Op: "Tensor.OneHot", Name: "one", In: []Input{I().Of(1)}, Call: Unary(func(x T) T { return x.OneHot(3) }), Torch: "F.one_hot(a, 3)"},
		{Op: "Tensor.OneHot", Name: "none", In: []Input{I(0)}, Call: Unary(func(x T) T { return x.OneHot(3) }), Torch: "F.one_hot(a, 3)"},
	})
}
