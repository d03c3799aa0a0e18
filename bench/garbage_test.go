// Under the race detector tensor memory lies on the Go heap, and invariants keep
// books of their own there.

//go:build !race && !invariants

package bench

import (
	"math"
	"runtime"
	"testing"

	"github.com/ebb-ml/ebb"
)

// A training step leaves little for Go's collector, and nothing that grows.
func TestStepGarbage(t *testing.T) {
	const (
		maxBytes   = 5 << 10
		maxObjects = 100
		maxGrowth  = 64 << 10
	)
	warm, steps := 100, 400
	if testing.Short() {
		warm, steps = 20, 100
	}
	rt := ebb.NewRuntime()
	rt.ManualSeed(0)
	m := NewMLP(rt, 64, 128)
	for range warm {
		m.Step()
	}
	settled := collected().HeapAlloc
	live := rt.Stats().Live.Current
	for range warm { // fills what the collection emptied
		m.Step()
	}
	// A collection in between empties pools, which are then filled again; other
	// goroutines allocate too. So the quietest of several stretches counts.
	bytes, objects := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for range 6 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range steps {
			m.Step()
		}
		runtime.ReadMemStats(&after)
		bytes = min(bytes, (after.TotalAlloc-before.TotalAlloc)/uint64(steps))
		objects = min(objects, (after.Mallocs-before.Mallocs)/uint64(steps))
	}
	t.Logf("a step makes %d bytes and %d objects of garbage", bytes, objects)
	if bytes >= maxBytes || objects >= maxObjects {
		t.Errorf("a step makes %d bytes and %d objects of garbage, want under %d and %d", bytes, objects, maxBytes, maxObjects)
	}
	if grown := int64(collected().HeapAlloc) - int64(settled); grown > maxGrowth {
		t.Errorf("the Go heap grew by %d bytes in %d steps, want none (at most %d)", grown, steps, maxGrowth)
	}
	if now := rt.Stats().Live.Current; now != live {
		t.Errorf("tensors held %d bytes before and %d after %d steps", live, now, steps)
	}
	m.Close()
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

// collected returns the heap's figures when only what is reachable is left.
func collected() *runtime.MemStats {
	runtime.GC()
	runtime.GC() // the first empties pools into their victims, the second frees those
	m := new(runtime.MemStats)
	runtime.ReadMemStats(m)
	return m
}
