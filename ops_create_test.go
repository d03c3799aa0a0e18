package ebb_test

import (
	"math"
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestCreationErrors(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("s")
	st := rt.NewStore("store")
	x := ebb.Ones(st, ebb.Shape{2})
	for _, c := range []struct {
		name  string
		kind  ebb.ErrorKind
		words string
		f     func()
	}{
		{"negative size", ebb.ErrShape, "size -2 of dimension 1 is negative", func() { ebb.Zeros(s, ebb.Shape{3, -2}) }},
		{"too many elements", ebb.ErrShape, "overflows", func() { ebb.Ones(s, ebb.Shape{math.MaxInt, 2}) }},
		{"too many bytes", ebb.ErrShape, "more than a machine", func() { ebb.Empty(s, ebb.Shape{1 << 60}, ebb.Float64) }},
		{"no element type", ebb.ErrDType, "no element type", func() { ebb.Zeros(s, nil, ebb.DType(99)) }},
		{"gradient of integers", ebb.ErrDType, "int64", func() { ebb.Zeros(s, nil, ebb.Int64, ebb.RequiresGrad) }},
		{"no number", ebb.ErrValue, "no number", func() { ebb.Full(s, nil, "7") }},
		{"step of 0", ebb.ErrValue, "steps of 0", func() { ebb.Arange(s, 0, 5, 0) }},
		{"step away", ebb.ErrValue, "steps of -1", func() { ebb.Arange(s, 0, 5, -1) }},
		{"no end", ebb.ErrValue, "NaN", func() { ebb.Arange(s, 0, math.NaN(), 1) }},
		{"negative steps", ebb.ErrValue, "-1 steps", func() { ebb.Linspace(s, 0, 1, -1) }},
		{"integer steps", ebb.ErrDType, "Arange", func() { ebb.Linspace(s, 0, 1, 3, ebb.Int64) }},
		{"negative matrix", ebb.ErrShape, "negative", func() { ebb.Eye(s, -1, 2) }},
		{"like a tensor of a store", ebb.ErrNoScope, "x.In(scope)", func() { ebb.ZerosLike(x) }},
		{"random like a tensor of a store", ebb.ErrNoScope, "x.In(scope)", func() { ebb.RandLike(x) }},
		{"values that do not fit", ebb.ErrShape, "3 values", func() { ebb.FromSlice(s, []float32{1, 2, 3}, 2) }},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.kind, c.words, c.f) })
	}
}

// The ends of Linspace are the numbers given, whatever the rounding between.
func TestLinspaceEnds(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		for _, n := range []int{2, 3, 10, 101} {
			x := ebb.Linspace(s, 0.1, 0.7, n).Float32s()
			if len(x) != n || x[0] != 0.1 || x[n-1] != 0.7 {
				t.Errorf("%d steps: from %v to %v", len(x), x[0], x[n-1])
			}
		}
	})
}
