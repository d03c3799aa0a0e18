package update

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

type refSGD struct {
	DType                          string
	LR, Momentum, Dampening, Decay float64
	Nesterov, Maximize             bool
	Start                          []float64
	Grads, Params, Buffers         [][]float64
}

type reference struct {
	SGD     []refSGD
	Squares []float64
	Sum     float64
}

func readReference(t *testing.T) reference {
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// place lays values out as an array of the shape with every element gap
// elements from the next, dimensions in reverse order if asked.
func place[T float](dt cpu.DType, v []float64, shape []int, reverse bool, gap int) (cpu.Array, []T) {
	a := cpu.Array{DType: dt, Shape: shape, Strides: make([]int, len(shape))}
	step := gap
	for k := range shape {
		d := len(shape) - 1 - k
		if reverse {
			d = k
		}
		a.Strides[d] = step
		step *= max(shape[d], 1)
	}
	const guard = 8
	mem := make([]T, step+2*guard)
	for i := range mem {
		mem[i] = 77
	}
	a.Data = unsafe.Pointer(&mem[guard])
	for i, x := range v {
		*elem[T](a.Data, where(a, i)) = T(x)
	}
	return a, mem
}

func where(a cpu.Array, i int) int {
	o := 0
	for d := len(a.Shape) - 1; d >= 0; d-- {
		o += i % a.Shape[d] * a.Strides[d]
		i /= a.Shape[d]
	}
	return o
}

func equal[T float](a cpu.Array, want []float64) error {
	for i, w := range want {
		if got := *elem[T](a.Data, where(a, i)); float64(got) != w {
			return fmt.Errorf("element %d is %v, want %v", i, got, w)
		}
	}
	return nil
}

// canaries counts the elements of mem that nobody should have written.
func canaries[T float](mem []T) (n int) {
	for _, v := range mem {
		if v == 77 {
			n++
		}
	}
	return n
}

func TestSGDAgainstPyTorch(t *testing.T) {
	for i, c := range readReference(t).SGD {
		for variant := range 4 {
			name := fmt.Sprintf("case %d %+v variant %d", i, []any{c.DType, c.Momentum, c.Dampening, c.Decay, c.Nesterov, c.Maximize}, variant)
			if c.DType == "float32" {
				testSGD[float32](t, name, cpu.Float32, c, variant)
			} else {
				testSGD[float64](t, name, cpu.Float64, c, variant)
			}
		}
	}
}

func testSGD[T float](t *testing.T, name string, dt cpu.DType, c refSGD, variant int) {
	t.Helper()
	shape := []int{len(c.Start)}
	if variant > 0 {
		shape = []int{1, len(c.Start), 1}
	}
	reverse, gap := variant == 2, 1+variant/2
	param, mem := place[T](dt, c.Start, shape, reverse, gap)
	guards := canaries(mem)
	buf, _ := place[T](dt, make([]float64, len(c.Start)), shape, reverse, 1+variant/3)
	for step := range c.Grads {
		grad, _ := place[T](dt, c.Grads[step], shape, !reverse, gap)
		opt := SGDOptions{LR: c.LR, Momentum: c.Momentum, Dampening: c.Dampening, WeightDecay: c.Decay,
			Nesterov: c.Nesterov, Maximize: c.Maximize, First: step == 0}
		m := &buf
		if c.Momentum == 0 {
			m = nil
		}
		SGD(param, grad, m, opt)
		if err := equal[T](param, c.Params[step]); err != nil {
			t.Fatalf("%s, step %d: parameter %v", name, step, err)
		}
		if err := equal[T](buf, c.Buffers[step]); err != nil {
			t.Fatalf("%s, step %d: momentum %v", name, step, err)
		}
		if err := equal[T](grad, c.Grads[step]); err != nil {
			t.Fatalf("%s, step %d: the gradient was written: %v", name, step, err)
		}
	}
	if canaries(mem) != guards {
		t.Fatalf("%s: wrote outside the parameter", name)
	}
}

// A two-dimensional parameter with a transposed gradient, large enough to be
// split, must give what one element at a time gives, for any thread count.
func TestSGDLarge(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	shape := []int{700, 250}
	v := make([]float64, 700*250)
	g := make([]float64, len(v))
	want := make([]float64, len(v))
	s := sgdStep[float32]{minusLR: -0.5, decay: 0.25, opt: SGDOptions{WeightDecay: 0.25}} // for its element method
	for i := range v {
		v[i], g[i] = float64(float32(math.Sin(float64(i)))), float64(float32(math.Cos(float64(i))))
		p := float32(v[i])
		s.element(&p, float32(g[i]), nil)
		want[i] = float64(p)
	}
	for _, threads := range []int{1, 4} {
		cpu.SetNumThreads(threads)
		for variant := range 4 {
			param, _ := place[float32](cpu.Float32, v, shape, variant&1 == 1, 1)
			grad, _ := place[float32](cpu.Float32, g, shape, variant&2 == 2, 1)
			SGD(param, grad, nil, SGDOptions{LR: 0.5, WeightDecay: 0.25})
			if err := equal[float32](param, want); err != nil {
				t.Fatalf("%d threads, variant %d: %v", threads, variant, err)
			}
		}
	}
}

// Each kernel of each level must give the bits of its Go twin.
func TestKernelsAgainstGo(t *testing.T) {
	testKernels(t, kernelSets32())
	testKernels(t, kernelSets64())
}

func testKernels[T float](t *testing.T, sets []*kernels[T]) {
	best, _ := cpu.Level()
	random := func(n int, f float64) []T {
		// Up to a page that cannot be read, behind canaries.
		v := unsafe.Slice((*T)(arraytest.Memory(t, (n+8)*int(unsafe.Sizeof(T(0))))), n+8)
		for i := range v {
			v[i] = 77
			if i >= 8 {
				v[i] = T(math.Sin(float64(i)*f) * 3)
			}
		}
		return v
	}
	for _, kern := range sets[1:] {
		if kern.level > best {
			continue
		}
		for n := 1; n < 100; n++ {
			for decays := range 2 {
				for mode := range 3 {
					var got, want [][]T
					for _, k := range []*kernels[T]{kern, sets[0]} {
						p, g, m := random(n, 1.1), random(n, 2.3), random(n, 3.7)
						switch mode {
						case 0:
							k.sgd[decays](n, &p[8], &g[8], -0.1, 0.01)
						case 1:
							k.momentum[decays](n, &p[8], &g[8], &m[8], -0.1, 0.01, 0.9, 0.7)
						case 2:
							k.nesterov[decays](n, &p[8], &g[8], &m[8], -0.1, 0.01, 0.9, 1)
						}
						got, want = want, [][]T{p, g, m}
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%v: n %d, decay %d, mode %d: differs from Go", kern.level, n, decays, mode)
					}
				}
			}
			got, want := random(n, 1.9), random(n, 1.9)
			kern.scale(n, &got[8], 0.3)
			sets[0].scale(n, &want[8], 0.3)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v: scale of %d differs from Go", kern.level, n)
			}
			if n%16 == 0 {
				x := random(n, 1.3)
				got, want := [16]float64{1}, [16]float64{1}
				kern.sumSquares(n, &x[8], &got)
				sets[0].sumSquares(n, &x[8], &want)
				if got != want {
					t.Errorf("%v: sum of %d squares differs from Go", kern.level, n)
				}
			}
		}
	}
}

func TestSGDNoElements(t *testing.T) {
	empty := cpu.Array{DType: cpu.Float32, Shape: []int{3, 0}, Strides: []int{1, 1}}
	SGD(empty, empty, nil, SGDOptions{LR: 1})
	Scale(empty, 2)
	if s := SumSquares(empty); s != 0 {
		t.Errorf("sum of no squares is %v", s)
	}
}

func TestSumSquaresAndScale(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	r := readReference(t)
	scaled := make([]float64, len(r.Squares))
	for i, x := range r.Squares {
		scaled[i] = float64(float32(x) * float32(0.1))
	}
	for variant := range 4 {
		a, mem := place[float32](cpu.Float32, r.Squares, []int{5, 40}, variant&1 == 1, 1+variant/2)
		b, _ := place[float64](cpu.Float64, r.Squares, []int{5, 40}, variant&1 == 1, 1+variant/2)
		guards := canaries(mem)
		for _, got := range []float64{SumSquares(a), SumSquares(b)} {
			if math.Abs(got-r.Sum) > 1e-14*r.Sum {
				t.Errorf("variant %d: sum of squares %v, want %v", variant, got, r.Sum)
			}
		}
		Scale(a, 0.1)
		if err := equal[float32](a, scaled); err != nil {
			t.Errorf("variant %d: scaled %v", variant, err)
		}
		if canaries(mem) != guards {
			t.Errorf("variant %d: wrote outside the array", variant)
		}
	}

	// The bits of a long sum do not depend on the threads; its value is known.
	n := 200000
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i%7) / 2
	}
	a, _ := place[float32](cpu.Float32, v, []int{n}, false, 1)
	want := 0.0
	for _, x := range v {
		want += x * x
	}
	for _, threads := range []int{1, 3} {
		cpu.SetNumThreads(threads)
		if got := SumSquares(a); got != want { // multiples of 1/4: exact in any order
			t.Errorf("%d threads: sum of squares %v, want %v", threads, got, want)
		}
	}
}

func TestSumSquaresPropagatesNaNAndInf(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a, _ := place[float32](cpu.Float32, []float64{1, 2, x, 4, 5}, []int{5}, false, 1)
		if s := SumSquares(a); !math.IsInf(s, 1) && !math.IsNaN(s) || math.IsNaN(x) != math.IsNaN(s) {
			t.Errorf("sum of squares with %v is %v", x, s)
		}
	}
}

func BenchmarkSGD(b *testing.B) {
	const n = 100352 // 784x128
	v := make([]float64, n)
	param, _ := place[float32](cpu.Float32, v, []int{n}, false, 1)
	grad, _ := place[float32](cpu.Float32, v, []int{n}, false, 1)
	buf, _ := place[float32](cpu.Float32, v, []int{n}, false, 1)
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			SGD(param, grad, nil, SGDOptions{LR: 0.1})
		}
	})
	b.Run("momentum", func(b *testing.B) {
		for b.Loop() {
			SGD(param, grad, &buf, SGDOptions{LR: 0.1, Momentum: 0.9})
		}
	})
	b.Run("SumSquares", func(b *testing.B) {
		for b.Loop() {
			SumSquares(grad)
		}
	})
}
