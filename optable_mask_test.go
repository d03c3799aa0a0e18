package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	big := []Input{F(1000, 777)}
	table.Add("mask", []Case{
		{Op: "Tensor.Tril", In: []Input{F(3, 4)}, Call: Unary(func(x T) T { return x.Tril(0) }), Torch: "a.tril()", Large: big},
		{Op: "Tensor.Tril", Name: "above", In: []Input{F(2, 3, 3)}, Call: Unary(func(x T) T { return x.Tril(1) }), Torch: "a.tril(1)"},
		{Op: "Tensor.Tril", Name: "nan", In: []Input{F(4, 4).As(Special).NoGrad()}, Call: Unary(func(x T) T { return x.Tril(-1) }), Torch: "a.tril(-1)"},
		{Op: "Tensor.Triu", In: []Input{F(3, 4)}, Call: Unary(func(x T) T { return x.Triu(0) }), Torch: "a.triu()"},
		{Op: "Tensor.Triu", Name: "bool", In: []Input{B(4, 3)}, Call: Unary(func(x T) T { return x.Triu(-1) }), Torch: "a.triu(-1)"},
		{Op: "Tensor.Flip", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.Flip(0, 1) }), Torch: "a.flip(0, 1)", Large: big},
		{Op: "Tensor.Flip", Name: "middle dimension", In: []Input{F(2, 3, 2)}, Call: Unary(func(x T) T { return x.Flip(1) }), Torch: "a.flip(1)", Large: []Input{F(30, 70, 41)}},
		{Op: "Tensor.Flip", Name: "nothing", In: []Input{I(0, 2)}, Call: Unary(func(x T) T { return x.Flip(0) }), Torch: "a.flip(0)"},
		{Op: "Tensor.Flip", Name: "no dimension", In: []Input{F(3)}, Call: Unary(func(x T) T { return x.Flip() }), Torch: "a.flip(())"},
		{Op: "Tensor.MaskedSelect", In: []Input{F(3, 4), B(3, 4)}, Call: Binary(func(x, m T) T { return x.MaskedSelect(m) }), Torch: "a.masked_select(b)", Saved: "+40",
			Large: []Input{F(1000, 300), B(1000, 300)}},
		{Op: "Tensor.MaskedSelect", Name: "broadcast", In: []Input{F(2), B(3, 1).Of(1, 0, 1)}, Call: Binary(func(x, m T) T { return x.MaskedSelect(m) }), Torch: "a.masked_select(b)", Saved: "+32"},
		{Op: "Tensor.MaskedSelect", Name: "number", In: []Input{F(), B().Of(1)}, Call: Binary(func(x, m T) T { return x.MaskedSelect(m) }), Torch: "a.masked_select(b)", Saved: "+8"},
		{Op: "Tensor.MaskedSelect", Name: "none", In: []Input{F(2), B(2).Of(0, 0)}, Call: Binary(func(x, m T) T { return x.MaskedSelect(m) }), Torch: "a.masked_select(b)"},
		{Op: "Tensor.NonZero", In: []Input{F(2, 3).Of(0, 1, -2, 0, 0, 3)}, Call: Unary(func(x T) T { return x.NonZero() }), Torch: "a.nonzero()"},
		{Op: "Tensor.NonZero", Name: "number", In: []Input{F().Of(2)}, Call: Unary(func(x T) T { return x.NonZero() }), Torch: "a.nonzero()"},
		{Op: "Tensor.NonZero", Name: "none", In: []Input{B(0, 2)}, Call: Unary(func(x T) T { return x.NonZero() }), Torch: "a.nonzero()"},
	})
}
