package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

// function describes the rows of a function of one tensor.
type function struct {
	op     string // method of Tensor; with _ in place
	call   func(x *ebb.Tensor) *ebb.Tensor
	torch  string
	values Values // where it is smooth
	saved  string // what its gradient needs
}

// rows returns the function's rows: smooth values, special ones, none, and
// integers.
func (f function) rows() []Case {
	inPlace := f.op[len(f.op)-1] == '_'
	row := Case{Op: "Tensor." + f.op, In: []Input{F(2, 3).As(f.values)}, InPlace: inPlace, Call: Unary(f.call), Torch: f.torch, Saved: f.saved}
	if f.op == "Exp" || f.op == "ReLU" || f.op == "ReLU_" || f.op == "Reciprocal" {
		row.Large = []Input{F(300, 900).As(f.values)}
	}
	special := row
	special.Name, special.In, special.Large, special.Saved = "special", []Input{F(16).As(Special).NoGrad()}, nil, ""
	empty := special
	empty.Name, empty.In = "empty", []Input{F(0, 2)}
	rows := []Case{row, special, empty}
	if !inPlace {
		for _, in := range []Input{I(6), U8(6)} {
			ints := special
			ints.Name, ints.In = in.DType.String(), []Input{in}
			rows = append(rows, ints)
		}
	}
	return rows
}

func init() {
	type T = *ebb.Tensor
	functions := []function{
		{"Neg", T.Neg, "-a", Normal, ""},
		{"Neg_", T.Neg_, "a.neg_()", Normal, ""},
		{"Abs", T.Abs, "a.abs()", Normal, "a"},
		{"Abs_", T.Abs_, "a.abs_()", Normal, "+24"},
		{"Sign", T.Sign, "a.sign()", Normal, ""},
		{"Floor", T.Floor, "a.floor()", Normal, ""},
		{"Floor_", T.Floor_, "a.floor_()", Normal, ""},
		{"Ceil", T.Ceil, "a.ceil()", Normal, ""},
		{"Ceil_", T.Ceil_, "a.ceil_()", Normal, ""},
		{"Round", T.Round, "a.round()", Normal, ""},
		{"Round_", T.Round_, "a.round_()", Normal, ""},
		{"Trunc", T.Trunc, "a.trunc()", Normal, ""},
		{"Trunc_", T.Trunc_, "a.trunc_()", Normal, ""},
		{"Reciprocal", T.Reciprocal, "a.reciprocal()", Positive, ""},
		{"Reciprocal_", T.Reciprocal_, "a.reciprocal_()", Positive, ""},
		{"Square", T.Square, "a.square()", Normal, "a"},
		{"Square_", T.Square_, "a.square_()", Normal, "+24"},
		{"Exp", T.Exp, "a.exp()", Normal, ""},
		{"Exp_", T.Exp_, "a.exp_()", Normal, ""},
		{"Expm1", T.Expm1, "a.expm1()", Normal, ""},
		{"Log", T.Log, "a.log()", Positive, "a"},
		{"Log_", T.Log_, "a.log_()", Positive, "+24"},
		{"Log1p", T.Log1p, "a.log1p()", Unit, "a"},
		{"Log2", T.Log2, "a.log2()", Positive, "a"},
		{"Log10", T.Log10, "a.log10()", Positive, "a"},
		{"Sqrt", T.Sqrt, "a.sqrt()", Positive, ""},
		{"Sqrt_", T.Sqrt_, "a.sqrt_()", Positive, ""},
		{"Rsqrt", T.Rsqrt, "a.rsqrt()", Positive, ""},
		{"Rsqrt_", T.Rsqrt_, "a.rsqrt_()", Positive, ""},
		{"Sigmoid", T.Sigmoid, "a.sigmoid()", Normal, ""},
		{"Sigmoid_", T.Sigmoid_, "a.sigmoid_()", Normal, ""},
		{"Erf", T.Erf, "a.erf()", Normal, "a"},
		{"Sin", T.Sin, "a.sin()", Normal, "a"},
		{"Sin_", T.Sin_, "a.sin_()", Normal, "+24"},
		{"Cos", T.Cos, "a.cos()", Normal, "a"},
		{"Cos_", T.Cos_, "a.cos_()", Normal, "+24"},
		{"Tan", T.Tan, "a.tan()", Unit, ""},
		{"Asin", T.Asin, "a.asin()", Unit, "a"},
		{"Acos", T.Acos, "a.acos()", Unit, "a"},
		{"Atan", T.Atan, "a.atan()", Normal, "a"},
		{"Sinh", T.Sinh, "a.sinh()", Normal, "a"},
		{"Cosh", T.Cosh, "a.cosh()", Normal, "a"},
		{"Tanh", T.Tanh, "a.tanh()", Normal, ""},
		{"Tanh_", T.Tanh_, "a.tanh_()", Normal, ""},
		{"ReLU", T.ReLU, "a.relu()", Normal, "+1"},
		{"ReLU_", T.ReLU_, "a.relu_()", Normal, "+1"},
		{"IsNaN", T.IsNaN, "a.isnan()", Normal, ""},
		{"IsInf", T.IsInf, "a.isinf()", Normal, ""},
		{"IsFinite", T.IsFinite, "a.isfinite()", Normal, ""},
		{"LogicalNot", T.LogicalNot, "a.logical_not()", Integers, ""},
	}
	var rows []Case
	for _, f := range functions {
		rows = append(rows, f.rows()...)
	}
	rows = append(rows, []Case{
		{Op: "Tensor.Sign", Name: "bool", In: []Input{B(6)}, Call: Unary(T.Sign), Torch: "a.sign()"},
		{Op: "Tensor.Square", Name: "bool", In: []Input{B(6)}, Call: Unary(T.Square), Torch: "a.square()"},
		{Op: "Tensor.Exp", Name: "bool", In: []Input{B(6)}, Call: Unary(T.Exp), Torch: "a.exp()"},
		{Op: "Tensor.IsNaN", Name: "bool", In: []Input{B(6)}, Call: Unary(T.IsNaN), Torch: "a.isnan()"},
		{Op: "Tensor.LogicalNot", Name: "bool", In: []Input{B(6)}, Call: Unary(T.LogicalNot), Torch: "a.logical_not()"},
		{Op: "Tensor.BitwiseNot", In: []Input{I(6)}, Call: Unary(T.BitwiseNot), Torch: "a.bitwise_not()"},
		{Op: "Tensor.BitwiseNot", Name: "uint8", In: []Input{U8(6)}, Call: Unary(T.BitwiseNot), Torch: "a.bitwise_not()"},
		{Op: "Tensor.BitwiseNot", Name: "bool", In: []Input{B(6)}, Call: Unary(T.BitwiseNot), Torch: "a.bitwise_not()"},
		{Op: "Tensor.Abs", Name: "at 0", In: []Input{F(3).Of(-1, 0, 2)}, Call: Unary(T.Abs), Torch: "a.abs()", Saved: "a", Skip: kinks},
		{Op: "Tensor.ReLU", Name: "at 0", In: []Input{F(4).Of(-1, 0, 2, 3)}, Call: Unary(T.ReLU), Torch: "a.relu()", Saved: "+1", Skip: kinks},
		{Op: "Tensor.ReLU", Name: "two bytes of mask", In: []Input{F(3, 3)}, Call: Unary(T.ReLU), Torch: "a.relu()", Saved: "+2"},
	}...)
	table.Add("unary", rows)
}

// kinks are the checks that do not apply where a function has a kink.
var kinks = map[Check]string{GradCheck: "a kink", GradGrad: "a kink"}
