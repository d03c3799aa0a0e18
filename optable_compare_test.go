package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	var rows []Case
	equalish := []Input{F(6).Of(1, 2, 3, -1, 0, 2), F(6).Of(1, 3, 2, -1, 0, 2)}
	for _, f := range []struct {
		op     string
		call   func(x, y T) T
		scalar func(x T, v any) T
		torch  string
	}{
		{"Eq", T.Eq, T.EqScalar, "=="}, {"Ne", T.Ne, T.NeScalar, "!="}, {"Lt", T.Lt, T.LtScalar, "<"},
		{"Le", T.Le, T.LeScalar, "<="}, {"Gt", T.Gt, T.GtScalar, ">"}, {"Ge", T.Ge, T.GeScalar, ">="},
	} {
		op, both := "Tensor."+f.op, "a "+f.torch+" b"
		rows = append(rows, []Case{
			{Op: op, In: equalish, Call: Binary(f.call), Torch: both},
			{Op: op, Name: "special", In: special2, Call: Binary(f.call), Torch: both},
			{Op: op, Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: Binary(f.call), Torch: both},
			{Op: op, Name: "broadcast", In: []Input{I(2, 1), I(3)}, Call: Binary(f.call), Torch: both},
			{Op: op, Name: "bool and int", In: []Input{B(8), I(8)}, Call: Binary(f.call), Torch: both},
			{Op: op, Name: "int and float", In: []Input{I(8), F(8)}, Call: Binary(f.call), Torch: both},
			{Op: op + "Scalar", In: equalish[:1], Call: withNumber(f.scalar, 2), Torch: "a " + f.torch + " 2"},
			{Op: op + "Scalar", Name: "rounded", In: []Input{F(3).Of(0.1, 0.2, 0.3)}, Call: withNumber(f.scalar, 0.2), Torch: "a " + f.torch + " 0.2"},
			{Op: op + "Scalar", Name: "int and float", In: []Input{I(8)}, Call: withNumber(f.scalar, 1.5), Torch: "a " + f.torch + " 1.5"},
			{Op: op + "Scalar", Name: "bool", In: []Input{B(8)}, Call: withNumber(f.scalar, true), Torch: "a " + f.torch + " True"},
		}...)
	}
	for _, f := range []struct {
		op    string
		call  func(x, y T) T
		torch string
	}{
		{"LogicalAnd", T.LogicalAnd, "a.logical_and(b)"}, {"LogicalOr", T.LogicalOr, "a.logical_or(b)"}, {"LogicalXor", T.LogicalXor, "a.logical_xor(b)"},
	} {
		rows = append(rows, []Case{
			{Op: "Tensor." + f.op, In: []Input{B(8), B(8)}, Call: Binary(f.call), Torch: f.torch},
			{Op: "Tensor." + f.op, Name: "special", In: special2, Call: Binary(f.call), Torch: f.torch},
			{Op: "Tensor." + f.op, Name: "int and float", In: []Input{I(2, 4), F(4).Of(0, 0.5, -1, 0)}, Call: Binary(f.call), Torch: f.torch},
		}...)
	}
	for _, f := range []struct {
		op    string
		call  func(x, y T) T
		torch string
	}{
		{"BitwiseAnd", T.BitwiseAnd, "a & b"}, {"BitwiseOr", T.BitwiseOr, "a | b"}, {"BitwiseXor", T.BitwiseXor, "a ^ b"},
	} {
		rows = append(rows, []Case{
			{Op: "Tensor." + f.op, In: []Input{I(8), I(8)}, Call: Binary(f.call), Torch: f.torch},
			{Op: "Tensor." + f.op, Name: "bool", In: []Input{B(8), B(8)}, Call: Binary(f.call), Torch: f.torch},
			{Op: "Tensor." + f.op, Name: "bool and uint8", In: []Input{B(2, 4), U8(4)}, Call: Binary(f.call), Torch: f.torch},
		}...)
	}
	isClose := func(opts ...ebb.CloseOption) func(*ebb.Scope, []T) []T {
		return Binary(func(x, y T) T { return x.IsClose(y, opts...) })
	}
	near := []Input{F(6).Of(1, 1, 100, -3, 0, 2), F(6).Of(1.000001, 1.1, 100.0005, -3.00001, 1e-9, 2)}
	rows = append(rows, []Case{
		{Op: "Tensor.IsClose", In: near, Call: isClose(), Torch: "torch.isclose(a, b)"},
		{Op: "Tensor.IsClose", Name: "tolerances", In: near, Call: isClose(ebb.RTol(0.05), ebb.ATol(0.06)), Torch: "torch.isclose(a, b, rtol=0.05, atol=0.06)"},
		{Op: "Tensor.IsClose", Name: "special", In: special2, Call: isClose(), Torch: "torch.isclose(a, b)"},
		{Op: "Tensor.IsClose", Name: "NaN", In: []Input{F(16).As(Special), F(16).As(Special)}, Call: isClose(ebb.EqualNaN), Torch: "torch.isclose(a, b, equal_nan=True)"},
		{Op: "Tensor.IsClose", Name: "int", In: []Input{I(2, 4), I(4)}, Call: isClose(ebb.RTol(0), ebb.ATol(2)), Torch: "torch.isclose(a, b, rtol=0, atol=2)"},
		{Op: "Tensor.IsClose", Name: "exact int", In: []Input{I(2).Of(1<<24, 5), I(2).Of(1<<24+1, 5)}, Call: isClose(ebb.RTol(0), ebb.ATol(0)), Torch: "torch.isclose(a, b, rtol=0, atol=0)"},
		{Op: "Tensor.IsClose", Name: "bool", In: []Input{B(8), B(8)}, Call: isClose(), Torch: "torch.isclose(a, b)"},
	}...)
	table.Add("compare", rows)
}
