package gemm

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Every product of up to 70 rows, columns and terms, with each operand as it is
// and transposed: exact, and nothing written beside the result.
func TestEverySizeUpTo70(t *testing.T) {
	if testing.Short() {
		t.Skip("a million products")
	}
	best, _ := cpu.Level()
	if best == cpu.Generic {
		t.Skip("there are no kernels but those in Go, which the other tests cover")
	}
	for _, kern := range kernelSets32()[1:] {
		if kern.level <= best {
			t.Run(fmt.Sprint("float32 ", kern.level), func(t *testing.T) { everySize(t, kern) })
		}
	}
	for _, kern := range kernelSets64()[1:] {
		if kern.level <= best {
			t.Run(fmt.Sprint("float64 ", kern.level), func(t *testing.T) { everySize(t, kern) })
		}
	}
}

func everySize[T float](t *testing.T, kern *kernels[T]) {
	t.Parallel()
	const most, ld = 70, 71
	rnd := noise(7)
	a, b, c := whole[T](&rnd, most*most), whole[T](&rnd, most*most), make([]T, ld*ld)
	of := func(v []T, rows, cols, stride int, transposed bool) cpu.Array {
		x := cpu.Array{DType: dtypeOf[T](), Data: unsafe.Pointer(&v[0]), Shape: []int{rows, cols}, Strides: []int{stride, 1}}
		if transposed {
			x.Strides = []int{1, stride}
		}
		return x
	}
	work := make([]byte, 1<<20)
	for way := range 4 {
		at, bt := way%2 == 1, way/2 == 1
		sums := make([]T, most*most) // of the terms so far
		for k := 1; k <= most; k++ {
			for i := range most {
				for j := range most {
					x, y := a[i*most+k-1], b[(k-1)*most+j]
					if at {
						x = a[(k-1)*most+i]
					}
					if bt {
						y = b[j*most+k-1]
					}
					sums[i*most+j] += x * y
				}
			}
			for m := 1; m <= most; m++ {
				for n := 1; n <= most; n++ {
					for i := range m + 1 {
						for j := range n + 1 {
							c[i*ld+j] = canary
						}
					}
					matMul(kern, of(c, m, n, ld, false), of(a, m, k, most, at), of(b, k, n, most, bt), work, Options{})
					for i := range m + 1 {
						for j := range n + 1 {
							want := T(canary)
							if i < m && j < n {
								want = sums[i*most+j]
							}
							if got := c[i*ld+j]; got != want {
								t.Fatalf("%d x %d x %d, transposed %v, %v: element %d, %d is %v, want %v", m, k, n, at, bt, i, j, got, want)
							}
						}
					}
				}
			}
		}
	}
}
