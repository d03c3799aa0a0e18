package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	big := []Input{F(700, 900), F(700, 900)}
	table.Add("binary", []Case{
		{Op: "Tensor.Add", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(T.Add), Torch: "a + b", Large: big},
		{Op: "Tensor.Add", Name: "broadcast", In: []Input{F(2, 1, 3), F(4, 1)}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "special", In: []Input{F(16).As(Special), F(16).Of(1, 1, 1, 1, 1, 1, 1, 1, 1, 1e30, 3e38, 1e-30, 1, 1, 1, 1)}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "empty", In: []Input{F(0, 3), F(3)}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "scalars", In: []Input{F(), F()}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "bool", In: []Input{B(6), B(6)}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "int and float", In: []Input{I(2, 3), F(3)}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "two floats", In: []Input{F(2, 3), D(2, 3)}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Add", Name: "zero dimensions do not promote", In: []Input{F(2, 3), D()}, Call: Binary(T.Add), Torch: "a + b"},
		{Op: "Tensor.Sub", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(T.Sub), Torch: "a - b", Large: big},
		{Op: "Tensor.Sub", Name: "broadcast", In: []Input{F(3), F(2, 3)}, Call: Binary(T.Sub), Torch: "a - b"},
		{Op: "Tensor.Sub", Name: "uint8 wraps", In: []Input{U8(5), U8(5)}, Call: Binary(T.Sub), Torch: "a - b"},
		{Op: "Tensor.Mul", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(T.Mul), Torch: "a * b", Saved: "a b", Large: big},
		{Op: "Tensor.Mul", Name: "broadcast", In: []Input{F(3, 1), F(2, 1, 4)}, Call: Binary(T.Mul), Torch: "a * b", Saved: "a b"},
		{Op: "Tensor.Mul", Name: "one gradient", In: []Input{F(2, 3), F(2, 3).NoGrad()}, Call: Binary(T.Mul), Torch: "a * b", Saved: "b"},
		{Op: "Tensor.Mul", Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: Binary(T.Mul), Torch: "a * b", Saved: "a b"},
		{Op: "Tensor.Mul", Name: "special", In: []Input{F(16).As(Special), F(16)}, Call: Binary(T.Mul), Torch: "a * b", Saved: "a b"},
		{Op: "Tensor.Mul", Name: "bool and int", In: []Input{B(6), I(6)}, Call: Binary(T.Mul), Torch: "a * b"},
		{Op: "Tensor.Mul", Name: "int and float", In: []Input{I32(2, 3), F(2, 3)}, Call: Binary(T.Mul), Torch: "a * b", Saved: "+24"},
		{Op: "Tensor.Div", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(T.Div), Torch: "a / b", Saved: "a b", Large: big},
		{Op: "Tensor.Div", Name: "broadcast", In: []Input{F(2, 3), F(1)}, Call: Binary(T.Div), Torch: "a / b", Saved: "a b"},
		{Op: "Tensor.Div", Name: "numerator alone", In: []Input{F(2, 3), F(2, 3).NoGrad()}, Call: Binary(T.Div), Torch: "a / b", Saved: "b"},
		{Op: "Tensor.Div", Name: "special", In: []Input{F(16).As(Special), F(16).Of(1, 2, 3, 0, 1, 0, 0, 1, 1, 1e-30, 1, 1e30, 1, 1, 1, 1).NoGrad()}, Call: Binary(T.Div), Torch: "a / b", Saved: "b"},
		{Op: "Tensor.Div", Name: "integers", In: []Input{I(5), I(5).Of(1, 2, -3, 0, 5)}, Call: Binary(T.Div), Torch: "a / b"},

		{Op: "Tensor.Add_", In: []Input{F(2, 3), F(2, 3)}, InPlace: true, Call: Binary(T.Add_), Torch: "a.add_(b)", Large: big},
		{Op: "Tensor.Add_", Name: "broadcast", In: []Input{F(2, 3), F(3)}, InPlace: true, Call: Binary(T.Add_), Torch: "a.add_(b)"},
		{Op: "Tensor.Add_", Name: "square", In: []Input{F(3, 3), F(3, 3)}, InPlace: true, Call: Binary(T.Add_), Torch: "a.add_(b)"},
		{Op: "Tensor.Add_", Name: "no gradient in a", In: []Input{F(2, 3).NoGrad(), F(2, 3)}, InPlace: true, Call: Binary(T.Add_), Torch: "a.add_(b)"},
		{Op: "Tensor.Add_", Name: "int to float", In: []Input{F(2, 3), I(2, 3)}, InPlace: true, Call: Binary(T.Add_), Torch: "a.add_(b)"},
		{Op: "Tensor.Sub_", In: []Input{F(2, 3), F(2, 3)}, InPlace: true, Call: Binary(T.Sub_), Torch: "a.sub_(b)"},
		{Op: "Tensor.Mul_", In: []Input{F(2, 3), F(2, 3)}, InPlace: true, Call: Binary(T.Mul_), Torch: "a.mul_(b)", Saved: "b +24"},
		{Op: "Tensor.Mul_", Name: "no gradient in b", In: []Input{F(2, 3), F(2, 3).NoGrad()}, InPlace: true, Call: Binary(T.Mul_), Torch: "a.mul_(b)", Saved: "b"},
		{Op: "Tensor.Mul_", Name: "square", In: []Input{F(3, 3), F(3, 3)}, InPlace: true, Call: Binary(T.Mul_), Torch: "a.mul_(b)", Saved: "b +36"},
		{Op: "Tensor.Div_", In: []Input{F(2, 3), F(2, 3)}, InPlace: true, Call: Binary(T.Div_), Torch: "a.div_(b)", Saved: "b +24"},
	})
}
