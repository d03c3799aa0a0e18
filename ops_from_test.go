package ebb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestFromFunc(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("data")
	x, err := ebb.FromFunc(st, ebb.Shape{2, 2}, func(data []uint8) error {
		copy(data, []uint8{1, 2, 3, 4})
		return nil
	}, ebb.Input)
	if err != nil || !slices.Equal(x.Uint8s(), []uint8{1, 2, 3, 4}) || x.Kind() != ebb.Input || x.Store() != st {
		t.Errorf("%v, %v", x, err)
	}
	if x, err := ebb.FromFunc(st, ebb.Shape{0}, func(data []bool) error {
		if data == nil || len(data) != 0 {
			t.Errorf("%v", data)
		}
		return nil
	}); err != nil || x.DType() != ebb.Bool {
		t.Error(x, err)
	}
	before := rt.Stats().Live.Current
	cause := errors.New("the file is cut")
	if x, err := ebb.FromFunc(st, ebb.Shape{2}, func([]float32) error { return cause }); x != nil || err != cause {
		t.Errorf("%v, %v", x, err)
	}
	func() {
		defer func() {
			if r := recover(); r != "f's own" {
				t.Errorf("panic %v", r)
			}
		}()
		_, _ = ebb.FromFunc(st, ebb.Shape{2}, func([]float32) error { panic("f's own") })
	}()
	wantError(t, ebb.ErrDType, "int64", func() {
		_, _ = ebb.FromFunc(st, ebb.Shape{2}, func([]float32) error { return nil }, ebb.Int64)
	})
	wantError(t, ebb.ErrShape, "negative", func() {
		_, _ = ebb.FromFunc(st, ebb.Shape{-1}, func([]float32) error { return nil })
	})
	other := rt.NewStore("other")
	wantError(t, ebb.ErrClosed, "closed while the operation ran", func() {
		_, _ = ebb.FromFunc(other, ebb.Shape{2}, func([]float32) error { other.Close(); return nil })
	})
	if s := rt.Stats(); s.Live.Current != before || s.Leases != 0 {
		t.Errorf("live %d, before %d, leases %d", s.Live.Current, before, s.Leases)
	}
}
