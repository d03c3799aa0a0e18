package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	fill := func(f func(x, mask T, v any) T, v any) func(*ebb.Scope, []T) []T {
		return Binary(func(x, mask T) T { return f(x, mask, v) })
	}
	clamp := func(f func(x T, min, max any) T, min, max any) func(*ebb.Scope, []T) []T {
		return Unary(func(x T) T { return f(x, min, max) })
	}
	table.Add("where", []Case{
		{Op: "Where", In: []Input{B(2, 3), F(2, 3), F(2, 3)}, Call: Ternary(ebb.Where), Torch: "torch.where(a, b, c)", Saved: "a", Large: []Input{B(300, 900), F(300, 900), F(300, 900)}},
		{Op: "Where", Name: "broadcast", In: []Input{B(2, 1), F(3), F(1, 1)}, Call: Ternary(ebb.Where), Torch: "torch.where(a, b, c)", Saved: "a"},
		{Op: "Where", Name: "square", In: []Input{B(3, 3), F(3, 3), F(3, 3)}, Call: Ternary(ebb.Where), Torch: "torch.where(a, b, c)", Saved: "a"},
		{Op: "Where", Name: "int and float", In: []Input{B(4), I(4), F(4)}, Call: Ternary(ebb.Where), Torch: "torch.where(a, b, c)", Saved: "a"},
		{Op: "Where", Name: "bool", In: []Input{B(4), B(4), B(4)}, Call: Ternary(ebb.Where), Torch: "torch.where(a, b, c)"},
		{Op: "Where", Name: "special", In: []Input{B(16), F(16).As(Special), F(16)}, Call: Ternary(ebb.Where), Torch: "torch.where(a, b, c)", Saved: "a"},
		{Op: "Tensor.MaskedFill", In: []Input{F(2, 3), B(2, 3)}, Call: fill(T.MaskedFill, 2.5), Torch: "a.masked_fill(b, 2.5)", Saved: "b"},
		{Op: "Tensor.MaskedFill", Name: "infinity", In: []Input{F(2, 3), B(3)}, Call: fill(T.MaskedFill, -1e300), Torch: "a.masked_fill(b, float('-inf'))", Saved: "b", Skip: map[Check]string{GradCheck: "infinite in float32 alone", GradGrad: "infinite in float32 alone"}},
		{Op: "Tensor.MaskedFill", Name: "broadcast", In: []Input{F(3), B(2, 1)}, Call: fill(T.MaskedFill, 1), Torch: "a.masked_fill(b, 1)", Saved: "b"},
		{Op: "Tensor.MaskedFill", Name: "int", In: []Input{I(4), B(4)}, Call: fill(T.MaskedFill, 1.5), Torch: "a.masked_fill(b, 1.5)"},
		{Op: "Tensor.MaskedFill", Name: "bool", In: []Input{B(4), B(4)}, Call: fill(T.MaskedFill, 2), Torch: "a.masked_fill(b, 2)"},
		{Op: "Tensor.MaskedFill_", In: []Input{F(2, 3), B(3)}, InPlace: true, Call: fill(T.MaskedFill_, 2.5), Torch: "a.masked_fill_(b, 2.5)", Saved: "b"},

		{Op: "Tensor.Clamp", In: []Input{F(2, 3)}, Call: clamp(T.Clamp, -0.5, 0.5), Torch: "a.clamp(-0.5, 0.5)", Saved: "a", Large: []Input{F(300, 900)}},
		{Op: "Tensor.Clamp", Name: "bounds", In: []Input{F(5).Of(0, 1, 2, 3, 4)}, Call: clamp(T.Clamp, 1, 3), Torch: "a.clamp(1, 3)", Saved: "a", Skip: kinks},
		{Op: "Tensor.Clamp", Name: "special", In: []Input{F(16).As(Special)}, Call: clamp(T.Clamp, -1.5, 2), Torch: "a.clamp(-1.5, 2)", Saved: "a"},
		{Op: "Tensor.Clamp", Name: "max wins", In: []Input{F(5)}, Call: clamp(T.Clamp, 3, 1), Torch: "a.clamp(3, 1)", Saved: "a"},
		{Op: "Tensor.Clamp", Name: "int", In: []Input{I(8)}, Call: clamp(T.Clamp, -2, 3), Torch: "a.clamp(-2, 3)"},
		{Op: "Tensor.Clamp", Name: "int32", In: []Input{I32(8)}, Call: clamp(T.Clamp, -2, 3), Torch: "a.clamp(-2, 3)"},
		{Op: "Tensor.Clamp", Name: "int and float", In: []Input{I(8)}, Call: clamp(T.Clamp, 0.5, nil), Torch: "a.clamp(min=0.5)"},
		{Op: "Tensor.Clamp", Name: "bool", In: []Input{B(8)}, Call: clamp(T.Clamp, 1, nil), Torch: "a.clamp(min=1)"},
		{Op: "Tensor.Clamp_", In: []Input{F(2, 3)}, InPlace: true, Call: clamp(T.Clamp_, -0.5, 0.5), Torch: "a.clamp_(-0.5, 0.5)", Saved: "+24"},
		{Op: "Tensor.ClampMin", In: []Input{F(2, 3)}, Call: withNumber(T.ClampMin, 0.25), Torch: "a.clamp_min(0.25)", Saved: "a"},
		{Op: "Tensor.ClampMax", In: []Input{F(2, 3)}, Call: withNumber(T.ClampMax, 0.25), Torch: "a.clamp_max(0.25)", Saved: "a"},
		{Op: "Tensor.ClampMin_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.ClampMin_, 0.25), Torch: "a.clamp_min_(0.25)", Saved: "+24"},
		{Op: "Tensor.ClampMax_", In: []Input{F(2, 3)}, InPlace: true, Call: withNumber(T.ClampMax_, 0.25), Torch: "a.clamp_max_(0.25)", Saved: "+24"},
	})
}
