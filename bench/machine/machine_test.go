package machine

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// The loops do what their comments say: copies copy, sums add, and nothing is
// written beyond.
func TestMovers(t *testing.T) {
	const n = 3 * chunk
	for i, m := range append(movers(), goMover) {
		buf := make([]float32, 3*n+64)
		off := 0
		for uintptr(unsafe.Pointer(&buf[off]))%64 != 0 { // writes past the caches are aligned
			off++
		}
		dst, guard := buf[off:off+n], buf[off+n:off+n+16]
		a, b := make([]float32, n), make([]float32, n)
		for j := range a {
			a[j], b[j] = float32(j), float32(2*j)
		}
		m.read(unsafe.Pointer(&a[0]), 4*n)
		m.copy(unsafe.Pointer(&dst[0]), unsafe.Pointer(&a[0]), 4*n)
		for j := range dst {
			if dst[j] != a[j] {
				t.Fatalf("mover %d: copy[%d] = %v, want %v", i, j, dst[j], a[j])
			}
		}
		m.add(unsafe.Pointer(&dst[0]), unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), 4*n)
		for j := range dst {
			if dst[j] != a[j]+b[j] {
				t.Fatalf("mover %d: add[%d] = %v, want %v", i, j, dst[j], a[j]+b[j])
			}
		}
		for j, v := range guard {
			if v != 0 {
				t.Fatalf("mover %d wrote %d past the end", i, j)
			}
		}
	}
}

// A run does its units, whichever core gets to them, and no more.
func TestRun(t *testing.T) {
	for cores := 1; cores <= 3; cores++ {
		var done atomic.Int64
		l := &Load{Work: 1, cores: cores, unit: func(core int) {
			if core < 0 || core >= cores {
				t.Errorf("core %d of %d", core, cores)
			}
			done.Add(1)
		}}
		took := l.Run(100)
		if got := done.Load(); got != int64(100*cores) {
			t.Errorf("%d cores did %d units, want %d", cores, got, 100*cores)
		}
		if got, want := l.Rate(100, took), float64(100*cores)/took.Seconds(); got != want {
			t.Errorf("rate %v, want %v", got, want)
		}
	}
}

// Loads have rates, where there is something to measure.
func TestLoads(t *testing.T) {
	x := make([]float32, 16*chunk+16)
	for uintptr(unsafe.Pointer(&x[0]))%64 != 0 {
		x = x[1:]
	}
	x = x[:16*chunk]
	for cores := 1; cores <= 2; cores++ {
		loop, _ := fmaLoop()
		switch l := Multiply(cores); {
		case (l != nil) != (loop != nil):
			t.Error("multiply-adds are to be known exactly where there is a loop for them")
		case l != nil && l.Best(time.Millisecond) <= 0:
			t.Error("no rate of multiply-adds")
		}
		if r := Move(x, nil, nil, cores).Best(time.Millisecond); r <= 0 {
			t.Errorf("bandwidth %v on %d cores", r, cores)
		}
	}
	if l := Move(x[:chunk/2], nil, nil, 1); l != nil {
		t.Errorf("a load of %v bytes of less than a chunk, want none", l.Work)
	}
}
