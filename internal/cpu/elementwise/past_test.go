package elementwise

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// aligned is memory of n bytes or more, from a multiple of 64 on.
func aligned(t *testing.T, n int) unsafe.Pointer {
	p := arraytest.Memory(t, n+64)
	return unsafe.Add(p, -uintptr(p)%64)
}

// Loops that write past the caches give the bits of the others, for every length, and
// write nothing else. Outputs begin where a page does, inputs end there.
func TestLoopsPastTheCaches(t *testing.T) {
	const most = 300
	out, want := aligned(t, 8*most), make([]float32, most)
	x, y := arraytest.Memory(t, 4*most), arraytest.Memory(t, 4*most)
	r := rand.New(rand.NewPCG(9, 10))
	for _, p := range []unsafe.Pointer{x, y} {
		for i := range most {
			v := r.NormFloat64() * 3
			if r.IntN(10) == 0 {
				v = arraytest.Specials[r.IntN(len(arraytest.Specials))]
			}
			slice[float32](p, most)[i] = float32(v)
		}
	}
	tested := 0
	for _, level := range levels() {
		k := kernelsOf(level)
		const f32 = cpu.Float32
		tables := [][]kernel{k.unary[f32][:], k.binary[f32][:], k.right[f32][:], k.left[f32][:], {k.addScaled[f32]}}
		for table, kernels := range tables {
			for op, k := range kernels {
				if k.past == nil {
					continue
				}
				tested++
				for n := range most + 1 {
					d := slice[float32](out, 2*most)
					for i := range d {
						d[i] = -123
					}
					a, b := unsafe.Add(x, 4*(most-n)), unsafe.Add(y, 4*(most-n))
					v := bitsOf(f32, 0.75)
					k.past(n, out, a, b, nil, v, 0)
					k.loop(n, unsafe.Pointer(&want[0]), a, b, nil, v, 0)
					for i, got := range d[:n] {
						if !arraytest.SameFloat(float64(got), float64(want[i])) {
							t.Fatalf("%v, table %d, operation %d: element %d of %d is %v, want %v", level, table, op, i, n, got, want[i])
						}
					}
					for i, got := range d[n:] {
						if got != -123 {
							t.Fatalf("%v, table %d, operation %d of %d elements: element %d was written", level, table, op, n, n+i)
						}
					}
				}
			}
		}
	}
	if len(levels()) > 1 && tested < 10 {
		t.Errorf("only %d loops tested", tested)
	}
}

// Results so large that they are written past the caches, where memory allows it, and
// where it does not: not at a multiple of 64 and over an operand.
func TestLargeResults(t *testing.T) {
	if testing.Short() {
		t.Skip("needs 50 MB")
	}
	const n = largeResult/4 + 77
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	cpu.SetNumThreads(2)
	memory := func() cpu.Array {
		return cpu.Array{Data: aligned(t, 4*n+4), DType: cpu.Float32, Shape: []int{n}, Strides: []int{1}}
	}
	x, d := memory(), memory()
	moved := d
	moved.Data = unsafe.Add(d.Data, 4)
	in := slice[float32](x.Data, n)
	for _, dst := range []cpu.Array{d, moved, x} {
		for i := range in {
			in[i] = float32(i % 1009)
		}
		if err := Binary(Add, dst, x, x); err != nil {
			t.Fatal(err)
		}
		for i, v := range slice[float32](dst.Data, n) {
			if v != float32(2*(i%1009)) {
				t.Fatalf("element %d is %v, want %v", i, v, 2*(i%1009))
			}
		}
	}
}
