package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	table.Add("loss", []Case{
		{Op: "CrossEntropy", In: []Input{F(3, 4), I(3).Of(2, 0, 3)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100})}
		}, Torch: "F.cross_entropy(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropy", Name: "sum", In: []Input{F(3, 4), I(3).Of(2, 0, 3)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100, Reduction: ebb.ReduceSum})}
		}, Torch: "F.cross_entropy(a, b, reduction='sum')", Saved: "a b +24"},
		{Op: "CrossEntropy", Name: "none", In: []Input{F(3, 4), I(3).Of(2, 0, 3)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100, Reduction: ebb.ReduceNone})}
		}, Torch: "F.cross_entropy(a, b, reduction='none')", Saved: "a b +24"},
		{Op: "CrossEntropy", Name: "smoothing", In: []Input{F(3, 4), I(3).Of(2, 0, 3)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100, LabelSmoothing: 0.2})}
		}, Torch: "F.cross_entropy(a, b, label_smoothing=0.2)", Saved: "a b +24"},
		{Op: "CrossEntropy", Name: "ignored", In: []Input{F(3, 4), I(3).Of(2, -100, 3)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100})}
		}, Torch: "F.cross_entropy(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropy", Name: "weight", In: []Input{F(3, 4), I(3).Of(2, 0, 3), F(4).NoGrad().As(Positive)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100, Weight: in[2]})}
		}, Torch: "F.cross_entropy(a, b, weight=c)", Saved: "a b c +24"},
		{Op: "CrossEntropy", Name: "weight and smoothing", In: []Input{F(3, 4), I(3).Of(2, 0, 3), F(4).NoGrad().As(Positive)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100, Weight: in[2], LabelSmoothing: 0.1, Reduction: ebb.ReduceNone})}
		}, Torch: "F.cross_entropy(a, b, weight=c, label_smoothing=0.1, reduction='none')", Saved: "a b c +24"},
		{Op: "CrossEntropy", Name: "more dimensions", In: []Input{F(2, 4, 3), I(2, 3).As(Below(4))}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100})}
		}, Torch: "F.cross_entropy(a, b)", Saved: "a b +48"},
		{Op: "CrossEntropy", Name: "one row", In: []Input{F(4), I().Of(2)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100})}
		}, Torch: "F.cross_entropy(a, b)", Saved: "a b +8"},
		{Op: "CrossEntropy", Name: "probabilities", In: []Input{F(3, 4), F(3, 4).As(Probability)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100})}
		}, Torch: "F.cross_entropy(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropy", Name: "probabilities and weight", In: []Input{F(3, 4), F(3, 4).As(Probability), F(4).NoGrad().As(Positive)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100, Weight: in[2], LabelSmoothing: 0.1})}
		}, Torch: "F.cross_entropy(a, b, weight=c, label_smoothing=0.1)", Saved: "a b c +24"},
		{Op: "CrossEntropy", Name: "large", In: []Input{F(3, 4).Of(1000, 0, 0, 0, -1000, 0, 0, 0, 1, 2, 3, 4), I(3).Of(2, 0, 3)}, Call: func(s *ebb.Scope, in []T) []T {
			return []T{ebb.CrossEntropy(in[0], in[1], ebb.CrossEntropyOptions{IgnoreIndex: -100})}
		}, Torch: "F.cross_entropy(a, b)", Saved: "a b +24"},
		{Op: "MSELoss", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(func(x, y T) T { return ebb.MSELoss(x, y, ebb.ReduceMean) }), Torch: "F.mse_loss(a, b, reduction='mean')", Saved: "a b", Large: []Input{F(700, 900), F(700, 900)}},
		{Op: "MSELoss", Name: "sum", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(func(x, y T) T { return ebb.MSELoss(x, y, ebb.ReduceSum) }), Torch: "F.mse_loss(a, b, reduction='sum')", Saved: "a b", Large: []Input{F(700, 900), F(700, 900)}},
		{Op: "MSELoss", Name: "none", In: []Input{F(2, 3), F(2, 3)}, Call: Binary(func(x, y T) T { return ebb.MSELoss(x, y, ebb.ReduceNone) }), Torch: "F.mse_loss(a, b, reduction='none')", Saved: "a b", Large: []Input{F(700, 900), F(700, 900)}},
		{Op: "MSELoss", Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: Binary(func(x, y T) T { return ebb.MSELoss(x, y, ebb.ReduceMean) }), Torch: "F.mse_loss(a, b)", Saved: "a b"},
	})
}
