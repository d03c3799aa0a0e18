package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	var rows []Case
	large := []Input{F(200, 600)}
	for _, f := range []struct {
		op    string
		name  string
		call  func(x T) T
		torch string
		saved string
	}{
		{op: "LeakyReLU", call: func(x T) T { return x.LeakyReLU(0.01) }, torch: "F.leaky_relu(a)", saved: "+6"},
		{op: "LeakyReLU", name: "negative slope", call: func(x T) T { return x.LeakyReLU(-0.5) }, torch: "F.leaky_relu(a, -0.5)", saved: "+6"},
		{op: "GELU", call: T.GELU, torch: "F.gelu(a)", saved: "a"},
		{op: "GELUTanh", call: T.GELUTanh, torch: "F.gelu(a, approximate='tanh')", saved: "a"},
		{op: "SiLU", call: T.SiLU, torch: "F.silu(a)", saved: "a"},
		{op: "Softplus", call: func(x T) T { return x.Softplus(1, 20) }, torch: "F.softplus(a)", saved: "a"},
		{op: "Softplus", name: "threshold", call: func(x T) T { return x.Softplus(2, 1) }, torch: "F.softplus(a, 2, 1)", saved: "a"},
	} {
		row := Case{Op: "Tensor." + f.op, Name: f.name, In: []Input{F(2, 3)}, Call: Unary(f.call), Torch: f.torch, Saved: f.saved, Large: large}
		special := row
		special.Name, special.In, special.Large, special.Saved = "special "+f.name, []Input{F(12).Of(0, -1, 1, 88, -104, 3, 25, -25, 1e-30, 1e30, -1e30, 0.5).NoGrad()}, nil, ""
		rows = append(rows, row, special)
	}
	table.Add("activation", rows)
}
