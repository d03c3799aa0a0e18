package nn_test

import (
	"math"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
)

// The values and gradients of the losses are compared with PyTorch's by the
// operation table.

func TestLossErrors(t *testing.T) {
	rt, st := newModelStore(t)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		logits := ebb.Ones(s, ebb.Shape{3, 4}).SetRequiresGrad(true)
		classes := func(v ...int64) *ebb.Tensor { return ebb.FromSlice(s, v) }
		good := classes(0, 1, 2)
		weight := ebb.Ones(s, ebb.Shape{4})
		stored, storedTarget := ebb.Ones(st, ebb.Shape{3, 4}), ebb.Zeros(st, ebb.Shape{3}, ebb.Int64)
		for _, c := range []struct {
			name string
			kind ebb.ErrorKind
			f    func() *ebb.Tensor
			part string
		}{
			{"class too large", ebb.ErrIndex, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, classes(0, 4, 1)) }, "4"},
			{"class negative", ebb.ErrIndex, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, classes(0, -1, 1)) }, "-1"},
			{"default index not ignored", ebb.ErrIndex, func() *ebb.Tensor {
				return nn.CrossEntropyLoss(logits, classes(0, -100, 1), nn.IgnoreIndex(2))
			}, "-100"},
			{"targets too few", ebb.ErrShape, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, classes(0, 1)) }, "[3]"},
			{"probabilities of another shape", ebb.ErrShape, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, weight) }, "shape"},
			{"probabilities of another type", ebb.ErrShape, func() *ebb.Tensor {
				return nn.CrossEntropyLoss(logits, ebb.Ones(s, ebb.Shape{3, 4}, ebb.Float64))
			}, "type"},
			{"bool targets", ebb.ErrDType, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, ebb.Zeros(s, ebb.Shape{3}, ebb.Bool)) }, "bool"},
			{"integer logits", ebb.ErrDType, func() *ebb.Tensor { return nn.CrossEntropyLoss(ebb.Zeros(s, ebb.Shape{3, 4}, ebb.Int64), good) }, "floating"},
			{"weight of another shape", ebb.ErrShape, func() *ebb.Tensor {
				return nn.CrossEntropyLoss(logits, good, nn.ClassWeight(ebb.Ones(s, ebb.Shape{3})))
			}, "[4]"},
			{"weight with a gradient", ebb.ErrGraph, func() *ebb.Tensor {
				return nn.CrossEntropyLoss(logits, good, nn.ClassWeight(ebb.Ones(s, ebb.Shape{4}).SetRequiresGrad(true)))
			}, "Detach"},
			{"smoothing", ebb.ErrValue, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, good, nn.LabelSmoothing(1.5)) }, "1.5"},
			{"smoothing NaN", ebb.ErrValue, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, good, nn.LabelSmoothing(math.NaN())) }, "NaN"},
			{"reduction", ebb.ErrValue, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, good, nn.Reduction(9)) }, "9"},
			{"no target", ebb.ErrValue, func() *ebb.Tensor { return nn.CrossEntropyLoss(logits, nil) }, "nil"},
			{"stores alone", ebb.ErrNoScope, func() *ebb.Tensor { return nn.CrossEntropyLoss(stored, storedTarget) }, "In(scope)"},
			{"MSE of two types", ebb.ErrDType, func() *ebb.Tensor { return nn.MSELoss(logits, ebb.Ones(s, ebb.Shape{3, 4}, ebb.Float64)) }, "type"},
			{"MSE of shapes", ebb.ErrShape, func() *ebb.Tensor { return nn.MSELoss(logits, ebb.Ones(s, ebb.Shape{3})) }, "broadcast"},
			{"MSE of integers", ebb.ErrDType, func() *ebb.Tensor { return nn.MSELoss(good, good) }, "floating"},
			{"MSE with an option of classes", ebb.ErrValue, func() *ebb.Tensor { return nn.MSELoss(logits, logits, nn.IgnoreIndex(1)) }, "Reduction"},
			{"MSE of nil", ebb.ErrValue, func() *ebb.Tensor { return nn.MSELoss(nil, logits) }, "nil"},
		} {
			t.Run(c.name, func(t *testing.T) { wantError(t, c.kind, func() { c.f() }, c.part) })
		}
		// After every error the next step works.
		nn.CrossEntropyLoss(logits, good, nn.ClassWeight(weight)).Backward()
		if logits.Grad() == nil {
			t.Error("no gradient")
		}
	})
}

func TestLossErrorsLeaveNothing(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		logits := ebb.Ones(s, ebb.Shape{3, 4}).SetRequiresGrad(true)
		bad := ebb.FromSlice(s, []int64{0, 4, 1})
		flat(t, rt, func() {
			wantError(t, ebb.ErrIndex, func() { nn.CrossEntropyLoss(logits, bad) })
			wantError(t, ebb.ErrIndex, func() { nn.CrossEntropyLoss(logits, bad, nn.ClassWeight(ebb.Ones(logits.Scope(), ebb.Shape{4}))) })
			s.Recycle(logits, bad)
		})
	})
}
