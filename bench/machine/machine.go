// Package machine measures what the processor and its memory can do at most, so
// that a kernel's speed can be told as a share of it.
//
// The figures are those of assembly loops that do nothing else, the best of many
// short runs: other programs that use the processor meanwhile make a run slower,
// never faster. A build without assembly (tag noasm, or a processor without
// loops here) knows no peak of multiply-adds, and measures memory by Go loops.
package machine

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	windows = 100                    // short runs, of which the best counts
	enough  = 10                     // of them, if they are not so short
	window  = 500 * time.Microsecond // how long each is, about
)

// FMA returns the most float32 operations a second that so many cores can do
// together, a multiply-add counting as two, or 0 if this build cannot tell.
func FMA(cores int) float64 {
	loop, flops := fmaLoop()
	if loop == nil {
		return 0
	}
	const steps = 1000
	run := func(n int) {
		for range n {
			loop(steps)
		}
	}
	n := calibrate(run)
	return best(cores, float64(n)*steps*flops, func(int) { run(n) })
}

// Bandwidth returns the most bytes a second that so many cores move together
// between them and memory of this size and place:
//
//   - with dst alone, reading it,
//   - with dst and a, copying a to dst,
//   - with all three, adding a and b to dst.
//
// Each counts its operands and its result once, as the work that is compared
// with it does. Slices that are given have the same length.
func Bandwidth(dst, a, b []float32, cores int) float64 {
	arrays := 1
	if a != nil {
		arrays++
	}
	if b != nil {
		arrays++
	}
	part := len(dst) / cores &^ (chunk - 1)
	if part == 0 {
		return 0
	}
	rate := 0.0
	for _, m := range movers() {
		pass := func(core int) {
			lo := core * part
			d := unsafe.Pointer(&dst[lo])
			switch arrays {
			case 1:
				m.read(d, 4*part)
			case 2:
				m.copy(d, unsafe.Pointer(&a[lo]), 4*part)
			case 3:
				m.add(d, unsafe.Pointer(&a[lo]), unsafe.Pointer(&b[lo]), 4*part)
			}
		}
		run := func(core, n int) {
			for range n {
				pass(core)
			}
		}
		n := calibrate(func(n int) { run(0, n) })
		rate = max(rate, best(cores, float64(n*arrays*4*part), func(core int) { run(core, n) }))
	}
	return rate
}

// calibrate returns for which n run(n) takes about a window.
func calibrate(run func(n int)) int {
	for n := 1; ; n *= 2 {
		start := time.Now()
		run(n)
		if time.Since(start) >= window {
			return n
		}
	}
}

// best returns the highest rate of windows in which each core does so much work.
func best(cores int, work float64, run func(core int)) float64 {
	rate := 0.0
	begin := time.Now()
	for i := range windows {
		if i >= enough && time.Since(begin) > windows*window {
			break
		}
		var all sync.WaitGroup
		start := time.Now()
		for core := 1; core < cores; core++ {
			all.Go(func() { run(core) })
		}
		run(0)
		all.Wait()
		rate = max(rate, work*float64(cores)/time.Since(start).Seconds())
	}
	return rate
}

// chunk is how many float32 the loops take at a time.
const chunk = 64

// A mover is one way to go through memory. Sizes are in bytes, multiples of 4*chunk.
type mover struct {
	read func(p unsafe.Pointer, n int)
	copy func(dst, a unsafe.Pointer, n int)
	add  func(dst, a, b unsafe.Pointer, n int)
}

var goMover = mover{
	read: func(p unsafe.Pointer, n int) {
		var s0, s1, s2, s3 uint64
		for x := unsafe.Slice((*uint64)(p), n/8); len(x) >= 4; x = x[4:] {
			s0 |= x[0]
			s1 |= x[1]
			s2 |= x[2]
			s3 |= x[3]
		}
		sink.Store(s0 | s1 | s2 | s3)
	},
	copy: func(dst, a unsafe.Pointer, n int) {
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(a), n))
	},
	add: func(dst, a, b unsafe.Pointer, n int) {
		d, x, y := unsafe.Slice((*float32)(dst), n/4), unsafe.Slice((*float32)(a), n/4), unsafe.Slice((*float32)(b), n/4)
		for i := range d {
			d[i] = x[i] + y[i]
		}
	},
}

var sink atomic.Uint64 // keeps the compiler from leaving a loop out
