package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	table.Add("function", []Case{
		{Op: "Apply", In: []Input{F(2, 3)}, Call: func(_ *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor { return ebb.Apply("cube", cube{3}, in...) }, Torch: "a * a * a", Saved: "a"},
	})
}
