// Under the race detector tensor memory lies on the Go heap, and invariants keep
// books of their own there.

//go:build !race && !invariants

package ebb_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/ebb-ml/ebb"
)

// An operation leaves its handle and what a released tensor must still know to
// Go's collector, and nothing else.
func TestOperationGarbage(t *testing.T) {
	const (
		maxBytes   = 136
		maxObjects = 1.25
		ops        = 64 * 64
	)
	for _, grad := range []bool{false, true} {
		rt := newRuntime(t)
		st := rt.NewStore("model")
		defer st.Close()
		w := ebb.FromSlice(st, []float32{1, 2, 3, 4, 5, 6}, 2, 3).SetRequiresGrad(grad)
		s := rt.NewScope("loop")
		defer s.Close()
		x := w.In(s)
		// A collection in between empties pools, and other goroutines allocate
		// too. So the quietest of several stretches counts.
		bytes, objects := math.Inf(1), math.Inf(1)
		for range 8 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range ops {
				x.Add(w)
				if i%64 == 0 {
					s.Recycle()
				}
			}
			runtime.ReadMemStats(&after)
			bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)/ops)
			objects = min(objects, float64(after.Mallocs-before.Mallocs)/ops)
		}
		t.Logf("graph %v: %.1f bytes, %.2f objects", grad, bytes, objects)
		if bytes > maxBytes || objects > maxObjects {
			t.Errorf("graph %v: an operation makes %.1f bytes and %.2f objects of garbage, want at most %d and %v", grad, bytes, objects, maxBytes, maxObjects)
		}
	}
}
