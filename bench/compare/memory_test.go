package main

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// The peak without a kind is of what else is live at the same time.
func TestPeakWithout(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	before := rt.NewStore("before")
	defer before.Close()
	ebb.Zeros(before, ebb.Shape{1000}, ebb.Input)
	rt.RecordHistory(100)
	for _, parts := range [][2]int{{100, 900}, {300, 100}, {200, 200}} {
		store := rt.NewStore("test")
		ebb.Zeros(store, ebb.Shape{parts[0]}, ebb.Input)
		ebb.Zeros(store, ebb.Shape{parts[1]}, ebb.Parameter)
		store.Close()
	}
	for kind, want := range map[ebb.Kind]int64{ebb.Parameter: 4 * 300, ebb.Input: 4 * 900, ebb.Workspace: 4 * 1000} {
		if got, err := peakWithout(rt, kind); err != nil || got != want {
			t.Errorf("peak without %s: %d bytes, %v, want %d", kind, got, err, want)
		}
	}
}
