package ebb_test

import (
	"math"

	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	big := []Input{F(1000, 777)}
	row := func(op, name string, in Input, f func(x T) T, torch string) Case {
		return Case{Op: op, Name: name, In: []Input{in}, Call: Unary(f), Torch: torch, Large: big}
	}
	inf := math.Inf(1)
	wide := F(3, 3).Of(1000, 999, -1000, 0, 0, 0, -100, 3, 4)
	odd := F(3, 2).Of(-inf, -inf, inf, 0, math.NaN(), 1).NoGrad()
	table.Add("softmax", []Case{
		row("Tensor.Softmax", "", F(2, 3), func(x T) T { return x.Softmax(1) }, "a.softmax(1)"),
		row("Tensor.Softmax", "first dimension", D(3, 2, 2), func(x T) T { return x.Softmax(0) }, "a.softmax(0)"),
		row("Tensor.Softmax", "number", F(), func(x T) T { return x.Softmax(-1) }, "a.softmax(-1)"),
		row("Tensor.Softmax", "large numbers", wide, func(x T) T { return x.Softmax(1) }, "a.softmax(1)"),
		row("Tensor.Softmax", "not finite", odd, func(x T) T { return x.Softmax(1) }, "a.softmax(1)"),
		row("Tensor.Softmax", "empty", F(2, 0), func(x T) T { return x.Softmax(1) }, "a.softmax(1)"),
		row("Tensor.LogSoftmax", "", F(2, 3), func(x T) T { return x.LogSoftmax(1) }, "a.log_softmax(1)"),
		row("Tensor.LogSoftmax", "middle dimension", D(2, 3, 2), func(x T) T { return x.LogSoftmax(1) }, "a.log_softmax(1)"),
		row("Tensor.LogSoftmax", "number", F(), func(x T) T { return x.LogSoftmax(0) }, "a.log_softmax(0)"),
		row("Tensor.LogSoftmax", "large numbers", wide, func(x T) T { return x.LogSoftmax(1) }, "a.log_softmax(1)"),
		row("Tensor.LogSoftmax", "not finite", odd, func(x T) T { return x.LogSoftmax(1) }, "a.log_softmax(1)"),
		row("Tensor.LogSoftmax", "empty", F(0, 2), func(x T) T { return x.LogSoftmax(1) }, "a.log_softmax(1)"),
	})
}
