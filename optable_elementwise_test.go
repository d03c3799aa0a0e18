package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

// special2 are pairs of special values.
var special2 = []Input{F(16).As(Special), F(16).Of(1, 1, 1, 0, 0, 1, 2, 0.5, 3, 1e30, 3, 1e-30, -2, 1, -1, 88)}

func noGrad(in []Input) []Input {
	out := append([]Input{}, in...)
	for i := range out {
		out[i].Grad = false
	}
	return out
}

func init() {
	type T = *ebb.Tensor
	big := []Input{F(300, 900), F(300, 900)}
	remainders := []Input{F(2, 3).Of(1.5, -2.25, 3.3, 0.6, 5.1, -0.4), F(2, 3).Of(0.7, 0.8, -0.9, 2.5, 1.2, -3)}
	positive := []Input{F(2, 3).As(Positive), F(2, 3)}
	table.Add("elementwise", []Case{
		{Op: "Tensor.Pow", In: positive, Call: Binary(T.Pow), Torch: "a ** b", Saved: "a b"},
		{Op: "Tensor.Pow", Name: "base alone", In: []Input{F(2, 3).As(Positive), F(2, 3).NoGrad()}, Call: Binary(T.Pow), Torch: "a ** b", Saved: "a b"},
		{Op: "Tensor.Pow", Name: "broadcast", In: []Input{F(2, 3).As(Positive), F(3)}, Call: Binary(T.Pow), Torch: "a ** b", Saved: "a b"},
		{Op: "Tensor.Pow", Name: "square", In: []Input{F(3, 3).As(Positive), F(3, 3)}, Call: Binary(T.Pow), Torch: "a ** b", Saved: "a b"},
		{Op: "Tensor.Pow", Name: "zeros", In: []Input{F(4).Of(0, 0, 0, 2), F(4).Of(0, 1, 2, 0)}, Call: Binary(T.Pow), Torch: "a ** b", Saved: "a b", Skip: kinks},
		{Op: "Tensor.Pow", Name: "special", In: noGrad(special2), Call: Binary(T.Pow), Torch: "a ** b"},
		{Op: "Tensor.Pow", Name: "int", In: []Input{I(8), I(8)}, Call: Binary(T.Pow), Torch: "a ** b"},
		{Op: "Tensor.Pow", Name: "bool and int", In: []Input{B(8), I(8)}, Call: Binary(T.Pow), Torch: "a ** b"},
		{Op: "Tensor.Pow", Name: "int and float", In: []Input{I(8).As(Below(9)), F(8)}, Call: Binary(T.Pow), Torch: "a ** b", Skip: kinks, Saved: "b +32"},
		{Op: "Tensor.Pow_", In: positive, InPlace: true, Call: Binary(T.Pow_), Torch: "a.pow_(b)", Saved: "b +24"},

		{Op: "Tensor.Maximum", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(T.Maximum), Torch: "torch.maximum(a, b)", Saved: "a b", Large: big},
		{Op: "Tensor.Maximum", Name: "ties", In: []Input{F(4).Of(1, 2, 3, 4), F(4).Of(1, 3, 3, 2)}, Call: Binary(T.Maximum), Torch: "torch.maximum(a, b)", Saved: "a b", Skip: kinks},
		{Op: "Tensor.Maximum", Name: "special", In: special2, Call: Binary(T.Maximum), Torch: "torch.maximum(a, b)", Saved: "a b"},
		{Op: "Tensor.Maximum", Name: "broadcast", In: []Input{F(2, 3), F(2, 1)}, Call: Binary(T.Maximum), Torch: "torch.maximum(a, b)", Saved: "a b"},
		{Op: "Tensor.Maximum", Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: Binary(T.Maximum), Torch: "torch.maximum(a, b)", Saved: "a b", Skip: kinks},
		{Op: "Tensor.Maximum", Name: "int and bool", In: []Input{I(6), B(6)}, Call: Binary(T.Maximum), Torch: "torch.maximum(a, b)"},
		{Op: "Tensor.Minimum", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(T.Minimum), Torch: "torch.minimum(a, b)", Saved: "a b"},
		{Op: "Tensor.Minimum", Name: "ties", In: []Input{F(4).Of(1, 2, 3, 4), F(4).Of(1, 3, 3, 2)}, Call: Binary(T.Minimum), Torch: "torch.minimum(a, b)", Saved: "a b", Skip: kinks},
		{Op: "Tensor.Minimum", Name: "special", In: special2, Call: Binary(T.Minimum), Torch: "torch.minimum(a, b)", Saved: "a b"},
		{Op: "Tensor.Minimum", Name: "bool", In: []Input{B(6), B(6)}, Call: Binary(T.Minimum), Torch: "torch.minimum(a, b)"},

		{Op: "Tensor.Atan2", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(T.Atan2), Torch: "torch.atan2(a, b)", Saved: "a b"},
		{Op: "Tensor.Atan2", Name: "int", In: []Input{I(6), I(6)}, Call: Binary(T.Atan2), Torch: "torch.atan2(a, b)"},
		{Op: "Tensor.FloorDivide", In: []Input{F(2, 3).NoGrad(), F(2, 3).NoGrad()}, Call: Binary(T.FloorDivide), Torch: "a // b"},
		{Op: "Tensor.FloorDivide", Name: "special", In: noGrad(special2), Call: Binary(T.FloorDivide), Torch: "a // b"},
		{Op: "Tensor.FloorDivide", Name: "int", In: []Input{I(6), I(6).Of(1, 2, -2, -3, 4, 5)}, Call: Binary(T.FloorDivide), Torch: "a // b"},
		{Op: "Tensor.FloorDivide", Name: "bool and int", In: []Input{B(4), I(4).Of(1, 2, -2, -3)}, Call: Binary(T.FloorDivide), Torch: "a // b"},
		{Op: "Tensor.FloorDivide_", In: []Input{F(2, 3).NoGrad(), F(3).NoGrad()}, InPlace: true, Call: Binary(T.FloorDivide_), Torch: "a.floor_divide_(b)"},
		{Op: "Tensor.FloorDivide_", Name: "int", In: []Input{I(6), I(6).Of(1, 2, -2, -3, 4, 5)}, InPlace: true, Call: Binary(T.FloorDivide_), Torch: "a.floor_divide_(b)"},
		{Op: "Tensor.FloorDivide_", Name: "wider int", In: []Input{U8(3), I(3).Of(300, 2, 256)}, InPlace: true, Call: Binary(T.FloorDivide_), Torch: "a.floor_divide_(b)"},
		{Op: "Tensor.Remainder", In: remainders, Call: Binary(T.Remainder), Torch: "a % b", Saved: "a b"},
		{Op: "Tensor.Remainder", Name: "dividend alone", In: []Input{remainders[0], remainders[1].NoGrad()}, Call: Binary(T.Remainder), Torch: "a % b"},
		{Op: "Tensor.Remainder", Name: "int", In: []Input{I(6), I(6).Of(1, 2, -2, -3, 4, 5)}, Call: Binary(T.Remainder), Torch: "a % b"},
		{Op: "Tensor.Remainder_", In: remainders, InPlace: true, Call: Binary(T.Remainder_), Torch: "a.remainder_(b)", Saved: "b +24"},
		{Op: "Tensor.Remainder_", Name: "int", In: []Input{I(6), I(6).Of(1, 2, -2, -3, 4, 5)}, InPlace: true, Call: Binary(T.Remainder_), Torch: "a.remainder_(b)"},

		{Op: "Tensor.Add_", Name: "wider float", In: []Input{F(2, 3), D(2, 3)}, InPlace: true, Call: Binary(T.Add_), Torch: "a.add_(b)"},
		{Op: "Tensor.Mul_", Name: "wider float", In: []Input{F(2, 3), D(2, 3)}, InPlace: true, Call: Binary(T.Mul_), Torch: "a.mul_(b)", Saved: "b +48"},
		{Op: "Tensor.Add_", Name: "wider int", In: []Input{U8(3), I(3).Of(300, 2, 256)}, InPlace: true, Call: Binary(T.Add_), Torch: "a.add_(b)"},
	})
}
