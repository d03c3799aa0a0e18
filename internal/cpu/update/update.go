// Package update has the processor's kernels for optimizers: a parameter's
// update in one pass over its memory, and sums of squares and scaling for
// gradient clipping.
//
// Arrays are Float32 or Float64 and may have any strides that do not overlap.
// Elements are independent of each other, and sums are taken in blocks of a
// fixed size, so results do not depend on the number of threads.
package update

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// taskElements is how many elements a task covers; one costs about 0.1 ns, in Go
// 1.5 ns.
const taskElements = 1 << 17

// runElements is how many a task of updates that do not sum covers: gradients lie
// in the caches of the cores that computed them, which is worth two cores early.
const runElements = 1 << 15

type float interface{ float32 | float64 }

func elem[T float](p unsafe.Pointer, i int) *T {
	var t T
	return (*T)(unsafe.Add(p, i*int(unsafe.Sizeof(t))))
}

// A run is n elements of each array: where the first lies, and the distance
// to the next.
type run struct {
	n           int
	start, step [3]int
}

// eachRun splits arrays of equal shape into runs that depend on the shape and
// strides alone, and calls f for them, several at a time.
func eachRun(arrays []cpu.Array, f func(r run)) {
	shape, n := arrays[0].Shape, arrays[0].Len()
	if n == 0 {
		return
	}
	flat := true
	for _, a := range arrays {
		flat = flat && a.Contiguous()
	}
	if flat {
		cpu.Parallel((n+runElements-1)/runElements, func(i int) {
			r := run{n: min(runElements, n-i*runElements)}
			for k := range arrays {
				r.start[k], r.step[k] = i*runElements, 1
			}
			f(r)
		})
		return
	}
	last := len(shape) - 1
	rows := n / shape[last]
	tasks := max(min(rows, n/taskElements), 1)
	cpu.Parallel(tasks, func(i int) {
		for row := i * rows / tasks; row < (i+1)*rows/tasks; row++ {
			r := run{n: shape[last]}
			for k, a := range arrays {
				r.step[k] = a.Strides[last]
				rest := row
				for d := last - 1; d >= 0; d-- {
					r.start[k] += rest % shape[d] * a.Strides[d]
					rest /= shape[d]
				}
			}
			f(r)
		}
	})
}

// SumSquares returns the sum of the squares of a's elements in float64, each
// square exact or rounded once, for torch.nn.utils.clip_grad_norm_. An array
// with the same elements in another layout may give other last bits.
func SumSquares(a cpu.Array) float64 {
	if a.Len() == 0 {
		return 0
	}
	if a.DType == cpu.Float32 {
		return sumSquares[float32](a)
	}
	return sumSquares[float64](a)
}

func sumSquares[T float](a cpu.Array) float64 {
	if !a.Contiguous() {
		total := 0.0
		last := len(a.Shape) - 1
		for i := range a.Len() / a.Shape[last] {
			o := 0
			for d := last - 1; d >= 0; d-- {
				o += i % a.Shape[d] * a.Strides[d]
				i /= a.Shape[d]
			}
			total += sumRow[T](unsafe.Pointer(elem[T](a.Data, o)), a.Shape[last], a.Strides[last])
		}
		return total
	}
	n := a.Len()
	tasks := (n + taskElements - 1) / taskElements
	sums := make([]float64, tasks)
	cpu.Parallel(tasks, func(i int) {
		from := i * taskElements
		sums[i] = sumRow[T](unsafe.Pointer(elem[T](a.Data, from)), min(taskElements, n-from), 1)
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total
}

// sumRow sums in sixteen interleaved parts, which do not wait for each other.
func sumRow[T float](p unsafe.Pointer, n, step int) float64 {
	var sums [16]float64
	i := 0
	if step == 1 && n >= len(sums) {
		i = n - n%len(sums)
		cpu.MarkRead(p, i*int(unsafe.Sizeof(T(0))))
		kernelsOf[T]().sumSquares(i, (*T)(p), &sums)
	}
	for ; i < n; i++ {
		v := float64(*elem[T](p, i*step))
		sums[i%len(sums)] += float64(v * v)
	}
	for width := len(sums) / 2; width > 0; width /= 2 {
		for k := range width {
			sums[k] += sums[k+width]
		}
	}
	return sums[0]
}

// Scale multiplies a by factor, rounded to a's dtype first, in place.
func Scale(a cpu.Array, factor float64) {
	if a.DType == cpu.Float32 {
		scale(a, float32(factor))
	} else {
		scale(a, factor)
	}
}

func scale[T float](a cpu.Array, factor T) {
	kern := kernelsOf[T]()
	eachRun([]cpu.Array{a}, func(r run) {
		p := unsafe.Pointer(elem[T](a.Data, r.start[0]))
		if r.step[0] == 1 {
			cpu.MarkWrite(p, r.n*int(unsafe.Sizeof(factor)))
			kern.scale(r.n, (*T)(p), factor)
			return
		}
		for i := range r.n {
			*elem[T](p, i*r.step[0]) *= factor
		}
	})
}
