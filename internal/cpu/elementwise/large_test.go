package elementwise

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// Arrays that are worked on in tasks, of every kind of layout, by one thread and
// by several. Values are whole numbers, and exact.
func TestLargeArrays(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	shapes := [][]int{{601, 507}, {135001, 2}}
	if testing.Short() {
		shapes = shapes[:1]
	}
	for _, shape := range shapes {
		rows, cols := shape[0], shape[1]
		n := rows * cols
		dense, across, gaps := []int{cols, 1}, []int{1, rows}, []int{2*cols + 1, 2}
		layouts := map[string][]int{"dense": dense, "across": across, "gaps": gaps, "row": {0, 1}, "column": {1, 0}}
		for name, strides := range layouts {
			for _, out := range [][]int{dense, across, gaps} {
				for _, threads := range []int{1, 3} {
					if testing.Short() && (threads == 1 || name == "gaps" || name == "column" || out[1] != 1) {
						continue
					}
					cpu.SetNumThreads(threads)
					x, y := arraytest.New(cpu.Float32, shape, dense), arraytest.New(cpu.Float32, shape, strides)
					for i := range n {
						x.SetFloat(i, float64(i%1009))
						y.SetFloat(i, float64(i%cols*3+i/cols))
					}
					sum, copied := arraytest.New(cpu.Float32, shape, out), arraytest.New(cpu.Float64, shape, out)
					less, scaled := arraytest.New(cpu.Bool, shape, out), arraytest.New(cpu.Float32, shape, out)
					masked, mask := arraytest.New(cpu.Float32, shape, out), arraytest.New(cpu.Uint8, []int{MaskLen(n)}, []int{1})
					if err := Binary(Sub, sum.Array, x.Array, y.Array); err != nil {
						t.Fatal(err)
					}
					if err := Binary(Lt, less.Array, y.Array, x.Array); err != nil {
						t.Fatal(err)
					}
					Copy(copied.Array, y.Array)
					AddScaled(scaled.Array, y.Array, x.Array, 2)
					ReLUMask(masked.Array, mask.Array, sum.Array)
					for i := range n {
						a, b := x.Float(i), y.Float(i)
						positive := a > b
						if sum.Float(i) != a-b || less.Integer(i) != b64(b < a) || copied.Float(i) != b || scaled.Float(i) != b+2*a ||
							masked.Float(i) != max(0, a-b) || mask.Integer(i/8)>>(i%8)&1 != b64(positive) {
							t.Fatalf("shape %v, %s to %v, %d threads: element %d of %v and %v is %v, %v, %v, %v, %v",
								shape, name, out, threads, i, a, b, sum.Float(i), less.Integer(i), copied.Float(i), scaled.Float(i), masked.Float(i))
						}
					}
				}
			}
		}
	}
}

// Small operations on contiguous arrays allocate nothing.
func TestSmallOperationsAllocateNothing(t *testing.T) {
	x := arraytest.New(cpu.Float32, []int{2, 3}, []int{3, 1}).Array
	d := arraytest.New(cpu.Float32, []int{2, 3}, []int{3, 1}).Array
	for name, f := range map[string]func(){
		"add":        func() { _ = Binary(Add, d, x, x) },
		"add number": func() { _ = BinaryScalar(Add, d, x, 2, false) },
		"relu":       func() { Unary(ReLU, d, x) },
		"a + s b":    func() { AddScaled(d, x, x, 2) },
		"copy":       func() { Copy(d, x) },
	} {
		if name == "add number" && inUse.right[cpu.Float32][Add].loop == nil {
			continue // a block of the number is made in Go
		}
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
