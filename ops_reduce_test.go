package ebb_test

import (
	"math"
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestReductionErrors(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("s")
	x := ebb.Ones(s, ebb.Shape{2, 3})
	empty := ebb.Ones(s, ebb.Shape{0, 3})
	ints := ebb.Ones(s, ebb.Shape{2, 3}, ebb.Int64)
	for _, c := range []struct {
		name  string
		kind  ebb.ErrorKind
		words string
		f     func()
	}{
		{"dimension out of range", ebb.ErrIndex, "dimension 2 of a tensor with 2", func() { x.Sum(2) }},
		{"dimension twice", ebb.ErrValue, "dimension -1 occurs twice", func() { x.Mean(1, -1) }},
		{"mean of integers", ebb.ErrDType, "To(Float32)", func() { ints.Mean() }},
		{"variance of integers", ebb.ErrDType, "To(Float32)", func() { ints.Var(1) }},
		{"standard deviation of integers", ebb.ErrDType, "To(Float32)", func() { ints.Std(1) }},
		{"norm of integers", ebb.ErrDType, "To(Float32)", func() { ints.Norm(2) }},
		{"softmax of integers", ebb.ErrDType, "To(Float32)", func() { ints.Softmax(0) }},
		{"log softmax of integers", ebb.ErrDType, "To(Float32)", func() { ints.LogSoftmax(0) }},
		{"softmax over no dimension", ebb.ErrIndex, "dimension -3", func() { x.Softmax(-3) }},
		{"maximum of nothing", ebb.ErrShape, "dimension 0 is empty", func() { empty.Max() }},
		{"minimum of nothing", ebb.ErrShape, "dimension 0 is empty", func() { empty.Amin(0) }},
		{"maximum along nothing", ebb.ErrShape, "dimension 0 is empty", func() { empty.MaxDim(0) }},
		{"position in nothing", ebb.ErrShape, "is empty", func() { empty.ArgMax() }},
		{"position along nothing", ebb.ErrShape, "dimension 0 is empty", func() { empty.ArgMin(0) }},
		{"position along two dimensions", ebb.ErrValue, "2 dimensions", func() { x.ArgMax(0, 1) }},
		{"largest norm of nothing", ebb.ErrShape, "dimension 0 is empty", func() { empty.Norm(math.Inf(1), 0) }},
		{"norm without an order", ebb.ErrValue, "NaN", func() { x.Norm(math.NaN()) }},
		{"infinite correction", ebb.ErrValue, "correction", func() { x.Var(math.Inf(1)) }},
		{"running sum", ebb.ErrIndex, "dimension 5", func() { x.CumSum(5) }},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.kind, c.words, c.f) })
	}
}

// The gradient of a product is right at zeros, however many, and so is that of
// the gradient: both against products written out.
func TestProdGradientAtZeros(t *testing.T) {
	rt := newRuntime(t)
	for _, data := range [][]float64{{2, 3, 4}, {0, 3, 4}, {0, 3, 0}, {0, 0, 0}} {
		run(t, rt, func(s *ebb.Scope) {
			x := ebb.FromSlice(s, data).SetRequiresGrad(true)
			g := ebb.Grad([]*ebb.Tensor{x.Prod()}, []*ebb.Tensor{x}, ebb.CreateGraph)[0]
			h := ebb.Grad([]*ebb.Tensor{g.Select(0, 0).Add(g.Select(0, 2))}, []*ebb.Tensor{x}, ebb.AllowUnused)[0]
			a, b, c := data[0], data[1], data[2]
			for what, both := range map[string][2][]float64{
				"first":  {g.Float64s(), {b * c, a * c, a * b}},
				"second": {h.Float64s(), {b, a + c, b}},
			} {
				for i, want := range both[1] {
					if both[0][i] != want {
						t.Errorf("%v: %s derivatives %v, want %v", data, what, both[0], both[1])
						break
					}
				}
			}
		})
	}
}

// Sums of integers wrap in Int64, not in their own type.
func TestSumsOfSmallTypes(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		x := ebb.Full(s, ebb.Shape{1000}, 255, ebb.Uint8)
		if y := x.Sum(); y.DType() != ebb.Int64 || y.Item() != 255_000 {
			t.Errorf("sum of 1000 times 255 in uint8: %v of %s", y.Item(), y.DType())
		}
		if y := x.CumSum(0).Amax(); y.DType() != ebb.Int64 || y.Item() != 255_000 {
			t.Errorf("running sum of 1000 times 255 in uint8: %v of %s", y.Item(), y.DType())
		}
	})
}
