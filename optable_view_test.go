package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	needsLayout := map[Check]string{Layouts: "a view needs a layout that allows it"}
	table.Add("view", []Case{
		{Op: "Tensor.View", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.View(3, 2) }), Torch: "a.view(3, 2)", Skip: needsLayout},
		{Op: "Tensor.View", Name: "one size open", In: []Input{F(2, 3, 2)}, Call: Unary(func(x T) T { return x.View(-1, 4) }), Torch: "a.view(-1, 4)", Skip: needsLayout},
		{Op: "Tensor.View", Name: "of a narrowed tensor", In: []Input{F(2, 6).In(Narrowed)}, Call: Unary(func(x T) T { return x.View(2, 2, 3) }), Torch: "a.view(2, 2, 3)"},
		{Op: "Tensor.View", Name: "of a number", In: []Input{F()}, Call: Unary(func(x T) T { return x.View(1, 1) }), Torch: "a.view(1, 1)"},
		{Op: "Tensor.View", Name: "to a number", In: []Input{F(1, 1)}, Call: Unary(func(x T) T { return x.View() }), Torch: "a.view(())"},
		{Op: "Tensor.View", Name: "empty", In: []Input{F(0, 3)}, Call: Unary(func(x T) T { return x.View(3, 0, 2) }), Torch: "a.view(3, 0, 2)"},
		{Op: "Tensor.Reshape", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.Reshape(3, -1) }), Torch: "a.reshape(3, -1)"},
		{Op: "Tensor.Reshape", Name: "ints", In: []Input{I(2, 3)}, Call: Unary(func(x T) T { return x.Reshape(6) }), Torch: "a.reshape(6)"},
		{Op: "Tensor.Permute", In: []Input{F(2, 3, 4)}, Call: Unary(func(x T) T { return x.Permute(2, 0, -2) }), Torch: "a.permute(2, 0, -2)"},
		{Op: "Tensor.Transpose", In: []Input{F(2, 3, 4)}, Call: Unary(func(x T) T { return x.Transpose(0, -1) }), Torch: "a.transpose(0, -1)"},
		{Op: "Tensor.T", In: []Input{F(2, 3)}, Call: Unary(T.T), Torch: "a.t()"},
		{Op: "Tensor.T", Name: "vector", In: []Input{F(3)}, Call: Unary(T.T), Torch: "a.t()"},
		{Op: "Tensor.T", Name: "number", In: []Input{F()}, Call: Unary(T.T), Torch: "a.t()"},
		{Op: "Tensor.Expand", In: []Input{F(3, 1)}, Call: Unary(func(x T) T { return x.Expand(2, -1, 4) }), Torch: "a.expand(2, -1, 4)"},
		{Op: "Tensor.Expand", Name: "number", In: []Input{F()}, Call: Unary(func(x T) T { return x.Expand(2, 3) }), Torch: "a.expand(2, 3)"},
		{Op: "Tensor.Expand", Name: "to nothing", In: []Input{F(1, 3)}, Call: Unary(func(x T) T { return x.Expand(0, 3) }), Torch: "a.expand(0, 3)"},
		{Op: "Tensor.Narrow", In: []Input{F(4, 3)}, Call: Unary(func(x T) T { return x.Narrow(0, 1, 2) }), Torch: "a.narrow(0, 1, 2)"},
		{Op: "Tensor.Narrow", Name: "from the end", In: []Input{F(2, 4)}, Call: Unary(func(x T) T { return x.Narrow(-1, -3, 3) }), Torch: "a.narrow(-1, -3, 3)"},
		{Op: "Tensor.Narrow", Name: "nothing", In: []Input{F(2, 4)}, Call: Unary(func(x T) T { return x.Narrow(1, 4, 0) }), Torch: "a.narrow(1, 4, 0)"},
		{Op: "Tensor.Select", In: []Input{F(4, 3)}, Call: Unary(func(x T) T { return x.Select(0, 2) }), Torch: "a.select(0, 2)"},
		{Op: "Tensor.Select", Name: "from the end", In: []Input{F(2, 4, 3)}, Call: Unary(func(x T) T { return x.Select(-2, -1) }), Torch: "a.select(-2, -1)"},
		{Op: "Tensor.Select", Name: "a number", In: []Input{I(4)}, Call: Unary(func(x T) T { return x.Select(0, 3) }), Torch: "a.select(0, 3)"},
		{Op: "Tensor.Unsqueeze", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.Unsqueeze(1) }), Torch: "a.unsqueeze(1)"},
		{Op: "Tensor.Unsqueeze", Name: "at the end", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.Unsqueeze(-1) }), Torch: "a.unsqueeze(-1)"},
		{Op: "Tensor.Squeeze", In: []Input{F(1, 3, 1, 2)}, Call: Unary(func(x T) T { return x.Squeeze() }), Torch: "a.squeeze()"},
		{Op: "Tensor.Squeeze", Name: "one dimension", In: []Input{F(1, 3, 1)}, Call: Unary(func(x T) T { return x.Squeeze(-1) }), Torch: "a.squeeze(-1)"},
		{Op: "Tensor.Squeeze", Name: "a dimension that stays", In: []Input{F(1, 3, 1)}, Call: Unary(func(x T) T { return x.Squeeze(1) }), Torch: "a.squeeze(1)"},
		{Op: "Tensor.Flatten", In: []Input{F(2, 3, 2)}, Call: Unary(func(x T) T { return x.Flatten(0, -1) }), Torch: "a.flatten()"},
		{Op: "Tensor.Flatten", Name: "some dimensions", In: []Input{F(2, 3, 2, 2)}, Call: Unary(func(x T) T { return x.Flatten(1, 2) }), Torch: "a.flatten(1, 2)"},
		{Op: "Tensor.Flatten", Name: "number", In: []Input{F()}, Call: Unary(func(x T) T { return x.Flatten(0, -1) }), Torch: "a.flatten()"},
		{Op: "Tensor.Detach", In: []Input{F(2, 3)}, Call: Unary(T.Detach), Torch: "a.detach()"},

		// Views of views, and what changes under them.
		{Op: "Tensor.Transpose Tensor.Narrow Tensor.Select", Name: "of one another", In: []Input{F(3, 4, 2)},
			Call: Unary(func(x T) T { return x.Transpose(0, 1).Narrow(0, 1, 2).Select(2, 1).T().Reshape(6) }), Torch: "a.transpose(0, 1).narrow(0, 1, 2).select(2, 1).t().reshape(6)"},
		{Op: "Tensor.Narrow", Name: "changed in place", In: []Input{F(4, 3), F(2, 3)}, InPlace: true, Saved: "b +24",
			Call: func(_ *ebb.Scope, in []T) []T { in[0].Narrow(0, 1, 2).Mul_(in[1]); return in[:1] }, Torch: "a.narrow(0, 1, 2).mul_(b); a"},
		{Op: "Tensor.Select", Name: "an older view of what changed", In: []Input{F(4, 3), F(4, 3)}, InPlace: true,
			Call: func(_ *ebb.Scope, in []T) []T { v := in[0].Select(0, 1); in[0].Add_(in[1]); return []T{v, in[0]} }, Torch: "v = a.select(0, 1); a.add_(b); (v, a)"},
	})
}
