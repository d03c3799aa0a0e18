package ebb_test

import (
	"math"

	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	call := func(_ *ebb.Scope, in []T) []T {
		if len(in) == 2 {
			return []T{ebb.LinearReLU(in[0], in[1], nil)}
		}
		return []T{ebb.LinearReLU(in[0], in[1], in[2])}
	}
	table.Add("linear", []Case{
		{Op: "LinearReLU", In: []Input{F(2, 3), F(4, 3), F(4)}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "a b +1", Large: []Input{F(300, 200), F(264, 200), F(264)}},
		{Op: "LinearReLU", Name: "whole bytes", In: []Input{F(5, 9), F(16, 9), F(16)}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "a b +10", Large: []Input{F(300, 200), F(260, 200), F(260)}},
		{Op: "LinearReLU", Name: "stack", In: []Input{F(2, 2, 3), F(8, 3), F(8)}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "a b +4"},
		{Op: "LinearReLU", Name: "vector", In: []Input{F(3), F(4, 3), F(4)}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "a b +1"},
		{Op: "LinearReLU", Name: "one output", In: []Input{F(4, 3), F(3)}, Call: call, Torch: "F.relu(F.linear(a, b))", Saved: "a b +1"},
		{Op: "LinearReLU", Name: "without bias", In: []Input{F(2, 3), F(4, 3)}, Call: call, Torch: "F.relu(F.linear(a, b))", Saved: "a b +1"},
		{Op: "LinearReLU", Name: "first layer", In: []Input{F(2, 3).NoGrad(), F(4, 3), F(4)}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "a +1"},
		{Op: "LinearReLU", Name: "frozen", In: []Input{F(2, 3), F(4, 3).NoGrad(), F(4).NoGrad()}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "b +1"},
		{Op: "LinearReLU", Name: "no rows", In: []Input{F(0, 3), F(4, 3), F(4)}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "a b"},
		{Op: "LinearReLU", Name: "no inputs", In: []Input{F(2, 0), F(4, 0), F(4)}, Call: call, Torch: "F.relu(F.linear(a, b, c))", Saved: "a b +1"},
		{Op: "LinearReLU", Name: "special", In: []Input{F(2, 3).NoGrad(), F(8, 3).NoGrad(), F(8).Of(math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e-40, -1e-40, 3, -3).NoGrad()}, Call: call, Torch: "F.relu(F.linear(a, b, c))"},
	})
}
