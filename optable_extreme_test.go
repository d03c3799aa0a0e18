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
	two := func(op, name string, in Input, f func(x T) (T, T), torch, saved string) Case {
		return Case{Op: op, Name: name, In: []Input{in}, Torch: torch, Saved: saved, Large: big, Call: func(_ *ebb.Scope, in []T) []T {
			values, indices := f(in[0])
			return []T{values, indices}
		}}
	}
	kink := func(c Case) Case {
		c.Skip = map[Check]string{GradCheck: "equal elements: no derivative", GradGrad: "equal elements: no derivative"}
		return c
	}
	d := F(3, 4).As(Distinct)
	ties := F(2, 4).Of(1, 3, 3, 2, 3, 0, 0, 3)
	nan := F(2, 3).Of(1, math.NaN(), math.NaN(), 3, 2, 1)
	table.Add("extreme", []Case{
		row("Tensor.Max", "", d, func(x T) T { return x.Max() }, "a.max()", "a"),
		kink(row("Tensor.Max", "ties", ties, func(x T) T { return x.Max() }, "a.max()", "a")),
		kink(row("Tensor.Max", "nan", nan, func(x T) T { return x.Max() }, "a.max()", "a")),
		row("Tensor.Max", "int64", I(2, 3), func(x T) T { return x.Max() }, "a.max()", ""),
		row("Tensor.Max", "bool", B(5), func(x T) T { return x.Max() }, "a.max()", ""),
		row("Tensor.Min", "", d, func(x T) T { return x.Min() }, "a.min()", "a"),
		kink(row("Tensor.Min", "ties", ties, func(x T) T { return x.Min() }, "a.min()", "a")),
		row("Tensor.Min", "uint8", U8(2, 3), func(x T) T { return x.Min() }, "a.min()", ""),
		row("Tensor.Amax", "", d, func(x T) T { return x.Amax(0) }, "a.amax(0)", "a"),
		row("Tensor.Amax", "all", d, func(x T) T { return x.Amax() }, "a.amax()", "a"),
		kink(row("Tensor.Amax", "ties", ties, func(x T) T { return x.Amax(1) }, "a.amax(1)", "a")),
		kink(row("Tensor.Amax", "nan", nan, func(x T) T { return x.Amax(1) }, "a.amax(1)", "a")),
		row("Tensor.AmaxKeep", "", F(2, 3, 2).As(Distinct), func(x T) T { return x.AmaxKeep(0, 2) }, "a.amax((0, 2), True)", "a"),
		row("Tensor.Amin", "", d, func(x T) T { return x.Amin(-1) }, "a.amin(-1)", "a"),
		row("Tensor.Amin", "number", F(), func(x T) T { return x.Amin(0) }, "a.amin(0)", "a"),
		row("Tensor.Amin", "nothing", F(0, 3), func(x T) T { return x.Amin(1) }, "a.amin(1)", ""),
		row("Tensor.AminKeep", "", d, func(x T) T { return x.AminKeep(1) }, "a.amin(1, True)", "a"),

		two("Tensor.MaxDim", "", d, func(x T) (T, T) { return x.MaxDim(1) }, "a.max(1)", ""),
		kink(two("Tensor.MaxDim", "ties", ties, func(x T) (T, T) { return x.MaxDim(1) }, "a.max(1)", "")),
		kink(two("Tensor.MaxDim", "nan", nan, func(x T) (T, T) { return x.MaxDim(1) }, "a.max(1)", "")),
		two("Tensor.MaxDim", "number", F(), func(x T) (T, T) { return x.MaxDim(-1) }, "a.max(-1)", ""),
		two("Tensor.MaxDim", "int32", I32(3, 4), func(x T) (T, T) { return x.MaxDim(0) }, "a.max(0)", ""),
		two("Tensor.MaxDim", "nothing", F(0, 3), func(x T) (T, T) { return x.MaxDim(1) }, "a.max(1)", ""),
		two("Tensor.MaxDimKeep", "", d, func(x T) (T, T) { return x.MaxDimKeep(0) }, "a.max(0, True)", ""),
		two("Tensor.MinDim", "", d, func(x T) (T, T) { return x.MinDim(0) }, "a.min(0)", ""),
		two("Tensor.MinDimKeep", "", d, func(x T) (T, T) { return x.MinDimKeep(1) }, "a.min(1, True)", ""),

		row("Tensor.ArgMax", "", d, func(x T) T { return x.ArgMax(1) }, "a.argmax(1)", ""),
		row("Tensor.ArgMax", "all", d, func(x T) T { return x.ArgMax() }, "a.argmax()", ""),
		row("Tensor.ArgMax", "nan", nan, func(x T) T { return x.ArgMax(1) }, "a.argmax(1)", ""),
		row("Tensor.ArgMax", "ties", ties, func(x T) T { return x.ArgMax() }, "a.argmax()", ""),
		row("Tensor.ArgMax", "number", I(), func(x T) T { return x.ArgMax(0) }, "a.argmax(0)", ""),
		row("Tensor.ArgMaxKeep", "", d, func(x T) T { return x.ArgMaxKeep(0) }, "a.argmax(0, True)", ""),
		row("Tensor.ArgMin", "", d, func(x T) T { return x.ArgMin(0) }, "a.argmin(0)", ""),
		row("Tensor.ArgMin", "all", d, func(x T) T { return x.ArgMin() }, "a.argmin()", ""),
		row("Tensor.ArgMinKeep", "", d, func(x T) T { return x.ArgMinKeep(1) }, "a.argmin(1, True)", ""),
	})
}
