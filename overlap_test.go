package ebb_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// What PyTorch 1.13 accepts of x.add_(y) with y in x's memory, and what not:
// "some elements of the input tensor and the written-to tensor refer to a
// single memory location".
func TestPartialOverlap(t *testing.T) {
	type T = *ebb.Tensor
	for _, c := range []struct {
		name string
		make func(x T) (T, T) // of a 4 x 4 tensor
		ok   bool
	}{
		{"itself", func(x T) (T, T) { return x, x }, true},
		{"the same view", func(x T) (T, T) { return x.Narrow(0, 1, 2), x.Narrow(0, 1, 2) }, true},
		{"transposed", func(x T) (T, T) { return x, x.T() }, false},
		{"rows one on", func(x T) (T, T) { return x.Narrow(0, 0, 3), x.Narrow(0, 1, 3) }, false},
		{"other rows", func(x T) (T, T) { return x.Narrow(0, 0, 2), x.Narrow(0, 2, 2) }, true},
		{"a row of itself", func(x T) (T, T) { return x, x.Select(0, 2) }, false},
		{"an element of itself", func(x T) (T, T) { return x, x.Select(0, 2).Select(0, 1) }, false},
		{"a row of other rows", func(x T) (T, T) { return x.Narrow(0, 0, 2), x.Select(0, 2) }, true},
		{"columns, which have gaps", func(x T) (T, T) { return x.Narrow(1, 0, 2), x.Narrow(1, 2, 2) }, true},
		{"the flat view", func(x T) (T, T) { return x.View(16), x.View(16) }, true},
		{"a copy", func(x T) (T, T) { return x, x.Clone().T() }, true},
		{"nothing", func(x T) (T, T) { return x.Narrow(0, 0, 0), x.Narrow(0, 2, 0) }, true},
		{"transposed both", func(x T) (T, T) { return x.T(), x.T() }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt := newRuntime(t)
			s := rt.NewScope("test")
			defer s.Close()
			data := make([]float32, 16)
			for i := range data {
				data[i] = float32(i)
			}
			base := ebb.FromSlice(s, data, 4, 4)
			x, y := c.make(base)
			if c.ok {
				want := x.Add(y).Float32s()
				x.Add_(y)
				wantValues(t, x, want...)
				return
			}
			wantError(t, ebb.ErrValue, "shares some of its memory", func() { x.Add_(y) })
			wantValues(t, base, data...)
			if base.Version() != 0 {
				t.Error("the version changed")
			}
		})
	}
}
