package ebb_test

import (
	"math"
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestJoinErrors(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("s")
	x, y := ebb.Ones(s, ebb.Shape{2, 3}), ebb.Ones(s, ebb.Shape{2, 4})
	number := ebb.Ones(s, nil)
	for _, c := range []struct {
		name  string
		kind  ebb.ErrorKind
		words string
		f     func()
	}{
		{"cat of nothing", ebb.ErrValue, "no tensors", func() { ebb.Cat(nil, 0) }},
		{"cat of nil", ebb.ErrValue, "tensor 1 is nil", func() { ebb.Cat([]*ebb.Tensor{x, nil}, 0) }},
		{"cat of other shapes", ebb.ErrShape, "tensor 1", func() { ebb.Cat([]*ebb.Tensor{x, y}, 0) }},
		{"cat of other ranks", ebb.ErrShape, "tensor 1", func() { ebb.Cat([]*ebb.Tensor{x, ebb.Ones(s, ebb.Shape{3})}, 0) }},
		{"cat of numbers", ebb.ErrShape, "use Stack", func() { ebb.Cat([]*ebb.Tensor{number, number}, 0) }},
		{"cat along nothing", ebb.ErrIndex, "dimension 2", func() { ebb.Cat([]*ebb.Tensor{x, x}, 2) }},
		{"stack of nothing", ebb.ErrValue, "no tensors", func() { ebb.Stack(nil, 0) }},
		{"stack of other shapes", ebb.ErrShape, "tensor 1", func() { ebb.Stack([]*ebb.Tensor{x, y}, 0) }},
		{"stack along nothing", ebb.ErrIndex, "dimension 3", func() { ebb.Stack([]*ebb.Tensor{x, x}, 3) }},
		{"split of a number", ebb.ErrShape, "without dimensions", func() { number.Split(1, 0) }},
		{"split in parts of 0", ebb.ErrValue, "parts of size 0", func() { x.Split(0, 0) }},
		{"split in negative parts", ebb.ErrValue, "parts of size -1", func() { x.Split(-1, 0) }},
		{"split with a rest", ebb.ErrShape, "leave 1 of 3", func() { x.SplitSizes([]int{1, 1}, 1) }},
		{"split too far", ebb.ErrShape, "part 1", func() { x.SplitSizes([]int{2, 2}, 1) }},
		{"split that overflows", ebb.ErrShape, "part 1", func() { x.SplitSizes([]int{2, math.MaxInt}, 1) }},
		{"no chunks", ebb.ErrValue, "0 chunks", func() { x.Chunk(0, 0) }},
		{"unbind of a number", ebb.ErrShape, "without dimensions", func() { number.Unbind(0) }},
		{"repeat fewer dimensions", ebb.ErrShape, "use Tile", func() { x.Repeat(2) }},
		{"repeat negatively", ebb.ErrShape, "-1 times", func() { x.Repeat(1, -1) }},
		{"repeat beyond all memory", ebb.ErrShape, "overflows", func() { x.Repeat(1, math.MaxInt) }},
		{"tile beyond all memory", ebb.ErrShape, "", func() { x.Tile(1<<40, 1<<40) }},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.kind, c.words, c.f) })
	}
}

// The gradients of parts are joined in one step: the peak of Backward does not
// grow with their number times the whole.
func TestUnbindGradientIsJoinedOnce(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		const n, size = 100, 1000
		x := ebb.Ones(s, ebb.Shape{n, size}, ebb.RequiresGrad)
		total := ebb.Zeros(s, nil)
		for i, part := range x.Unbind(0) {
			total = total.Add(part.Sum().MulScalar(i))
		}
		rt.ResetPeak()
		before := rt.Stats().Live.Current
		total.Backward()
		if peak := rt.Stats().Live.Peak - before; peak > 3*4*n*size {
			t.Errorf("Backward took %d bytes beside what was there, for a gradient of %d", peak, 4*n*size)
		}
		g := x.Grad().Float32s()
		for i := range n {
			if g[i*size] != float32(i) || g[(i+1)*size-1] != float32(i) {
				t.Fatalf("the gradient of part %d is %v", i, g[i*size])
			}
		}
	})
}

// Changing one part in place changes what the whole and the other parts were
// computed from.
func TestPartChangedInPlace(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		x := ebb.FromSlice(s, []float32{1, 2, 3, 4}, 2, 2).SetRequiresGrad(true)
		y := x.MulScalar(2)
		parts := y.Split(1, 0)
		parts[0].Mul_(ebb.FromSlice(s, []float32{3, 5}))
		y.Sum().Add(parts[1].Sum()).Backward()
		wantValues(t, y, 6, 20, 6, 8)
		wantValues(t, x.Grad(), 6, 10, 4, 4)
	})
}

// Views of a split in a NoGrad scope carry no graph.
func TestPartsWithoutGraph(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.Ones(st, ebb.Shape{2, 2}, ebb.RequiresGrad)
	if err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		for _, part := range w.In(s).Unbind(0) {
			if part.RequiresGrad() {
				t.Error("a part carries a graph in a NoGrad scope")
			}
			part.Add_(part)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wantValues(t, w, 2, 2, 2, 2)
}
