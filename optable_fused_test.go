package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	scaled := func(f func(x, y T, alpha any) T, alpha any) func(*ebb.Scope, []T) []T {
		return Binary(func(x, y T) T { return f(x, y, alpha) })
	}
	three := func(f func(x, a, b T, v any) T, v any) func(*ebb.Scope, []T) []T {
		return Ternary(func(x, a, b T) T { return f(x, a, b, v) })
	}
	lerp := func(f func(x, y T, w float64) T, w float64) func(*ebb.Scope, []T) []T {
		return Binary(func(x, y T) T { return f(x, y, w) })
	}
	ins := []Input{F(2, 3), F(2, 3), F(2, 3)}
	divisor := []Input{F(2, 3), F(2, 3), F(2, 3).As(Positive)}
	big := []Input{F(300, 900), F(300, 900), F(300, 900)}
	table.Add("fused", []Case{
		{Op: "Tensor.AddScaled", In: ins[:2], Call: scaled(T.AddScaled, 0.3), Torch: "torch.add(a, b, alpha=0.3)", Large: big[:2]},
		{Op: "Tensor.AddScaled", Name: "broadcast", In: []Input{F(3), F(2, 1)}, Call: scaled(T.AddScaled, 2), Torch: "torch.add(a, b, alpha=2)"},
		{Op: "Tensor.AddScaled", Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: scaled(T.AddScaled, -2), Torch: "torch.add(a, b, alpha=-2)"},
		{Op: "Tensor.AddScaled", Name: "int", In: []Input{I(5), I32(5)}, Call: scaled(T.AddScaled, 3), Torch: "torch.add(a, b, alpha=3)"},
		{Op: "Tensor.AddScaled", Name: "bool", In: []Input{B(5), B(5)}, Call: scaled(T.AddScaled, true), Torch: "torch.add(a, b, alpha=True)"},
		{Op: "Tensor.AddScaled", Name: "int and float", In: []Input{I(5), F(5)}, Call: scaled(T.AddScaled, 1.5), Torch: "torch.add(a, b, alpha=1.5)"},
		{Op: "Tensor.AddScaled_", In: ins[:2], InPlace: true, Call: scaled(T.AddScaled_, 0.3), Torch: "a.add_(b, alpha=0.3)"},
		{Op: "Tensor.AddScaled_", Name: "broadcast", In: []Input{F(2, 3), F(3)}, InPlace: true, Call: scaled(T.AddScaled_, 0.3), Torch: "a.add_(b, alpha=0.3)"},
		{Op: "Tensor.Addcmul", In: ins, Call: three(T.Addcmul, 0.3), Torch: "torch.addcmul(a, b, c, value=0.3)", Saved: "b c", Large: big},
		{Op: "Tensor.Addcmul", Name: "broadcast", In: []Input{F(2, 3), F(3), F(2, 1)}, Call: three(T.Addcmul, 1), Torch: "torch.addcmul(a, b, c)", Saved: "b c"},
		{Op: "Tensor.Addcmul", Name: "square", In: []Input{F(2, 2), F(2, 2), F(2, 2)}, Call: three(T.Addcmul, 2), Torch: "torch.addcmul(a, b, c, value=2)", Saved: "b c"},
		{Op: "Tensor.Addcmul", Name: "float and int", In: []Input{F(4), I(4), I(4)}, Call: three(T.Addcmul, 0.5), Torch: "torch.addcmul(a, b, c, value=0.5)"},
		{Op: "Tensor.Addcmul", Name: "two floats", In: []Input{F(4), D(4), F(4)}, Call: three(T.Addcmul, 0.5), Torch: "torch.addcmul(a, b, c, value=0.5)", Saved: "b +32"},
		{Op: "Tensor.Addcmul_", In: ins, InPlace: true, Call: three(T.Addcmul_, 0.3), Torch: "a.addcmul_(b, c, value=0.3)", Saved: "b c"},
		{Op: "Tensor.Addcmul_", Name: "int factors", In: []Input{F(4), I(4), F(4)}, InPlace: true, Call: three(T.Addcmul_, 0.5), Torch: "a.addcmul_(b, c, value=0.5)", Saved: "+16"},
		{Op: "Tensor.Addcmul_", Name: "wider", In: []Input{F(4), D(4), D(4)}, InPlace: true, Call: three(T.Addcmul_, 0.5), NoTorch: "PyTorch stops at an internal assertion", Saved: "b c"},
		{Op: "Tensor.Addcdiv", In: divisor, Call: three(T.Addcdiv, 0.3), Torch: "torch.addcdiv(a, b, c, value=0.3)", Saved: "b c"},
		{Op: "Tensor.Addcdiv", Name: "broadcast", In: []Input{F(3), F(2, 3), F(2, 1).As(Positive)}, Call: three(T.Addcdiv, 2), Torch: "torch.addcdiv(a, b, c, value=2)", Saved: "b c"},
		{Op: "Tensor.Addcdiv_", In: divisor, InPlace: true, Call: three(T.Addcdiv_, 0.3), Torch: "a.addcdiv_(b, c, value=0.3)", Saved: "b c"},
		{Op: "Tensor.Lerp", In: ins[:2], Call: lerp(T.Lerp, 0.3), Torch: "torch.lerp(a, b, 0.3)"},
		{Op: "Tensor.Lerp", Name: "from the end", In: ins[:2], Call: lerp(T.Lerp, 0.8), Torch: "torch.lerp(a, b, 0.8)"},
		{Op: "Tensor.Lerp", Name: "broadcast", In: []Input{F(2, 1), F(3)}, Call: lerp(T.Lerp, 0.3), Torch: "torch.lerp(a, b, 0.3)"},
		{Op: "Tensor.Lerp_", In: ins[:2], InPlace: true, Call: lerp(T.Lerp_, 0.3), Torch: "a.lerp_(b, 0.3)"},
	})
}
