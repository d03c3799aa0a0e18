package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	sgd := func(o ebb.SGDOptions) func(*ebb.Scope, []T) []T {
		return func(_ *ebb.Scope, in []T) []T {
			if o.Momentum == 0 {
				ebb.SGD_(in[:1], in[1:2], nil, &o)
				return in[:1]
			}
			ebb.SGD_(in[:1], in[1:2], in[2:3], &o)
			return []T{in[0], in[2]}
		}
	}
	two := []Input{F(3, 3).NoGrad(), F(3, 3).NoGrad()}
	three := append(two[:2:2], F(3, 3).NoGrad())
	both := map[Check]string{Leaks: "changes the momentum as well", Alias: "the momentum is a buffer of its own"}
	table.Add("update", []Case{
		{Op: "SGD_", In: two, InPlace: true, Call: sgd(ebb.SGDOptions{LR: 0.1}), Torch: "a.add_(b, alpha=-0.1)", Large: []Input{F(700, 900).NoGrad(), F(700, 900).NoGrad()}},
		{Op: "SGD_", Name: "weight decay", In: two, InPlace: true, Call: sgd(ebb.SGDOptions{LR: 0.1, WeightDecay: 0.01}), Torch: "a.add_(b.add(a, alpha=0.01), alpha=-0.1)"},
		{Op: "SGD_", Name: "maximize", In: two, InPlace: true, Call: sgd(ebb.SGDOptions{LR: 0.1, Maximize: true}), Torch: "a.add_(-b, alpha=-0.1)"},
		{Op: "SGD_", Name: "momentum", In: three, InPlace: true, Call: sgd(ebb.SGDOptions{LR: 0.1, Momentum: 0.9, Dampening: 0.2}), Skip: both,
			Torch: "c.mul_(0.9).add_(b, alpha=0.8); a.add_(c, alpha=-0.1); (a, c)"},
		{Op: "SGD_", Name: "nesterov", In: three, InPlace: true, Call: sgd(ebb.SGDOptions{LR: 0.1, Momentum: 0.9, Nesterov: true}), Skip: both,
			Torch: "c.mul_(0.9).add_(b); a.add_(b.add(c, alpha=0.9), alpha=-0.1); (a, c)"},
		{Op: "SGD_", Name: "first step", In: three, InPlace: true, Call: sgd(ebb.SGDOptions{LR: 0.1, Momentum: 0.9, Dampening: 0.2, First: true}), Skip: both,
			Torch: "c.copy_(b); a.add_(c, alpha=-0.1); (a, c)"},
	})
}
