package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	made := func(f func(s *ebb.Scope) T) Func {
		return func(s *ebb.Scope, _ []T) []T { return []T{f(s)} }
	}
	order := map[Check]string{Layouts: "numbers are drawn in the order of memory"}
	drawn := func(op, name string, in Input, f func(x T) T, torch string) Case {
		return Case{Op: op, Name: name, InPlace: true, In: []Input{in}, Call: Unary(f), Torch: torch, Skip: order}
	}
	shape := ebb.Shape{5, 7}
	table.Add("random", []Case{
		{Op: "Rand", Call: made(func(s *ebb.Scope) T { return ebb.Rand(s, shape) }), Torch: "torch.rand(5, 7)"},
		{Op: "Rand", Name: "float64", Call: made(func(s *ebb.Scope) T { return ebb.Rand(s, shape, ebb.Float64) }), Torch: "torch.rand(5, 7, dtype=torch.float64)"},
		{Op: "Rand", Name: "none", Call: made(func(s *ebb.Scope) T { return ebb.Rand(s, ebb.Shape{0}) }), Torch: "torch.rand(0)"},
		{Op: "Randn", Call: made(func(s *ebb.Scope) T { return ebb.Randn(s, shape) }), Torch: "torch.randn(5, 7)"},
		{Op: "Randn", Name: "float64", Call: made(func(s *ebb.Scope) T { return ebb.Randn(s, shape, ebb.Float64) }), Torch: "torch.randn(5, 7, dtype=torch.float64)"},
		{Op: "Normal", Call: made(func(s *ebb.Scope) T { return ebb.Normal(s, 1, 0.5, shape) }), Torch: "torch.normal(1., 0.5, (5, 7))"},
		{Op: "Randint", Call: made(func(s *ebb.Scope) T { return ebb.Randint(s, -3, 10, shape) }), Torch: "torch.randint(-3, 10, (5, 7))"},
		{Op: "Randint", Name: "uint8", Call: made(func(s *ebb.Scope) T { return ebb.Randint(s, 0, 256, shape, ebb.Uint8) }), Torch: "torch.randint(0, 256, (5, 7), dtype=torch.uint8)"},
		{Op: "Randint", Name: "float32", Call: made(func(s *ebb.Scope) T { return ebb.Randint(s, 0, 10, shape, ebb.Float32) }), Torch: "torch.randint(0, 10, (5, 7), dtype=torch.float32)"},
		{Op: "Randint", Name: "wide", Call: made(func(s *ebb.Scope) T { return ebb.Randint(s, 0, 1<<40, shape) }), Torch: "torch.randint(0, 2**40, (5, 7))"},
		{Op: "Randperm", Call: made(func(s *ebb.Scope) T { return ebb.Randperm(s, 30) }), Torch: "torch.randperm(30)"},
		{Op: "Randperm", Name: "int32", Call: made(func(s *ebb.Scope) T { return ebb.Randperm(s, 30, ebb.Int32) }), Torch: "torch.randperm(30, dtype=torch.int32)"},
		{Op: "RandLike", In: []Input{F(3, 4)}, Call: Unary(func(x T) T { return ebb.RandLike(x) }), Torch: "torch.rand_like(a)", Skip: order},
		{Op: "RandLike", Name: "transposed", In: []Input{F(3, 4)}, Call: Unary(func(x T) T { return ebb.RandLike(x.T()) }), Torch: "torch.rand_like(a.t())", Skip: order},
		{Op: "RandLike", Name: "expanded", In: []Input{F(3, 1)}, Call: Unary(func(x T) T { return ebb.RandLike(x.Expand(2, 3, 4)) }), Torch: "torch.rand_like(a.expand(2, 3, 4))", Skip: order},
		{Op: "RandLike", Name: "float64", In: []Input{F(3, 4)}, Call: Unary(func(x T) T { return ebb.RandLike(x, ebb.Float64) }), Torch: "torch.rand_like(a, dtype=torch.float64)", Skip: order},
		{Op: "RandnLike", In: []Input{F(4, 5)}, Call: Unary(func(x T) T { return ebb.RandnLike(x) }), Torch: "torch.randn_like(a)", Skip: order},
		{Op: "RandnLike", Name: "permuted", In: []Input{F(3, 4, 2)}, Call: Unary(func(x T) T { return ebb.RandnLike(x.Permute(2, 0, 1)) }), Torch: "torch.randn_like(a.permute(2, 0, 1))", Skip: order},

		drawn("Tensor.Uniform_", "", F(3, 4), func(x T) T { return x.Uniform_(-2, 3) }, "a.uniform_(-2, 3)"),
		drawn("Tensor.Uniform_", "transposed", F(3, 4), func(x T) T { return x.T().Uniform_(-2, 3) }, "a.t().uniform_(-2, 3)"),
		drawn("Tensor.Uniform_", "strided", D(3, 4), func(x T) T { return x.Narrow(1, 1, 2).Uniform_(0, 1) }, "a[:, 1:3].uniform_()"),
		drawn("Tensor.Normal_", "", F(5, 4), func(x T) T { return x.Normal_(1, 2) }, "a.normal_(1, 2)"),
		drawn("Tensor.Normal_", "transposed", F(5, 4), func(x T) T { return x.T().Normal_(1, 2) }, "a.t().normal_(1, 2)"),
		drawn("Tensor.Normal_", "few", F(3), func(x T) T { return x.Normal_(0, 1) }, "a.normal_()"),
		drawn("Tensor.Bernoulli_", "", F(3, 4), func(x T) T { return x.Bernoulli_(0.3) }, "a.bernoulli_(0.3)"),
		drawn("Tensor.Bernoulli_", "bool", B(3, 4), func(x T) T { return x.Bernoulli_(0.3) }, "a.bernoulli_(0.3)"),
		drawn("Tensor.Random_", "", I(3, 4), func(x T) T { return x.Random_() }, "a.random_()"),
		drawn("Tensor.Random_", "int32", I32(3, 4), func(x T) T { return x.Random_() }, "a.random_()"),
		drawn("Tensor.Random_", "uint8", U8(3, 4), func(x T) T { return x.Random_() }, "a.random_()"),
		drawn("Tensor.Random_", "float32", F(3, 4).NoGrad(), func(x T) T { return x.Random_() }, "a.random_()"),
		drawn("Tensor.Random_", "float64", D(3, 4).NoGrad(), func(x T) T { return x.Random_() }, "a.random_()"),
		drawn("Tensor.Random_", "bool", B(3, 4), func(x T) T { return x.Random_() }, "a.random_()"),

		{Op: "Tensor.Bernoulli", In: []Input{F(3, 4).As(Probability)}, Call: Unary(func(x T) T { return x.Bernoulli() }), Torch: "torch.bernoulli(a)",
			Skip: map[Check]string{GradCheck: "random", GradGrad: "random"}},
		{Op: "Tensor.Bernoulli", Name: "transposed", In: []Input{D(3, 4).As(Probability).NoGrad()}, Call: Unary(func(x T) T { return x.T().Bernoulli() }), Torch: "torch.bernoulli(a.t())"},
		{Op: "Tensor.Multinomial", In: []Input{F(6).As(Positive)}, Call: Unary(func(x T) T { return x.Multinomial(4) }), Torch: "torch.multinomial(a, 4)"},
		{Op: "Tensor.Multinomial", Name: "rows", In: []Input{D(3, 5).As(Positive)}, Call: Unary(func(x T) T { return x.Multinomial(2) }), Torch: "torch.multinomial(a, 2)"},
		{Op: "Tensor.MultinomialWithReplacement", In: []Input{F(3, 4).As(Positive)}, Call: Unary(func(x T) T { return x.MultinomialWithReplacement(9) }), Torch: "torch.multinomial(a, 9, True)"},
		{Op: "Tensor.MultinomialWithReplacement", Name: "one", In: []Input{F(3, 4).As(Positive)}, Call: Unary(func(x T) T { return x.MultinomialWithReplacement(1) }), Torch: "torch.multinomial(a, 1, True)"},
	})
}
