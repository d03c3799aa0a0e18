// Package machine measures what the processor and its memory can do at most, so
// that a kernel's speed can be told as a share of it.
//
// The figures are those of assembly loops that do nothing else, the best of many
// short runs: other programs that use the processor meanwhile make a run slower,
// never faster. A build without assembly (tag noasm, or a processor without
// loops here) knows no peak of multiply-adds, and measures memory by Go loops.
package machine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	window     = 2 * time.Millisecond // of a run, about: to gather some cores and wait for the last takes a hundredth
	leastBytes = 1 << 20              // that a unit moves: what taking one costs is not to count
)

// A Load is work that keeps some cores at their limit. It is done in units of at
// least some microseconds.
type Load struct {
	Work  float64 // of one unit: float32 operations, or bytes
	cores int
	unit  func(core int) // does one of this core's
}

// Run does so many units on each core and returns how long that took, from the
// moment when all cores are there, which may need waking, until all are done. A
// core that other programs hold up leaves its units to the others.
func (l *Load) Run(units int) time.Duration {
	var there, left atomic.Int64
	left.Store(int64(units * l.cores))
	var begin time.Time
	run := func(core int) {
		if there.Add(1); core == 0 {
			for there.Load() < int64(l.cores) {
				runtime.Gosched()
			}
			begin = time.Now()
			there.Add(1)
		}
		for there.Load() <= int64(l.cores) {
			runtime.Gosched()
		}
		for left.Add(-1) >= 0 {
			l.unit(core)
		}
	}
	var all sync.WaitGroup
	for core := 1; core < l.cores; core++ {
		all.Go(func() { run(core) })
	}
	run(0)
	all.Wait()
	return time.Since(begin)
}

// Best returns the highest rate, of work a second, of as many short runs as fit in
// that time, or of five that are longer.
func (l *Load) Best(within time.Duration) float64 {
	n := l.calibrate()
	rate := 0.0
	begin := time.Now()
	for i := 0; i < 5 || time.Since(begin) < within; i++ {
		rate = max(rate, l.Rate(n, l.Run(n)))
	}
	return rate
}

// Rate is the work a second of a run of so many units on each core.
func (l *Load) Rate(units int, took time.Duration) float64 {
	return l.Work * float64(units*l.cores) / took.Seconds()
}

// calibrate returns how many units on each core take about a window.
func (l *Load) calibrate() int {
	for n := 1; ; n *= 2 {
		if l.Run(n) >= window {
			return n
		}
	}
}

// Multiply is float32 multiply-adds, each of them two operations, on so many
// cores; nil if this build cannot tell how many the processor can do.
func Multiply(cores int) *Load {
	loop, flops := fmaLoop()
	if loop == nil {
		return nil
	}
	const steps, times = 1000, 8 // no loop in assembly is longer than some microseconds
	return &Load{
		Work:  times * steps * flops,
		cores: cores,
		unit: func(int) {
			for range times {
				loop(steps)
			}
		},
	}
}

// Move is memory traffic on so many cores, each of which has a part of:
//
//   - dst alone, which is read,
//   - dst and a, which is copied to dst,
//   - all three: a and b are added to dst.
//
// Each counts its operands and its result once, as the work that is compared
// with it does. Slices that are given have the same length; nil is returned if
// that is too short to be divided. Of the ways to write, past the caches or
// not, the faster counts.
func Move(dst, a, b []float32, cores int) *Load {
	arrays := 1
	if a != nil {
		arrays++
	}
	if b != nil {
		arrays++
	}
	part := len(dst) / cores &^ (chunk - 1)
	if part == 0 {
		return nil
	}
	bytes := float64(arrays * 4 * part)
	passes := max(1, int(leastBytes/bytes))
	var fastest *Load
	highest := 0.0
	for _, m := range movers() {
		l := &Load{Work: bytes * float64(passes), cores: cores}
		l.unit = func(core int) {
			lo := core * part
			d := unsafe.Pointer(&dst[lo])
			for range passes {
				switch arrays {
				case 1:
					m.read(d, 4*part)
				case 2:
					m.copy(d, unsafe.Pointer(&a[lo]), 4*part)
				case 3:
					m.add(d, unsafe.Pointer(&a[lo]), unsafe.Pointer(&b[lo]), 4*part)
				}
			}
		}
		if rate := l.Best(10 * window); rate > highest {
			highest, fastest = rate, l
		}
	}
	return fastest
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
