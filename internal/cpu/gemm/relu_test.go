package gemm

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// special are the values at which limiting to at least 0 could go wrong.
func special[T float]() []T {
	tiny := T(math.SmallestNonzeroFloat32)
	if dtypeOf[T]() == cpu.Float64 {
		v := math.SmallestNonzeroFloat64
		tiny = T(v)
	}
	inf := T(math.Inf(1))
	return []T{T(math.NaN()), inf, -inf, T(math.Copysign(0, -1)), 0, tiny, -tiny, 1.5, -1.5}
}

func isFloat[T number]() bool { return dtypeOf[T]() == cpu.Float32 || dtypeOf[T]() == cpu.Float64 }

// bitsOf returns v's bits, so that NaN and -0 can be compared.
func bitsOf[T number](v T) uint64 {
	switch v := any(v).(type) {
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	}
	return uint64(v)
}

// maskIn returns n bytes at the end of the arena, none of them what they should be.
func maskIn(ar arena, n int) []byte {
	const before = 8
	mem := unsafe.Slice((*byte)(unsafe.Add(ar.base, ar.size-n-before)), n+before)
	for i := range mem {
		mem[i] = canary
	}
	return mem[before:]
}

// outside reports whether the bytes before a mask are as maskIn left them.
func outside(mask []byte) bool {
	const before = 8
	for _, b := range unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mask)), -before)), before) {
		if b != canary {
			return false
		}
	}
	return true
}

// Each kernel of each level must do to elements and mask what the definition
// says, and neither read nor write past them.
func TestReLUKernels(t *testing.T) {
	best, _ := cpu.Level()
	for _, kern := range kernelSets32() {
		if kern.level <= best {
			t.Run(fmt.Sprint("float32", kern.level), func(t *testing.T) { testReLUKernel(t, kern) })
		}
	}
	for _, kern := range kernelSets64() {
		if kern.level <= best {
			t.Run(fmt.Sprint("float64", kern.level), func(t *testing.T) { testReLUKernel(t, kern) })
		}
	}
}

func testReLUKernel[T float](t *testing.T, kern *kernels[T]) {
	endC, endM := newArena(t, 1<<14), newArena(t, 1<<12)
	rnd, values := noise(4), special[T]()
	for cols := 1; cols <= kern.nr; cols++ {
		for _, rows := range []int{1, 2, 5, 13} {
			for _, gap := range []int{0, 1, 6} {
				ldc, bytes := cols+gap, elementwise.MaskLen(cols)
				ldm := bytes + gap%2
				v := make([]T, (rows-1)*ldc+cols)
				for i := range v {
					v[i] = values[rnd.next()%uint64(len(values))]
				}
				want, wantMask := slices.Clone(v), maskIn(arena{unsafe.Pointer(unsafe.SliceData(make([]byte, 1<<10))), 1 << 10}, (rows-1)*ldm+bytes)
				for i := range rows {
					clear(wantMask[i*ldm : i*ldm+bytes])
					for j := range cols {
						x := &want[i*ldc+j]
						if !(*x <= 0) {
							wantMask[i*ldm+j/8] |= 1 << (j % 8)
						}
						if *x < 0 {
							*x = 0
						}
					}
				}
				for _, noted := range []bool{true, false} {
					c, mask := place(endC, v), maskIn(endM, len(wantMask))
					var m *byte
					if noted {
						m = &mask[0]
					}
					kern.relu(rows, c, ldc, m, ldm, cols)
					what := fmt.Sprintf("%d rows of %d, %d apart, mask %t", rows, cols, ldc, noted)
					for i, got := range unsafe.Slice(c, len(v)) {
						if bitsOf(got) != bitsOf(want[i]) {
							t.Fatalf("%s: element %d was %v, is %v, want %v", what, i, v[i], got, want[i])
						}
					}
					if noted && !slices.Equal(mask, wantMask) || !outside(mask) {
						t.Fatalf("%s: mask %08b, want %08b", what, mask, wantMask)
					}
				}
			}
		}
	}
}

// checkReLU compares a product that is limited to at least 0 with the product
// that is limited afterwards.
func (l *lab[T]) checkReLU(lead []int, m, n, k int, lc, la, lb layout, seed uint64) {
	l.t.Helper()
	rnd := noise(seed)
	shape := func(r, c int) []int { return append(slices.Clone(lead), r, c) }
	fractions := func(count int) []T {
		v := whole[T](&rnd, count)
		if isFloat[T]() {
			for i := range v {
				v[i] /= 7
			}
		}
		return v
	}
	dst, mem := array[T](l.c, shape(m, n), lc)
	a, _ := array[T](l.x, shape(m, k), la)
	b, _ := array[T](l.y, shape(k, n), lb)
	fill(a, fractions(a.Len()))
	fill(b, fractions(b.Len()))
	start := l.mixed(&rnd, dst.Len())
	opt := Options{Accumulate: seed%4 == 1}
	if seed%3 != 0 {
		bias, _ := array[T](l.bias, []int{1, n}, layouts[seed%5/4*4])
		fill(bias, l.mixed(&rnd, n))
		bias.Shape, bias.Strides = bias.Shape[1:], bias.Strides[1:]
		opt.Bias = &bias
	}
	fill(dst, start)
	l.run(dst, a, b, opt)
	opt.ReLU = true
	dtype := dtypeOf[T]()
	want := slices.Clone(values[T](dst))
	plain := cpu.Array{Data: unsafe.Pointer(unsafe.SliceData(want)), DType: dtype, Shape: []int{len(want)}, Strides: []int{1}}
	bytes := elementwise.MaskLen(len(want))
	wantMask, mask := make([]byte, bytes), maskIn(l.mask(), bytes)
	asArray := func(m []byte) *cpu.Array {
		return &cpu.Array{Data: unsafe.Pointer(unsafe.SliceData(m)), DType: cpu.Uint8, Shape: []int{len(m)}, Strides: []int{1}}
	}
	if isFloat[T]() {
		elementwise.ReLUMask(plain, *asArray(wantMask), plain)
	} else {
		elementwise.Unary(elementwise.ReLU, plain, plain)
	}
	for _, noted := range []bool{true, false} {
		opt.Mask = nil
		if noted {
			if !isFloat[T]() {
				continue
			}
			opt.Mask = asArray(mask)
		}
		fill(dst, start)
		l.run(dst, a, b, opt)
		what := fmt.Sprintf("%v %dx%dx%d, layouts %v %v %v, accumulate %v, bias %v, mask %v", lead, m, k, n, lc, la, lb, opt.Accumulate, opt.Bias != nil, noted)
		for i, got := range values[T](dst) {
			if bitsOf(got) != bitsOf(want[i]) {
				l.t.Fatalf("%s: element %d is %v, want %v", what, i, got, want[i])
			}
		}
		if noted && !slices.Equal(mask, wantMask) {
			l.t.Fatalf("%s: mask %08b, want %08b", what, mask, wantMask)
		}
		if !untouched(dst, mem) || !outside(mask) {
			l.t.Fatalf("%s: wrote outside the result", what)
		}
	}
}

// mixed returns numbers with a special one among them now and then.
func (l *lab[T]) mixed(rnd *noise, count int) []T {
	v := whole[T](rnd, count)
	switch v := any(v).(type) {
	case []float32:
		sprinkle(rnd, v)
	case []float64:
		sprinkle(rnd, v)
	}
	return v
}

func sprinkle[T float](rnd *noise, v []T) {
	values := special[T]()
	for i := range v {
		if x := rnd.next() % 40; x < uint64(len(values)) {
			v[i] = values[x]
		}
	}
}

// mask returns the memory for a mask of any result.
func (l *lab[T]) mask() arena {
	if l.bits.base == nil {
		l.bits = newArena(l.t, l.c.size/32+64)
	}
	return l.bits
}

func eachReLULab(t *testing.T, size int, f32 func(*lab[float32]), f64 func(*lab[float64])) {
	eachLab(t, size, func(_ *testing.T, l32 *lab[float32], l64 *lab[float64]) {
		if l32 != nil {
			f32(l32)
		} else {
			f64(l64)
		}
	})
}

func (l *lab[T]) checkReLUSizes() {
	ms, ns, ks := []int{1, 2, 5, 12, 13, 30, 50}, []int{1, 7, 8, 10, 16, 24, 32, 40, 57, 64, 72, 136}, []int{0, 1, 3, 40, 400}
	if quick() {
		ms, ns, ks = []int{1, 5, 30}, []int{1, 8, 40, 57}, []int{0, 3, 400}
	}
	seed := uint64(5)
	for _, m := range ms {
		for _, n := range ns {
			for _, k := range ks {
				rnd := noise(seed * 977)
				pick := func() layout { return layouts[rnd.next()%uint64(len(layouts))] }
				l.checkReLU(nil, m, n, k, layouts[0], layouts[0], layouts[1], seed) // a linear layer
				l.checkReLU(nil, m, n, k, pick(), pick(), pick(), seed+1)
				seed++
			}
		}
	}
}

func TestReLU(t *testing.T) {
	eachReLULab(t, 1<<21, (*lab[float32]).checkReLUSizes, (*lab[float64]).checkReLUSizes)
	run := func(dst, a, b cpu.Array, opt Options) { MatMul(dst, a, b, nil, opt) }
	newLab[int64](t, 1<<19, run).checkReLU([]int{2}, 3, 20, 9, layouts[1], layouts[0], layouts[2], 1)
	newLab[int32](t, 1<<19, run).checkReLU(nil, 30, 20, 9, layouts[0], layouts[0], layouts[0], 2)
}

func (l *lab[T]) checkReLUBatches() {
	for i, lead := range [][]int{{1}, {3}, {2, 3}, {1, 4, 1}, {200}} {
		for j, s := range [][3]int{{1, 8, 5}, {1, 40, 100}, {5, 16, 9}, {9, 17, 40}, {33, 24, 40}} {
			for seed := range uint64(4) {
				if lead[0] > 100 && s[0] > 10 || quick() && (i+j)%3 != 0 {
					continue
				}
				l.checkReLU(lead, s[0], s[1], s[2], layouts[int(seed)%2*j%len(layouts)], layouts[(i+j)%len(layouts)], layouts[(i+int(seed))%len(layouts)], seed+uint64(i))
			}
		}
	}
}

func TestReLUOfBatches(t *testing.T) {
	eachReLULab(t, 1<<24, (*lab[float32]).checkReLUBatches, (*lab[float64]).checkReLUBatches)
}

// The result must not depend on which thread limits which tile, in products
// of several tasks and steps.
func TestReLUWithAnyThreads(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	sizes := [][3]int{{150, 104, 400}, {70, 520, 130}, {200, 101, 200}}
	seeds := uint64(3)
	if quick() {
		sizes, seeds = [][3]int{{200, 104, 130}}, 1
	}
	for _, threads := range []int{1, 2, 7} {
		cpu.SetNumThreads(threads)
		for seed := range seeds {
			for _, s := range sizes {
				eachReLULab(t, 1<<23, func(l *lab[float32]) {
					l.checkReLU(nil, s[0], s[1], s[2], layouts[0], layouts[0], layouts[1], seed)
				}, func(l *lab[float64]) {
					l.checkReLU(nil, s[0], s[1], s[2], layouts[0], layouts[0], layouts[1], seed)
				})
			}
		}
	}
}

// A linear layer's product must go the fast way, or this file tests nothing.
func TestReLULimitsTiles(t *testing.T) {
	best, _ := cpu.Level()
	for _, kern := range kernelSets32() {
		if kern.level > best || kern.nr%8 != 0 {
			continue
		}
		for _, c := range []struct {
			m, n, k    int
			lc         layout
			bias       layout
			accumulate bool
			mask, want bool
		}{
			{m: 64, n: 128, k: 784, mask: true, want: true},
			{m: 64, n: 128, k: 784, mask: true, want: true, bias: layouts[0]},
			{m: 64, n: 40, k: 784, mask: true, want: true, bias: layouts[0]},
			{m: 64, n: 10, k: 128, mask: false, want: true, bias: layouts[0]},
			{m: 64, n: 10, k: 128, mask: true, want: false},
			{m: 64, n: 128, k: 784, mask: true, want: true, accumulate: true},
			{m: 64, n: 128, k: 784, mask: true, want: false, accumulate: true, bias: layouts[0]},
			{m: 64, n: 128, k: 784, mask: true, want: false, bias: layouts[4]},
			{m: 64, n: 128, k: 784, mask: true, want: false, lc: layouts[1]},
			{m: 64, n: 128, k: 784, mask: true, want: false, lc: layouts[4]},
			{m: 1, n: 128, k: 784, mask: true, want: false},
			{m: 2, n: 8, k: 8, mask: true, want: false},
		} {
			if c.lc.gap == 0 {
				c.lc = layouts[0]
			}
			dst, _ := array[float32](newArena(t, 1<<17), []int{c.m, c.n}, c.lc)
			a, _ := array[float32](newArena(t, 1<<19), []int{c.m, c.k}, layouts[0])
			b, _ := array[float32](newArena(t, 1<<19), []int{c.k, c.n}, layouts[1])
			r := runner[float32]{plan: newPlan(kern, dst, a, b), accumulate: c.accumulate}
			if c.bias.gap > 0 {
				r.bias = matrix[float32]{dst.Data, 0, c.bias.gap}
			}
			var mask *cpu.Array
			if c.mask {
				mask = &cpu.Array{Data: dst.Data}
			}
			if got := r.limitsTiles(mask); got != c.want {
				t.Errorf("%v %+v: limited by tiles: %t", kern.level, c, got)
			}
		}
	}
}
