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
	table.Add("like", []Case{
		{Op: "Linspace", Call: made(func(s *ebb.Scope) T { return ebb.Linspace(s, -1, 2, 7) }), Torch: "torch.linspace(-1, 2, 7)"},
		{Op: "Linspace", Name: "float64", Call: made(func(s *ebb.Scope) T { return ebb.Linspace(s, 0, 1, 10, ebb.Float64) }), Torch: "torch.linspace(0, 1, 10, dtype=torch.float64)"},
		{Op: "Linspace", Name: "one", Call: made(func(s *ebb.Scope) T { return ebb.Linspace(s, 3, 5, 1) }), Torch: "torch.linspace(3, 5, 1)"},
		{Op: "Linspace", Name: "two", Call: made(func(s *ebb.Scope) T { return ebb.Linspace(s, 3, 5, 2) }), Torch: "torch.linspace(3, 5, 2)"},
		{Op: "Linspace", Name: "none", Call: made(func(s *ebb.Scope) T { return ebb.Linspace(s, 3, 5, 0) }), Torch: "torch.linspace(3, 5, 0)"},
		{Op: "Eye", Call: made(func(s *ebb.Scope) T { return ebb.Eye(s, 3, 3) }), Torch: "torch.eye(3)"},
		{Op: "Eye", Name: "wide", Call: made(func(s *ebb.Scope) T { return ebb.Eye(s, 2, 4, ebb.Int64) }), Torch: "torch.eye(2, 4, dtype=torch.int64)"},
		{Op: "Eye", Name: "tall", Call: made(func(s *ebb.Scope) T { return ebb.Eye(s, 3, 2, ebb.Bool) }), Torch: "torch.eye(3, 2, dtype=torch.bool)"},
		{Op: "Eye", Name: "nothing", Call: made(func(s *ebb.Scope) T { return ebb.Eye(s, 0, 2) }), Torch: "torch.eye(0, 2)"},
		{Op: "ZerosLike", In: []Input{D(2, 3)}, Call: Unary(func(x T) T { return ebb.ZerosLike(x) }), Torch: "torch.zeros_like(a)"},
		{Op: "OnesLike", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return ebb.OnesLike(x, ebb.Int32) }), Torch: "torch.ones_like(a, dtype=torch.int32)"},
		{Op: "FullLike", In: []Input{I(2, 3)}, Call: Unary(func(x T) T { return ebb.FullLike(x, 7) }), Torch: "torch.full_like(a, 7)"},
		{Op: "EmptyLike", In: []Input{F(2, 3)}, Call: Unary(func(x T) T { return ebb.EmptyLike(x).Fill_(2) }), Torch: "torch.empty_like(a).fill_(2)"},
	})
}
