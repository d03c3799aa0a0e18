package ebb_test

import (
	"math"
	"testing"

	"github.com/ebb-ml/ebb"
)

// operandsOf makes a small tensor of each type.
func operandsOf(s *ebb.Scope) (f, i, u, b *ebb.Tensor) {
	f = ebb.FromSlice(s, []float32{1.5, -2})
	i = ebb.FromSlice(s, []int64{3, -2})
	u = ebb.FromSlice(s, []uint8{3, 200})
	b = ebb.FromSlice(s, []bool{true, false})
	return f, i, u, b
}

func TestElementwiseErrors(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		f, i, u, b := operandsOf(s)
		three := ebb.Ones(s, ebb.Shape{3})
		wide := ebb.Ones(s, ebb.Shape{3, 2})
		zeros := ebb.FromSlice(s, []int64{1, 0})
		before, live := flatOf(rt), [...]*ebb.Tensor{f, i, u, b}
		for _, c := range []struct {
			kind  ebb.ErrorKind
			words string
			f     func()
		}{
			{ebb.ErrShape, "broadcast", func() { f.Add(three) }},
			{ebb.ErrShape, "broadcast", func() { f.Add_(wide) }},
			{ebb.ErrShape, "broadcast", func() { f.Addcmul(three, f, 1) }},
			{ebb.ErrShape, "broadcast", func() { f.Addcmul_(f, wide, 1) }},
			{ebb.ErrShape, "broadcast", func() { ebb.Where(b, f, three) }},
			{ebb.ErrShape, "broadcast", func() { f.MaskedFill_(wide.GtScalar(0), 1) }},
			{ebb.ErrShape, "broadcast", func() { f.AllClose(three) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.Add_(f) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.AddScalar_(1.5) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.Div_(i) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.DivScalar_(2) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.Exp_() }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.Reciprocal_() }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.Clamp_(0.5, nil) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.PowScalar_(2.0) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.FloorDivideScalar_(1.5) }},
			{ebb.ErrDType, "int64 cannot hold", func() { i.Addcmul_(f, i, 1) }},
			{ebb.ErrDType, "bool", func() { b.Sub(i) }},
			{ebb.ErrDType, "bool", func() { i.Sub_(b) }},
			{ebb.ErrDType, "bool", func() { b.RSubScalar(1) }},
			{ebb.ErrDType, "subtracted", func() { i.SubScalar(true) }},
			{ebb.ErrDType, "bool", func() { b.Neg() }},
			{ebb.ErrDType, "bool", func() { b.Abs() }},
			{ebb.ErrDType, "bool", func() { b.Floor() }},
			{ebb.ErrDType, "bool", func() { b.ReLU() }},
			{ebb.ErrDType, "bool", func() { b.Pow(b) }},
			{ebb.ErrDType, "bool", func() { b.PowScalar(true) }},
			{ebb.ErrDType, "bool", func() { b.Remainder(b) }},
			{ebb.ErrDType, "bool", func() { b.FloorDivideScalar(true) }},
			{ebb.ErrDType, "bits", func() { f.BitwiseAnd(i) }},
			{ebb.ErrDType, "bits", func() { f.BitwiseNot() }},
			{ebb.ErrDType, "mask of float32", func() { f.MaskedFill(f, 1) }},
			{ebb.ErrDType, "mask of int64", func() { ebb.Where(i, f, f) }},
			{ebb.ErrDType, "floating-point alpha", func() { i.AddScaled(i, 1.5) }},
			{ebb.ErrDType, "bool alpha", func() { f.AddScaled(f, true) }},
			{ebb.ErrValue, "2^53", func() { i.AddScaled(i, 1<<53+1) }},
			{ebb.ErrDType, "floating-point", func() { f.Addcdiv(i, i, 1) }},
			{ebb.ErrDType, "floating-point", func() { i.Addcmul(i, i, 1) }},
			{ebb.ErrDType, "floating-point", func() { i.Lerp(i, 0.5) }},
			{ebb.ErrDType, "float32 and float64", func() { f.Lerp(f.To(ebb.Float64), 0.5) }},
			{ebb.ErrDType, "floating-point", func() { i.GELU() }},
			{ebb.ErrDType, "float32 and int64", func() { f.Equal(i) }},
			{ebb.ErrDType, "float32 and int64", func() { f.IsClose(i) }},
			{ebb.ErrValue, "tolerances", func() { f.AllClose(f, ebb.RTol(-1)) }},
			{ebb.ErrValue, "tolerances", func() { f.IsClose(f, ebb.ATol(math.NaN())) }},
			{ebb.ErrValue, "to the power -1", func() { i.PowScalar(-1) }},
			{ebb.ErrValue, "neither", func() { f.Clamp(nil, nil) }},
			{ebb.ErrValue, "division by zero", func() { i.FloorDivide(zeros) }},
			{ebb.ErrValue, "division by zero", func() { i.Remainder_(zeros) }},
			{ebb.ErrValue, "division by zero", func() { u.FloorDivideScalar_(256) }},
			{ebb.ErrValue, "division by zero", func() { i.RemainderScalar(0) }},
			{ebb.ErrValue, "no number", func() { f.AddScalar("1") }},
			{ebb.ErrValue, "no number", func() { f.MulScalar(f) }},
		} {
			wantError(t, c.kind, c.words, c.f)
		}
		// Arguments that were computed above lie in the scope; nothing of the
		// operations does, and no operand changed.
		if got := flatOf(rt); got.nodes != before.nodes || got.owners != before.owners {
			t.Errorf("after errors %+v, before %+v", got, before)
		}
		for _, x := range live {
			if x.Version() != 0 {
				t.Errorf("an operand of %s was changed", x.DType())
			}
		}
		if got := i.Int64s(); got[0] != 3 || got[1] != -2 {
			t.Errorf("division by zero in place left %v", got)
		}
	})
}

// PyTorch's answers, by torch.equal and torch.allclose.
func TestEqualAndAllClose(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("test")
	defer st.Close()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	floats := func(v ...float32) *ebb.Tensor { return ebb.FromSlice(st, v) }
	x := floats(1, 2, 3)
	ints := ebb.FromSlice(st, []int64{1 << 24, 5})
	bools := ebb.FromSlice(st, []bool{true, false})
	near := floats(1.000001, 2, 3)
	matrix := ebb.FromSlice(st, []float32{1, 2, 2, 1}, 2, 2)
	before := flatOf(rt)
	for _, c := range []struct {
		name string
		got  bool
		want bool
	}{
		{"equal", x.Equal(x), true},
		{"equal, other elements", x.Equal(near), false},
		{"equal, other shape", x.Equal(x.View(3, 1)), false},
		{"equal, other layout", matrix.Equal(matrix.T()), true},
		{"equal, int", ints.Equal(ints), true},
		{"equal, bool", bools.Equal(bools), true},
		{"close", x.AllClose(near), true},
		{"close within 0", x.AllClose(near, ebb.RTol(0), ebb.ATol(0)), false},
		{"close, broadcast", x.AllClose(x.Select(0, 1), ebb.ATol(1)), true},
		{"close, broadcast, too far", x.AllClose(x.Select(0, 1), ebb.ATol(0.5)), false},
		{"relative to the second", x.AllClose(x.Select(0, 0), ebb.RTol(2), ebb.ATol(0)), true},
		{"relative to the second, reversed", x.Select(0, 0).AllClose(x, ebb.RTol(0.6), ebb.ATol(0)), false},
		{"close, int", ints.AllClose(ints), true},
		{"close, bool", bools.AllClose(bools), true},
		{"close, bool apart", bools.AllClose(bools.Select(0, 0), ebb.ATol(1)), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
	if got := flatOf(rt); got != before {
		t.Errorf("comparing left %+v, before %+v", got, before)
	}
	for _, c := range []struct {
		a, b  float32
		opts  []ebb.CloseOption
		equal bool
		close bool
	}{
		{nan, nan, nil, false, false},
		{nan, nan, []ebb.CloseOption{ebb.EqualNaN}, false, true},
		{nan, 1, []ebb.CloseOption{ebb.EqualNaN}, false, false},
		{inf, inf, nil, true, true},
		{inf, -inf, []ebb.CloseOption{ebb.RTol(10)}, false, false},
		{1, inf, nil, false, false},
		{0, float32(math.Copysign(0, -1)), nil, true, true},
	} {
		a, b := floats(c.a), floats(c.b)
		if got := a.Equal(b); got != c.equal {
			t.Errorf("Equal(%v, %v) = %v", c.a, c.b, got)
		}
		if got := a.AllClose(b, c.opts...); got != c.close {
			t.Errorf("AllClose(%v, %v) = %v", c.a, c.b, got)
		}
	}
}

// Go numbers do not raise the type within a category, and follow PyTorch's
// wrapping.
func TestScalarsBeyondTheType(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		_, i, u, _ := operandsOf(s)
		if got := u.AddScalar(100).Uint8s(); got[0] != 103 || got[1] != 44 {
			t.Errorf("uint8 + 100 = %v", got)
		}
		// Limits that no float64 holds.
		if got := i.Clamp(nil, int64(math.MaxInt64)).Int64s(); got[0] != 3 {
			t.Errorf("clamp to the largest int64 gives %v", got)
		}
		lowest := int64(math.MinInt64) + 1
		if got := ebb.FromSlice(s, []int64{math.MinInt64}).Clamp(lowest, nil).Int64s(); got[0] != lowest {
			t.Errorf("clamp to at least %d gives %d", lowest, got[0])
		}
		if got := u.Clamp(nil, 300).Uint8s(); got[1] != 200 {
			t.Errorf("uint8 limited to 300 gives %v", got)
		}
	})
}
