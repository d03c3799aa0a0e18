package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	to := func(d ebb.DType) func(*ebb.Scope, []T) []T { return Unary(func(x T) T { return x.To(d) }) }
	coarse := map[Check]string{GradCheck: "float32 results", GradGrad: "float32 results"}
	table.Add("copy", []Case{
		{Op: "Tensor.Clone", In: []Input{F(2, 3)}, Call: Unary(T.Clone), Torch: "a.clone()"},
		{Op: "Tensor.Clone", Name: "special", In: []Input{F(16).As(Special)}, Call: Unary(T.Clone), Torch: "a.clone()"},
		{Op: "Tensor.Clone", Name: "bool", In: []Input{B(5)}, Call: Unary(T.Clone), Torch: "a.clone()"},
		{Op: "Tensor.Clone", Name: "empty", In: []Input{F(2, 0)}, Call: Unary(T.Clone), Torch: "a.clone()"},
		{Op: "Tensor.Contiguous", In: []Input{F(2, 3)}, Call: Unary(T.Contiguous), Torch: "a.contiguous()"},
		{Op: "Tensor.Contiguous Tensor.T", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.T().Contiguous() }), Torch: "a.t().contiguous()"},
		{Op: "Tensor.To", Name: "the same type", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.To(x.DType()) }), Torch: "a.to(a.dtype)"},
		{Op: "Tensor.To", Name: "float64", In: []Input{F(2, 3)}, Call: to(ebb.Float64), Torch: "a.to(torch.float64)"},
		{Op: "Tensor.To", Name: "float32", In: []Input{D(2, 3)}, Call: to(ebb.Float32), Torch: "a.to(torch.float32)", Skip: coarse},
		{Op: "Tensor.To", Name: "float to int64", In: []Input{F(6).NoGrad()}, Call: to(ebb.Int64), Torch: "a.to(torch.int64)"},
		{Op: "Tensor.To", Name: "float with a gradient to int32", In: []Input{F(6)}, Call: to(ebb.Int32), Torch: "a.to(torch.int32)"},
		{Op: "Tensor.To", Name: "float to bool", In: []Input{F(5).Of(0, 0.5, -1, 1e-30, 3).NoGrad()}, Call: to(ebb.Bool), Torch: "a.to(torch.bool)"},
		{Op: "Tensor.To", Name: "int64 to uint8 wraps", In: []Input{I(5).Of(-1, 256, 300, 7, -300)}, Call: to(ebb.Uint8), Torch: "a.to(torch.uint8)"},
		{Op: "Tensor.To", Name: "bool to float", In: []Input{B(5)}, Call: to(ebb.Float32), Torch: "a.to(torch.float32)"},
		{Op: "Tensor.To", Name: "there and back", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return x.To(ebb.Float64).To(ebb.Float32) }), Torch: "a.double().float()", Skip: map[Check]string{
			Leaks: "two operations", GradCheck: "float32 results", GradGrad: "float32 results"}},
		{Op: "Tensor.Copy_", In: []Input{F(2, 3), F(2, 3)}, InPlace: true, Call: Binary(T.Copy_), Torch: "a.copy_(b)"},
		{Op: "Tensor.Copy_", Name: "square", In: []Input{F(3, 3), F(3, 3)}, InPlace: true, Call: Binary(T.Copy_), Torch: "a.copy_(b)"},
		{Op: "Tensor.Copy_", Name: "broadcast", In: []Input{F(2, 3), F(3)}, InPlace: true, Call: Binary(T.Copy_), Torch: "a.copy_(b)"},
		{Op: "Tensor.Copy_", Name: "another type", In: []Input{F(2, 3), D(2, 3)}, InPlace: true, Call: Binary(T.Copy_), Torch: "a.copy_(b)"},
		{Op: "Tensor.Copy_", Name: "ints from floats", In: []Input{I(5), F(5).NoGrad()}, InPlace: true, Call: Binary(T.Copy_), Torch: "a.copy_(b)"},
		{Op: "Tensor.Copy_", Name: "no gradient in b", In: []Input{F(2, 3), F(2, 3).NoGrad()}, InPlace: true, Call: Binary(T.Copy_), Torch: "a.copy_(b)"},
		{Op: "Tensor.Fill_", In: []Input{F(2, 3)}, InPlace: true, Call: Unary(func(x T) T { return x.Fill_(2.5) }), Torch: "a.fill_(2.5)"},
		{Op: "Tensor.Fill_", Name: "int", In: []Input{I(4)}, InPlace: true, Call: Unary(func(x T) T { return x.Fill_(-7) }), Torch: "a.fill_(-7)"},
		{Op: "Tensor.Zero_", In: []Input{F(2, 3)}, InPlace: true, Call: Unary(T.Zero_), Torch: "a.zero_()"},
		{Op: "Tensor.Zero_", Name: "a part", In: []Input{F(3, 3)}, InPlace: true, Call: func(_ *ebb.Scope, in []T) []T { in[0].Select(1, 1).Zero_(); return in[:1] },
			Torch: "a.select(1, 1).zero_(); a"},
	})
}
