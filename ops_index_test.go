package ebb_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestIndexErrors(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("s")
	x := ebb.Ones(s, ebb.Shape{2, 3})
	number := ebb.Ones(s, nil)
	of := func(shape []int, v ...int64) *ebb.Tensor { return ebb.FromSlice(s, v, shape...) }
	i := of([]int{2}, 0, 1)
	far := of([]int{2, 2}, 0, 1, 0, 7)
	floats := ebb.Ones(s, ebb.Shape{2})
	for _, c := range []struct {
		name  string
		kind  ebb.ErrorKind
		words string
		f     func()
	}{
		{"select too far", ebb.ErrIndex, "index 3 at position [1] of the indices is out of range for a dimension of size 3", func() { x.IndexSelect(1, of([]int{2}, 0, 3)) }},
		{"select negatively", ebb.ErrIndex, "index -1 at position [0]", func() { x.IndexSelect(1, of([]int{1}, -1)) }},
		{"select by floats", ebb.ErrDType, "To(Int64)", func() { x.IndexSelect(0, floats) }},
		{"select by a matrix", ebb.ErrShape, "2 dimensions", func() { x.IndexSelect(0, far) }},
		{"select of a number", ebb.ErrShape, "without dimensions", func() { number.IndexSelect(0, i) }},
		{"select along nothing", ebb.ErrIndex, "dimension 2", func() { x.IndexSelect(2, i) }},
		{"add too far", ebb.ErrIndex, "index 2 at position [0]", func() { x.IndexAdd(0, of([]int{1}, 2), ebb.Ones(s, ebb.Shape{1, 3})) }},
		{"add another type", ebb.ErrDType, "int64, expected float32", func() { x.IndexAdd(0, i, ebb.Ones(s, ebb.Shape{2, 3}, ebb.Int64)) }},
		{"add another shape", ebb.ErrShape, "expected [2, 3]", func() { x.IndexAdd(0, i, ebb.Ones(s, ebb.Shape{3, 3})) }},
		{"add at itself", ebb.ErrValue, "Clone them first", func() { i.IndexAdd_(0, i, i) }},
		{"gather too far", ebb.ErrIndex, "index 7 at position [1, 1]", func() { x.Gather(1, far) }},
		{"gather by floats", ebb.ErrDType, "To(Int64)", func() { x.Gather(0, x) }},
		{"gather more rows", ebb.ErrShape, "do not fit", func() { x.Gather(1, of([]int{3, 1}, 0, 0, 0)) }},
		{"gather by a vector", ebb.ErrShape, "do not fit", func() { x.Gather(0, i) }},
		{"scatter too far", ebb.ErrIndex, "index 7 at position [1, 1]", func() { x.ScatterAdd(1, far, ebb.Ones(s, ebb.Shape{2, 2})) }},
		{"scatter a smaller source", ebb.ErrShape, "a source of shape [1, 2]", func() { x.ScatterAdd(0, far, ebb.Ones(s, ebb.Shape{1, 2})) }},
		{"scatter another type", ebb.ErrDType, "expected float32", func() { x.ScatterAdd(0, far, far) }},
		{"class too large", ebb.ErrIndex, "class 7 at position 3", func() { far.OneHot(7) }},
		{"no classes", ebb.ErrValue, "0 classes", func() { i.OneHot(0) }},
		{"classes beyond all memory", ebb.ErrShape, "", func() { i.OneHot(1 << 61) }},
		{"classes of floats", ebb.ErrDType, "To(Int64)", func() { floats.OneHot(2) }},
		{"triangle of a vector", ebb.ErrShape, "expected 2 or more", func() { floats.Tril(0) }},
		{"mask of floats", ebb.ErrDType, "expected bool", func() { x.MaskedSelect(x) }},
		{"mask of another shape", ebb.ErrShape, "broadcast", func() { x.MaskedSelect(ebb.Ones(s, ebb.Shape{2}, ebb.Bool)) }},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.kind, c.words, c.f) })
	}
}

// A bad index is found before anything is written.
func TestBadIndexLeavesTensor(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{2, 2})
		idx := ebb.FromSlice(s, []int64{0, 0, 1, 2}, 2, 2)
		wantError(t, ebb.ErrIndex, "index 2", func() { x.ScatterAdd_(0, idx, ebb.Ones(s, ebb.Shape{2, 2})) })
		wantError(t, ebb.ErrIndex, "index 2", func() { x.IndexAdd_(0, idx.Select(0, 1), ebb.Ones(s, ebb.Shape{2, 2})) })
		wantValues(t, x, 1, 1, 1, 1)
		if v := x.Version(); v != 0 {
			t.Errorf("the version of an unchanged tensor is %d", v)
		}
	})
}

// A tensor in a store is changed in place without a scope, from itself too.
func TestIndexAddInStore(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("data")
	x := ebb.FromSlice(st, []float32{1, 2, 3, 4}, 2, 2)
	idx := ebb.FromSlice(st, []int64{1, 1})
	before := flatOf(rt)
	x.IndexAdd_(0, idx, x)
	wantValues(t, x, 1, 2, 3+1+3, 4+2+4)
	if after := flatOf(rt); after != before {
		t.Errorf("after %+v, before %+v", after, before)
	}
}
