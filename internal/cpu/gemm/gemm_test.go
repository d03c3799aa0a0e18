package gemm

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// A layout is how a test lays out the last two dimensions of an array.
type layout struct {
	transposed bool
	gap, pad   int // elements between elements, and after each row
}

var layouts = []layout{{false, 1, 0}, {true, 1, 0}, {false, 1, 3}, {true, 1, 5}, {false, 2, 1}}

// An arena holds memory for one operand of many products.
type arena struct {
	base unsafe.Pointer
	size int
}

func newArena(t testing.TB, size int) arena { return arena{memory(t, size), size} }

func dtypeOf[T any]() cpu.DType {
	var t T
	switch any(t).(type) {
	case float32:
		return cpu.Float32
	case float64:
		return cpu.Float64
	case int32:
		return cpu.Int32
	}
	return cpu.Int64
}

const canary = 77

// array lays out an array at the end of the arena. All memory before and
// between its elements holds canaries.
func array[T number](ar arena, shape []int, l layout) (cpu.Array, []T) {
	r := len(shape) - 2
	strides := make([]int, len(shape))
	rows, cols := shape[r], shape[r+1]
	outer, inner := &strides[r], &strides[r+1]
	if l.transposed {
		rows, cols, outer, inner = cols, rows, inner, outer
	}
	*inner = l.gap
	*outer = max(cols*l.gap, 1) + l.pad
	step := *outer * max(rows, 1)
	for d := r - 1; d >= 0; d-- {
		strides[d] = step
		step *= max(shape[d], 1)
	}
	a := cpu.Array{DType: dtypeOf[T](), Shape: shape, Strides: strides}
	span := 1 // elements from the first to the last
	for d := range shape {
		span += max(shape[d]-1, 0) * strides[d]
	}
	var t T
	size := int(unsafe.Sizeof(t))
	const before = 16
	if (span+before)*size > ar.size {
		panic("arena too small")
	}
	mem := unsafe.Slice((*T)(unsafe.Add(ar.base, ar.size-(span+before)*size)), span+before)
	for i := range mem {
		mem[i] = canary
	}
	a.Data = unsafe.Pointer(&mem[before])
	return a, mem
}

type number interface {
	float32 | float64 | int64 | int32
}

func offset(a cpu.Array, i int) int {
	o := 0
	for d := len(a.Shape) - 1; d >= 0; d-- {
		o += i % a.Shape[d] * a.Strides[d]
		i /= a.Shape[d]
	}
	return o
}

func fill[T number](a cpu.Array, v []T) {
	for i := range a.Len() {
		*(*T)(unsafe.Add(a.Data, offset(a, i)*a.DType.Size())) = v[i]
	}
}

func values[T number](a cpu.Array) []T {
	v := make([]T, a.Len())
	for i := range v {
		v[i] = *(*T)(unsafe.Add(a.Data, offset(a, i)*a.DType.Size()))
	}
	return v
}

// untouched reports whether all of mem outside a still holds canaries.
func untouched[T number](a cpu.Array, mem []T) bool {
	m := slices.Clone(mem)
	for i := range a.Len() {
		m[16+offset(a, i)] = canary
	}
	for _, v := range m {
		if v != canary {
			return false
		}
	}
	return true
}

// A noise gives small whole numbers: sums of their products are exact in every
// dtype, so any order of summing must give the same result.
type noise uint64

func (n *noise) next() uint64 {
	*n = *n*6364136223846793005 + 1442695040888963407
	return uint64(*n >> 33)
}

func whole[T number](n *noise, count int) []T {
	v := make([]T, count)
	for i := range v {
		v[i] = T(int(n.next()%9) - 4)
	}
	return v
}

// A lab runs products of one dtype through one set of kernels.
type lab[T number] struct {
	t             testing.TB
	c, x, y, bias arena
	bits          arena // for masks, if any
	run           func(dst, a, b cpu.Array, opt Options)
}

func newLab[T number](t testing.TB, size int, run func(dst, a, b cpu.Array, opt Options)) *lab[T] {
	return &lab[T]{t: t, c: newArena(t, size), x: newArena(t, size), y: newArena(t, size), bias: newArena(t, size), run: run}
}

// floatLabs returns a lab for each set of kernels that this machine can run.
func floatLabs[T float](t testing.TB, size int, sets []*kernels[T]) map[string]*lab[T] {
	labs := map[string]*lab[T]{}
	best, _ := cpu.Level()
	for _, kern := range sets {
		if kern.level > best {
			continue
		}
		labs[fmt.Sprint(dtypeOf[T](), kern.level)] = newLab[T](t, size, func(dst, a, b cpu.Array, opt Options) {
			p := newPlan(kern, dst, a, b)
			work := make([]byte, p.laneBytes()*max(1, min(p.tasks, cpu.NumThreads()))+alignment)
			matMul(kern, dst, a, b, work, opt)
		})
	}
	return labs
}

// check computes one product and compares it with the definition.
func (l *lab[T]) check(lead []int, m, n, k int, lc, la, lb layout, seed uint64) {
	l.t.Helper()
	rnd := noise(seed)
	shape := func(r, c int) []int { return append(slices.Clone(lead), r, c) }
	dst, mem := array[T](l.c, shape(m, n), lc)
	a, memA := array[T](l.x, shape(m, k), la)
	b, memB := array[T](l.y, shape(k, n), lb)
	av, bv, cv, biasv := whole[T](&rnd, a.Len()), whole[T](&rnd, b.Len()), whole[T](&rnd, dst.Len()), whole[T](&rnd, n)
	fill(a, av)
	fill(b, bv)
	fill(dst, cv)
	opt := Options{Accumulate: seed%2 == 1}
	if seed%3 != 0 {
		bias, _ := array[T](l.bias, []int{1, n}, layouts[seed%2*4])
		fill(bias, biasv)
		bias.Shape, bias.Strides = bias.Shape[1:], bias.Strides[1:]
		opt.Bias = &bias
	}
	count := 1
	for _, d := range lead {
		count *= d
	}
	want := make([]T, dst.Len())
	for i := range count {
		product(want[i*m*n:], av[i*m*k:], bv[i*k*n:], m, n, k)
	}
	for i := range want {
		if opt.Accumulate {
			want[i] += cv[i]
		}
		if opt.Bias != nil {
			want[i] += biasv[i%n]
		}
	}
	l.run(dst, a, b, opt)
	what := fmt.Sprintf("%v %dx%dx%d, layouts %v %v %v, accumulate %v, bias %v", lead, m, k, n, lc, la, lb, opt.Accumulate, opt.Bias != nil)
	for i, got := range values[T](dst) {
		if got != want[i] {
			l.t.Fatalf("%s: element %d is %v, want %v", what, i, got, want[i])
		}
	}
	if !untouched(dst, mem) || !untouched(a, memA) || !untouched(b, memB) {
		l.t.Fatalf("%s: wrote outside the result", what)
	}
	if !slices.Equal(values[T](a), av) || !slices.Equal(values[T](b), bv) {
		l.t.Fatalf("%s: wrote to an operand", what)
	}
}

// product is the definition.
func product[T number](c, a, b []T, m, n, k int) {
	for i := range m {
		for p := range k {
			for j := range n {
				c[i*n+j] += a[i*k+p] * b[p*n+j]
			}
		}
	}
}

// checkSizes runs all m, n, k of the sizes, each with layouts that change from
// one product to the next.
func (l *lab[T]) checkSizes(sizes []int) {
	l.t.Helper()
	seed := uint64(len(sizes))
	for _, m := range sizes {
		for _, n := range sizes {
			for _, k := range sizes {
				rnd := noise(seed * 977)
				pick := func() layout { return layouts[rnd.next()%uint64(len(layouts))] }
				l.check(nil, m, n, k, pick(), pick(), pick(), seed)
				seed++
			}
		}
	}
}

func eachLab(t *testing.T, size int, f func(t *testing.T, check32 *lab[float32], check64 *lab[float64])) {
	for name, l := range floatLabs(t, size, kernelSets32()) {
		t.Run(name, func(t *testing.T) { l.t = t; f(t, l, nil) })
	}
	for name, l := range floatLabs(t, size, kernelSets64()) {
		t.Run(name, func(t *testing.T) { l.t = t; f(t, nil, l) })
	}
}

// quick says that a test should leave out most of its cases.
func quick() bool { return testing.Short() || raceDetector }

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i + 1
	}
	return s
}

func TestAllSmallSizes(t *testing.T) {
	sizes := upTo(20)
	if quick() {
		sizes = []int{1, 3, 8, 13, 17, 20}
	}
	eachLab(t, 1<<16, func(t *testing.T, l32 *lab[float32], l64 *lab[float64]) {
		if l32 != nil {
			l32.checkSizes(sizes)
		} else {
			l64.checkSizes(sizes)
		}
	})
}

func TestLargerSizes(t *testing.T) {
	sizes := []int{1, 4, 7, 12, 15, 23, 31, 33, 48, 64, 70}
	if quick() {
		sizes = []int{1, 23, 50}
	}
	eachLab(t, 1<<18, func(t *testing.T, l32 *lab[float32], l64 *lab[float64]) {
		if l32 != nil {
			l32.checkSizes(sizes)
		} else {
			l64.checkSizes(sizes)
		}
	})
}

func TestZeroSizes(t *testing.T) {
	eachLab(t, 1<<16, func(t *testing.T, l32 *lab[float32], l64 *lab[float64]) {
		for _, s := range [][3]int{{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {0, 0, 0}, {1, 1, 0}, {40, 40, 0}} {
			for seed := range uint64(6) {
				if l32 != nil {
					l32.check(nil, s[0], s[1], s[2], layouts[0], layouts[1], layouts[2], seed)
					l32.check([]int{2, 0, 3}, 2, 3, 4, layouts[0], layouts[1], layouts[2], seed)
				} else {
					l64.check(nil, s[0], s[1], s[2], layouts[0], layouts[1], layouts[2], seed)
				}
			}
		}
	})
}

// Inner dimensions past one step, and results of several blocks and tasks.
func TestBlocks(t *testing.T) {
	sizes := [][3]int{{3, 5, 257}, {13, 40, 600}, {1, 70, 2000}, {2, 300, 513}, {500, 1, 300}, {2, 3, 70000}, {200, 130, 70}, {400, 530, 40}, {100, 100, 512}}
	eachLab(t, 1<<23, func(t *testing.T, l32 *lab[float32], l64 *lab[float64]) {
		for i, s := range sizes {
			for j := range layouts {
				if quick() && (j != i%len(layouts) || i%2 == 0) {
					continue
				}
				la, lb, lc := layouts[j], layouts[(i+j)%len(layouts)], layouts[i%len(layouts)]
				if l32 != nil {
					l32.check(nil, s[0], s[1], s[2], lc, la, lb, uint64(i*5+j))
				} else {
					l64.check(nil, s[0], s[1], s[2], lc, la, lb, uint64(i*5+j))
				}
			}
		}
	})
}

func TestBatches(t *testing.T) {
	eachLab(t, 1<<24, func(t *testing.T, l32 *lab[float32], l64 *lab[float64]) {
		for i, lead := range [][]int{{1}, {3}, {2, 3}, {1, 4, 1}, {700}, {9}} {
			for j, s := range [][3]int{{1, 1, 1}, {1, 7, 5}, {5, 1, 9}, {9, 17, 4}, {33, 20, 40}} {
				for seed := range uint64(3) {
					if lead[0] > 100 && s[0] > 10 || quick() && (i+j)%3 != 0 {
						continue
					}
					la, lb, lc := layouts[(i+j)%len(layouts)], layouts[(i+int(seed))%len(layouts)], layouts[j%len(layouts)]
					if l32 != nil {
						l32.check(lead, s[0], s[1], s[2], lc, la, lb, seed+uint64(i))
					} else {
						l64.check(lead, s[0], s[1], s[2], lc, la, lb, seed+uint64(i))
					}
				}
			}
		}
	})
}

func TestIntegers(t *testing.T) {
	run := func(dst, a, b cpu.Array, opt Options) { MatMul(dst, a, b, nil, opt) }
	newLab[int64](t, 1<<18, run).checkSizes([]int{1, 2, 5, 16, 33, 70})
	newLab[int32](t, 1<<18, run).checkSizes([]int{1, 2, 5, 16, 33, 70})
	newLab[int64](t, 1<<20, run).check([]int{3, 5}, 30, 40, 50, layouts[0], layouts[1], layouts[2], 1)
	newLab[int32](t, 1<<20, run).check([]int{0}, 3, 4, 5, layouts[0], layouts[1], layouts[2], 1)
}

// Operands that repeat: a weight used by a whole batch, and a batch of one
// matrix; also those that fold into one product.
func TestBroadcast(t *testing.T) {
	for _, shape := range [][3]int{{5, 6, 7}, {1, 6, 7}, {40, 33, 20}} {
		m, n, k := shape[0], shape[1], shape[2]
		const lead1, lead2 = 3, 2
		lead := []int{lead1, lead2}
		for _, repeatA := range [][]int{{1, 1}, {0, 1}, {1, 0}, {0, 0}} {
			for _, repeatB := range [][]int{{1, 1}, {0, 1}, {1, 0}, {0, 0}} {
				rnd := noise(m)
				ar := newArena(t, 1<<17)
				dst, mem := array[float32](ar, append(slices.Clone(lead), m, n), layouts[0])
				a, _ := array[float32](newArena(t, 1<<17), append(slices.Clone(lead), m, k), layouts[0])
				b, _ := array[float32](newArena(t, 1<<17), append(slices.Clone(lead), k, n), layouts[1])
				fill(a, whole[float32](&rnd, a.Len()))
				fill(b, whole[float32](&rnd, b.Len()))
				for d := range lead {
					a.Strides[d] *= repeatA[d]
					b.Strides[d] *= repeatB[d]
				}
				av, bv := values[float32](a), values[float32](b)
				want := make([]float32, dst.Len())
				for i := range lead1 * lead2 {
					product(want[i*m*n:], av[i*m*k:], bv[i*k*n:], m, n, k)
				}
				MatMul(dst, a, b, make([]byte, WorkspaceSize(dst, a, b)), Options{})
				if !slices.Equal(values[float32](dst), want) || !untouched(dst, mem) {
					t.Fatalf("%v, repeats %v %v: wrong product", shape, repeatA, repeatB)
				}
			}
		}
	}
}

// Random values, against float64, within the error that k roundings may have.
func TestAccuracy(t *testing.T) {
	const m, n, k = 37, 41, 700
	best, _ := cpu.Level()
	for _, kern := range kernelSets32() {
		if kern.level > best {
			continue
		}
		dst, _ := array[float32](newArena(t, 1<<20), []int{m, n}, layouts[0])
		a, _ := array[float32](newArena(t, 1<<20), []int{m, k}, layouts[0])
		b, _ := array[float32](newArena(t, 1<<20), []int{k, n}, layouts[1])
		for _, x := range []cpu.Array{a, b} {
			v := make([]float32, x.Len())
			for i := range v {
				v[i] = float32(math.Sin(float64(i * i)))
			}
			fill(x, v)
		}
		p := newPlan(kern, dst, a, b)
		matMul(kern, dst, a, b, make([]byte, p.laneBytes()+64), Options{})
		av, bv, got := values[float32](a), values[float32](b), values[float32](dst)
		for i := range m {
			for j := range n {
				sum, size := 0.0, 0.0
				for p := range k {
					x := float64(av[i*k+p]) * float64(bv[p*n+j])
					sum += x
					size += math.Abs(x)
				}
				if e := math.Abs(float64(got[i*n+j]) - sum); e > size*float64(p.stepK)*0x1p-24 {
					t.Fatalf("%v: element %d,%d is off by %v", kern.level, i, j, e)
				}
			}
		}
	}
}

func TestNaNAndInf(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	eachLab(t, 1<<16, func(t *testing.T, l32 *lab[float32], l64 *lab[float64]) {
		for _, s := range [][3]int{{2, 2, 2}, {1, 40, 30}, {30, 1, 40}, {13, 33, 20}} {
			for _, special := range []float64{nan, inf} {
				if l32 != nil {
					checkSpecial(l32, s, special)
				} else {
					checkSpecial(l64, s, special)
				}
			}
		}
	})
}

// checkSpecial puts a NaN or infinity into one element of a, with ones all
// around: it reaches its row of the result and nothing else. What dst held
// before, NaN, must not matter.
func checkSpecial[T float](l *lab[T], s [3]int, special float64) {
	m, n, k := s[0], s[1], s[2]
	dst, _ := array[T](l.c, []int{m, n}, layouts[0])
	a, _ := array[T](l.x, []int{m, k}, layouts[0])
	b, _ := array[T](l.y, []int{k, n}, layouts[1])
	for _, x := range []cpu.Array{dst, a, b} {
		v := make([]T, x.Len())
		for i := range v {
			v[i] = 1
			if x.Data == dst.Data {
				v[i] = T(math.NaN())
			}
		}
		if x.Data == a.Data {
			v[(m-1)*k+k/2] = T(special)
		}
		fill(x, v)
	}
	l.run(dst, a, b, Options{})
	for i, v := range values[T](dst) {
		want := T(k)
		if i/n == m-1 {
			want = T(special)
		}
		if v != want && !(math.IsNaN(float64(v)) && math.IsNaN(float64(want))) {
			l.t.Fatalf("%v with %v: element %d is %v, want %v", s, special, i, v, want)
		}
	}
}

// The bits of a product must not depend on the number of threads, nor on how
// much scratch memory there is.
func TestSameBitsForAnyThreads(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	for _, s := range [][4]int{{1, 300, 200, 300}, {60, 20, 30, 40}, {1, 1, 3000, 800}, {1, 2000, 1, 900}} {
		dst, _ := array[float32](newArena(t, 1<<22), []int{s[0], s[1], s[2]}, layouts[0])
		a, _ := array[float32](newArena(t, 1<<23), []int{s[0], s[1], s[3]}, layouts[0])
		b, _ := array[float32](newArena(t, 1<<24), []int{s[0], s[3], s[2]}, layouts[1])
		for _, x := range []cpu.Array{a, b} {
			v := make([]float32, x.Len())
			for i := range v {
				v[i] = float32(i%1009) / 1009
			}
			fill(x, v)
		}
		var first []float32
		for _, threads := range []int{1, 2, 7} {
			cpu.SetNumThreads(threads)
			work := make([]byte, WorkspaceSize(dst, a, b))
			for _, now := range []int{threads + 1, 1, threads} { // other than the scratch memory is for
				cpu.SetNumThreads(now)
				MatMul(dst, a, b, work, Options{})
				got := values[float32](dst)
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					t.Errorf("%v: %d threads give other bits", s, now)
				}
			}
		}
	}
}

func TestWorkspaceIsBounded(t *testing.T) {
	cpu.SetNumThreads(4)
	t.Cleanup(func() { cpu.SetNumThreads(0) })
	big := cpu.Array{DType: cpu.Float64, Shape: []int{1 << 14, 1 << 14}, Strides: []int{1, 1 << 14}}
	if n := WorkspaceSize(big, big, big); n > 4*2<<20 {
		t.Errorf("a product of 16384x16384 on 4 threads takes %d bytes of scratch memory", n)
	}
	small := cpu.Array{DType: cpu.Float32, Shape: []int{4, 4}, Strides: []int{4, 1}}
	if n := WorkspaceSize(small, small, small); n != 0 {
		t.Errorf("a product of 4x4 takes %d bytes of scratch memory", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a workspace that is too small")
		}
	}()
	MatMul(big, big, big, make([]byte, 100), Options{})
}
