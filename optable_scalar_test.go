package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

// withNumber makes a Call of a method with a Go number.
func withNumber(f func(x *ebb.Tensor, v any) *ebb.Tensor, v any) func(*ebb.Scope, []*ebb.Tensor) []*ebb.Tensor {
	return Unary(func(x *ebb.Tensor) *ebb.Tensor { return f(x, v) })
}

func init() {
	type T = *ebb.Tensor
	big := []Input{F(300, 900)}
	rows := []Case{
		{Op: "Tensor.AddScalar", In: []Input{F(2, 3)}, Call: withNumber(T.AddScalar, 0.1), Torch: "a + 0.1", Large: big},
		{Op: "Tensor.AddScalar", Name: "int and float", In: []Input{I(4)}, Call: withNumber(T.AddScalar, 0.5), Torch: "a + 0.5"},
		{Op: "Tensor.AddScalar", Name: "bool and bool", In: []Input{B(4)}, Call: withNumber(T.AddScalar, true), Torch: "a + True"},
		{Op: "Tensor.AddScalar", Name: "bool and int", In: []Input{B(4)}, Call: withNumber(T.AddScalar, 2), Torch: "a + 2"},
		{Op: "Tensor.AddScalar", Name: "float64", In: []Input{D(4)}, Call: withNumber(T.AddScalar, 0.1), Torch: "a + 0.1"},
		{Op: "Tensor.AddScalar", Name: "beyond 2^53", In: []Input{I(4)}, Call: withNumber(T.AddScalar, int64(1)<<62+1), Torch: "a + (2**62 + 1)"},
		{Op: "Tensor.SubScalar", In: []Input{F(2, 3)}, Call: withNumber(T.SubScalar, 0.1), Torch: "a - 0.1"},
		{Op: "Tensor.SubScalar", Name: "uint8 wraps", In: []Input{U8(4)}, Call: withNumber(T.SubScalar, 3), Torch: "a - 3"},
		{Op: "Tensor.RSubScalar", In: []Input{F(2, 3)}, Call: withNumber(T.RSubScalar, 1), Torch: "1 - a"},
		{Op: "Tensor.RSubScalar", Name: "int", In: []Input{I(4)}, Call: withNumber(T.RSubScalar, 1.5), Torch: "1.5 - a"},
		{Op: "Tensor.MulScalar", In: []Input{F(2, 3)}, Call: withNumber(T.MulScalar, 0.1), Torch: "a * 0.1", Large: big},
		{Op: "Tensor.MulScalar", Name: "special", In: []Input{F(16).As(Special)}, Call: withNumber(T.MulScalar, -2), Torch: "a * -2"},
		{Op: "Tensor.MulScalar", Name: "int32", In: []Input{I32(4)}, Call: withNumber(T.MulScalar, 3), Torch: "a * 3"},
		{Op: "Tensor.DivScalar", In: []Input{F(2, 3)}, Call: withNumber(T.DivScalar, 3), Torch: "a / 3"},
		{Op: "Tensor.DivScalar", Name: "int", In: []Input{I(4)}, Call: withNumber(T.DivScalar, 3), Torch: "a / 3"},
		{Op: "Tensor.DivScalar", Name: "by 0", In: []Input{F(2, 3)}, Call: withNumber(T.DivScalar, 0), Torch: "a / 0", Skip: kinks},
		{Op: "Tensor.RDivScalar", In: []Input{F(2, 3).As(Positive)}, Call: withNumber(T.RDivScalar, 3), Torch: "3 / a", Saved: "+24"},
		{Op: "Tensor.RDivScalar", Name: "int", In: []Input{I(4)}, Call: withNumber(T.RDivScalar, 3), Torch: "3 / a"},

		{Op: "Tensor.AddScalar_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.AddScalar_, 0.1), Torch: "a.add_(0.1)"},
		{Op: "Tensor.AddScalar_", Name: "int", In: []Input{I(4)}, InPlace: true, Call: withNumber(T.AddScalar_, 2), Torch: "a.add_(2)"},
		{Op: "Tensor.SubScalar_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.SubScalar_, 0.1), Torch: "a.sub_(0.1)"},
		{Op: "Tensor.MulScalar_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.MulScalar_, 0.1), Torch: "a.mul_(0.1)"},
		{Op: "Tensor.DivScalar_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.DivScalar_, 3), Torch: "a.div_(3)"},

		{Op: "Tensor.FloorDivideScalar", In: []Input{F(2, 3).NoGrad()}, Call: withNumber(T.FloorDivideScalar, 0.7), Torch: "a // 0.7"},
		{Op: "Tensor.FloorDivideScalar", Name: "int", In: []Input{I(9)}, Call: withNumber(T.FloorDivideScalar, -2), Torch: "a // -2"},
		{Op: "Tensor.FloorDivideScalar", Name: "int and float", In: []Input{I(9)}, Call: withNumber(T.FloorDivideScalar, 1.5), Torch: "a // 1.5"},
		{Op: "Tensor.FloorDivideScalar", Name: "by 0", In: []Input{F(4).NoGrad()}, Call: withNumber(T.FloorDivideScalar, 0), Torch: "a // 0"},
		{Op: "Tensor.FloorDivideScalar_", In: []Input{F(2, 3).NoGrad()}, InPlace: true, Call: withNumber(T.FloorDivideScalar_, 0.7), Torch: "a.floor_divide_(0.7)"},
		{Op: "Tensor.RemainderScalar", In: []Input{F(2, 3)}, Call: withNumber(T.RemainderScalar, 0.7), Torch: "a % 0.7"},
		{Op: "Tensor.RemainderScalar", Name: "int", In: []Input{I(9)}, Call: withNumber(T.RemainderScalar, -3), Torch: "a % -3"},
		{Op: "Tensor.RemainderScalar_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.RemainderScalar_, 0.7), Torch: "a.remainder_(0.7)"},

		{Op: "Tensor.RPowScalar", In: []Input{F(2, 3)}, Call: withNumber(T.RPowScalar, 2.5), Torch: "2.5 ** a"},
		{Op: "Tensor.RPowScalar", Name: "of 0", In: []Input{F(4).As(Positive)}, Call: withNumber(T.RPowScalar, 0), Torch: "torch.pow(0, a)", Saved: "a", Skip: map[Check]string{GradGrad: "NaN, as in PyTorch: the derivative has a logarithm of 0"}},
		{Op: "Tensor.RPowScalar", Name: "int", In: []Input{I(6)}, Call: withNumber(T.RPowScalar, 2), Torch: "2 ** a"},
		{Op: "Tensor.RPowScalar", Name: "int and float", In: []Input{I(6)}, Call: withNumber(T.RPowScalar, 2.0), Torch: "2.0 ** a"},
		{Op: "Tensor.PowScalar", Name: "large", In: []Input{F(2, 3)}, Call: withNumber(T.PowScalar, 2), Torch: "a ** 2", Saved: "a", Large: big},
		{Op: "Tensor.PowScalar", Name: "int and float", In: []Input{I(6)}, Call: withNumber(T.PowScalar, 2.0), Torch: "a ** 2.0"},
		{Op: "Tensor.PowScalar", Name: "int", In: []Input{I(6)}, Call: withNumber(T.PowScalar, 3), Torch: "a ** 3"},
		{Op: "Tensor.PowScalar", Name: "bool", In: []Input{B(6)}, Call: withNumber(T.PowScalar, 2), Torch: "a ** 2"},
		{Op: "Tensor.PowScalar_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.PowScalar_, 3), Torch: "a.pow_(3)", Saved: "+24"},
		{Op: "Tensor.PowScalar", Name: "0", In: []Input{F(2, 3)}, Call: withNumber(T.PowScalar, 0), Torch: "a ** 0"},
	}
	for exponent, python := range map[any]string{0.5: "0.5", 1: "1", 2.0: "2.0", 3: "3", -0.5: "-0.5", -1: "-1", -2: "-2", 2.7: "2.7", -3.0: "-3.0"} {
		rows = append(rows, Case{Op: "Tensor.PowScalar", Name: python, In: []Input{F(2, 3).As(Positive)}, Call: withNumber(T.PowScalar, exponent), Torch: "a ** " + python, Saved: "a"})
	}
	table.Add("scalar", rows)
}
