package ebb_test

import (
	"math"

	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	big := []Input{F(1000, 777)}
	row := func(op, name string, in Input, f func(x T) T, torch, saved string) Case {
		return Case{Op: op, Name: name, In: []Input{in}, Call: Unary(f), Torch: torch, Saved: saved}
	}
	large := func(c Case) Case { c.Large = big; return c }
	inf := math.Inf(1)
	equal := F(2, 3).Of(1.5, 1.5, 1.5, 2, 2, 2)
	zeros := F(4, 3).Of(2, 3, 5, 0, 3, 5, 0, 0, 5, 0, 0, 0)
	table.Add("statistics", []Case{
		large(row("Tensor.Mean", "", F(2, 3), func(x T) T { return x.Mean() }, "a.mean()", "")),
		large(row("Tensor.Mean", "dimension", F(2, 3, 4), func(x T) T { return x.Mean(1) }, "a.mean(1)", "")),
		row("Tensor.Mean", "of nothing", F(0, 2), func(x T) T { return x.Mean(0) }, "a.mean(0)", ""),
		row("Tensor.Mean", "number", D(), func(x T) T { return x.Mean(-1) }, "a.mean(-1)", ""),
		row("Tensor.MeanKeep", "", F(2, 3), func(x T) T { return x.MeanKeep(0, 1) }, "a.mean((0, 1), keepdim=True)", ""),

		large(row("Tensor.Prod", "", F(2, 3), func(x T) T { return x.Prod() }, "a.prod()", "a")),
		row("Tensor.Prod", "dimension", F(2, 3, 2), func(x T) T { return x.Prod(1) }, "a.prod(1)", "a"),
		row("Tensor.Prod", "two dimensions", F(2, 3, 2), func(x T) T { return x.Prod(0, 2) }, "a.prod(2).prod(0)", "a"),
		row("Tensor.Prod", "zeros", zeros, func(x T) T { return x.Prod(1) }, "a.prod(1)", "a"),
		row("Tensor.Prod", "of nothing", F(0, 2), func(x T) T { return x.Prod(0) }, "a.prod(0)", ""),
		row("Tensor.Prod", "int32", I32(2, 3), func(x T) T { return x.Prod() }, "a.prod()", ""),
		row("Tensor.ProdKeep", "", F(2, 3), func(x T) T { return x.ProdKeep(1) }, "a.prod(1, keepdim=True)", "a"),

		row("Tensor.Any", "", B(7), func(x T) T { return x.Any() }, "a.any()", ""),
		row("Tensor.Any", "dimension", F(2, 3).Of(0, 0, 0, 0, math.NaN(), 0), func(x T) T { return x.Any(1) }, "a.any(1)", ""),
		row("Tensor.Any", "uint8", U8(2, 3), func(x T) T { return x.Any(0) }, "a.any(0)", ""),
		row("Tensor.Any", "of nothing", B(0), func(x T) T { return x.Any() }, "a.any()", ""),
		row("Tensor.AnyKeep", "", I(2, 3), func(x T) T { return x.AnyKeep(1) }, "a.any(1, keepdim=True)", ""),
		row("Tensor.All", "", B(7), func(x T) T { return x.All() }, "a.all()", ""),
		row("Tensor.All", "dimension", I(3, 2).Of(1, 2, 3, 0, 5, 6), func(x T) T { return x.All(0) }, "a.all(0)", ""),
		row("Tensor.All", "uint8", U8(2, 3), func(x T) T { return x.All() }, "a.all()", ""),
		row("Tensor.All", "of nothing", B(0), func(x T) T { return x.All() }, "a.all()", ""),
		row("Tensor.AllKeep", "", B(2, 3), func(x T) T { return x.AllKeep(1) }, "a.all(1, keepdim=True)", ""),

		large(row("Tensor.Var", "", F(2, 3), func(x T) T { return x.Var(1) }, "a.var()", "a")),
		row("Tensor.Var", "population", F(2, 3, 2), func(x T) T { return x.Var(0, 0, -1) }, "a.var((0, -1), correction=0)", "a"),
		row("Tensor.Var", "too few", F(1, 2).NoGrad(), func(x T) T { return x.Var(1, 0) }, "a.var(0)", ""),
		row("Tensor.VarKeep", "", D(2, 3), func(x T) T { return x.VarKeep(1, 1) }, "a.var(1, keepdim=True)", "a"),
		large(row("Tensor.Std", "", F(2, 3), func(x T) T { return x.Std(1) }, "a.std()", "a")),
		row("Tensor.Std", "dimension", F(2, 3), func(x T) T { return x.Std(0, 1) }, "a.std(1, correction=0)", "a"),
		{Op: "Tensor.Std", Name: "equal elements", In: []Input{equal}, Call: Unary(func(x T) T { return x.Std(1, 1) }), Torch: "a.std(1)", Saved: "a",
			Skip: map[Check]string{GradCheck: "the derivative at 0 does not exist", GradGrad: "the derivative at 0 does not exist"}},
		row("Tensor.StdKeep", "", F(2, 3), func(x T) T { return x.StdKeep(1, 1) }, "a.std(1, keepdim=True)", "a"),

		large(row("Tensor.Norm", "", F(2, 3), func(x T) T { return x.Norm(2) }, "torch.linalg.vector_norm(a)", "a")),
		row("Tensor.Norm", "dimension", F(2, 3), func(x T) T { return x.Norm(2, 0) }, "torch.linalg.vector_norm(a, 2, 0)", "a"),
		{Op: "Tensor.Norm", Name: "of zeros", In: []Input{F(2, 2).Of(0, 0, 3, 4)}, Call: Unary(func(x T) T { return x.Norm(2, 1) }), Torch: "torch.linalg.vector_norm(a, 2, 1)", Saved: "a",
			Skip: map[Check]string{GradCheck: "the derivative at 0 does not exist", GradGrad: "the derivative at 0 does not exist"}},
		row("Tensor.Norm", "one", F(2, 3), func(x T) T { return x.Norm(1) }, "torch.linalg.vector_norm(a, 1)", "a"),
		row("Tensor.Norm", "three", F(2, 3), func(x T) T { return x.Norm(3, 1) }, "torch.linalg.vector_norm(a, 3, 1)", "a"),
		row("Tensor.Norm", "a half", F(2, 3), func(x T) T { return x.Norm(0.5, 1) }, "torch.linalg.vector_norm(a, 0.5, 1)", "a"),
		row("Tensor.Norm", "largest", F(2, 3).As(Distinct), func(x T) T { return x.Norm(inf) }, "torch.linalg.vector_norm(a, math.inf)", "a"),
		row("Tensor.Norm", "smallest", F(2, 3).As(Distinct), func(x T) T { return x.Norm(-inf, 0) }, "torch.linalg.vector_norm(a, -math.inf, 0)", "a"),
		{Op: "Tensor.Norm", Name: "count", In: []Input{F(3).Of(0, 2, 3).NoGrad()}, Call: Unary(func(x T) T { return x.Norm(0) }), Torch: "torch.linalg.vector_norm(a, 0)"},
		row("Tensor.Norm", "of nothing", F(0), func(x T) T { return x.Norm(2) }, "torch.linalg.vector_norm(a)", ""),
		row("Tensor.NormKeep", "", F(2, 3), func(x T) T { return x.NormKeep(2, 1) }, "torch.linalg.vector_norm(a, 2, 1, True)", "a"),

		large(row("Tensor.LogSumExp", "", F(2, 3), func(x T) T { return x.LogSumExp(1) }, "a.logsumexp(1)", "a")),
		row("Tensor.LogSumExp", "two dimensions", F(2, 3, 4), func(x T) T { return x.LogSumExp(0, 2) }, "a.logsumexp((0, 2))", "+96"),
		row("Tensor.LogSumExp", "all", F(2, 3), func(x T) T { return x.LogSumExp() }, "a.logsumexp((0, 1))", "a"),
		row("Tensor.LogSumExp", "int64", I(5), func(x T) T { return x.LogSumExp(0) }, "a.logsumexp(0)", ""),
		row("Tensor.LogSumExp", "large numbers", F(3).Of(1000, 999, -1000), func(x T) T { return x.LogSumExp(0) }, "a.logsumexp(0)", "a"),
		row("Tensor.LogSumExp", "of nothing", F(0, 2), func(x T) T { return x.LogSumExp(0) }, "a.logsumexp(0)", ""),
		row("Tensor.LogSumExp", "infinite", F(2, 2).Of(-inf, -inf, inf, 0).NoGrad(), func(x T) T { return x.LogSumExp(1) }, "a.logsumexp(1)", ""),
		row("Tensor.LogSumExpKeep", "", F(2, 3), func(x T) T { return x.LogSumExpKeep(0) }, "a.logsumexp(0, keepdim=True)", "a"),

		large(row("Tensor.CumSum", "", F(2, 3), func(x T) T { return x.CumSum(1) }, "a.cumsum(1)", "")),
		row("Tensor.CumSum", "first dimension", D(3, 2), func(x T) T { return x.CumSum(0) }, "a.cumsum(0)", ""),
		row("Tensor.CumSum", "number", F(), func(x T) T { return x.CumSum(0) }, "a.cumsum(0)", ""),
		row("Tensor.CumSum", "bool", B(7), func(x T) T { return x.CumSum(0) }, "a.cumsum(0)", ""),
		row("Tensor.CumSum", "empty", F(2, 0), func(x T) T { return x.CumSum(1) }, "a.cumsum(1)", ""),
	})
}
