package reduce

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// most is the greatest length with which the loops are tested.
const most = 150

// page is room for most elements, before a page that cannot be read.
type page struct{ end unsafe.Pointer }

func newPage(t *testing.T) page { return page{unsafe.Add(arraytest.Memory(t, 8*most), 8*most)} }

// take returns the last n float32 before the end, all else a canary.
func (p page) take(n int) []float32 {
	for i := range 8 * most {
		*(*byte)(unsafe.Add(p.end, -i-1)) = arraytest.Canary
	}
	return unsafe.Slice((*float32)(unsafe.Add(p.end, -4*n)), n)
}

// expectCanaries fails if bytes before the last n float32 were written.
func (p page) expectCanaries(t *testing.T, n int) {
	t.Helper()
	for i := 4 * n; i < 8*most; i++ {
		if *(*byte)(unsafe.Add(p.end, -i-1)) != arraytest.Canary {
			t.Fatalf("a byte before the output of %d elements was written", n)
		}
	}
}

func near(got, want, unit float64) bool {
	return arraytest.SameFloat(got, want) || math.Abs(got-want) <= unit*math.Abs(want)+0x1p-149
}

// Each loop of each level, for every length, against the loop in its comment in
// float64, with its operands at the end of a page.
func TestVectorsAgainstGo(t *testing.T) {
	best, _ := cpu.Level()
	x, y, out := newPage(t), newPage(t), newPage(t)
	r := rand.New(rand.NewPCG(5, 6))
	fill := func(v []float32, special bool) {
		for i := range v {
			v[i] = float32(r.NormFloat64() * 3)
			if special && r.IntN(20) == 0 {
				v[i] = float32(arraytest.Specials[r.IntN(len(arraytest.Specials))])
				if v[i] == math.MaxFloat32 { // whose products and sums are infinite in float32
					v[i] = 1e30
				}
			}
		}
	}
	for _, v := range vectorSets() {
		if v.level > best {
			continue
		}
		for n := 1; n <= most; n++ {
			a, b := x.take(n), y.take(n)
			fill(a, n%2 == 1)
			fill(b, false)
			p, q := unsafe.SliceData(a), unsafe.SliceData(b)

			var sum, squares, dot, scale accurate
			for i := range a {
				sum.add(float64(a[i]))
				squares.add(float64(a[i]) * float64(a[i]))
				dot.add(float64(a[i]) * float64(b[i]))
				scale.add(math.Abs(float64(a[i])))
			}
			for name, c := range map[string]struct {
				f    func(n int, x *float32) float64
				want accurate
			}{"sum": {v.sum, sum}, "sumSquares": {v.sumSquares, squares}, "dot": {dotWith(v, q), dot}} {
				if c.f == nil {
					continue
				}
				got, want := c.f(n, p), c.want.value()
				unit := 0x1p-48
				if name != "sumSquares" { // a few additions are in float32, and of dot the terms
					unit = 0x1p-22
				}
				if !arraytest.SameFloat(got, want) && !(math.Abs(got-want) <= unit*c.want.scale) {
					t.Fatalf("%v %s of %d: %v, want %v", v.level, name, n, got, want)
				}
			}
			if v.expSum == nil {
				continue
			}

			for name, c := range map[string][2]float32{
				"greatest": {v.greatest(n, p), slices.Max(a)}, "least": {v.least(n, p), slices.Min(a)},
			} {
				if want := withNaN(a, c[1]); !arraytest.SameFloat(float64(c[0]), float64(want)) {
					t.Fatalf("%v %s of %v: %v, want %v", v.level, name, a, c[0], want)
				}
			}
			if got, want := v.peak(n, p), slices.Max(a); want == want && got != want {
				t.Fatalf("%v peak of %v: %v, want %v", v.level, a, got, want)
			}
			for i, e := range a {
				first := slices.Index(a, e)
				if got := v.indexOf(n, p, e); first >= 0 && got != first || first < 0 && got < n {
					t.Fatalf("%v index of %v in %v: %d at %d, want %d", v.level, e, a, got, i, first)
				}
			}

			d := out.take(n)
			largest := withNaN(a, slices.Max(a))
			total := 0.0
			got := v.expSum(n, unsafe.SliceData(d), p, largest)
			for i, e := range a {
				want := math.Exp(float64(e - largest))
				total += want
				if !near(float64(d[i]), want, 0x1p-23) {
					t.Fatalf("%v expSum: exp(%v) is %v, want %v", v.level, e-largest, d[i], want)
				}
			}
			out.expectCanaries(t, n)
			if again := v.sumExp(n, p, largest); !near(got, total, 0x1p-22) || !arraytest.SameFloat(got, again) {
				t.Fatalf("%v sum of %d exponentials is %v and %v, want %v", v.level, n, got, again, total)
			}

			expect := func(name string, unit float64, want func(i int) float64) {
				t.Helper()
				for i := range d {
					if !near(float64(d[i]), want(i), unit) {
						t.Fatalf("%v %s of %v, %v: element %d of %d is %v, want %v", v.level, name, a[i], b[i], i, n, d[i], want(i))
					}
				}
				out.expectCanaries(t, n)
			}
			single := func(x float64) float64 { return float64(float32(x)) }
			d = out.take(n)
			copy(d, a)
			v.scale(n, unsafe.SliceData(d), 0.3)
			expect("scale", 0, func(i int) float64 { return single(float64(a[i]) * float64(float32(0.3))) })
			d = out.take(n)
			v.subtract(n, unsafe.SliceData(d), p, 0.3, 2)
			expect("subtract", 0, func(i int) float64 { return single(single(float64(a[i])-float64(float32(0.3))) - 2) })
			d = out.take(n)
			v.softMaxGradient(n, unsafe.SliceData(d), p, q, 0.5)
			expect("softMaxGradient", 0, func(i int) float64 { return single(float64(b[i]) * single(float64(a[i])-0.5)) })
			d = out.take(n)
			v.logSoftMaxGradient(n, unsafe.SliceData(d), p, q, 0)
			expect("logSoftMaxGradient", 0, func(i int) float64 { // of no sum: NaN where exp is infinite
				return float64(a[i]) - 0*single(math.Exp(float64(b[i])))
			})
			if n%2 == 0 {
				v.logSoftMaxGradient(n, unsafe.SliceData(d), p, q, 0.5)
				for i := range d {
					e := 0.5 * math.Exp(float64(b[i]))
					if want := float64(a[i]) - e; math.Abs(float64(d[i])-want) > 0x1p-22*(e+math.Abs(want)) {
						t.Fatalf("%v logSoftMaxGradient of %v, %v is %v, want %v", v.level, a[i], b[i], d[i], want)
					}
				}
			}
		}
	}
}

// dotWith is v.dot, if there is one, with its second operand.
func dotWith(v *vectors, y *float32) func(n int, x *float32) float64 {
	if v.dot == nil {
		return nil
	}
	return func(n int, x *float32) float64 { return v.dot(n, x, y) }
}

func withNaN(v []float32, otherwise float32) float32 {
	for _, x := range v {
		if x != x {
			return x
		}
	}
	return otherwise
}

// Sums of float64. Whole numbers are exact.
func TestSumsOfFloat64(t *testing.T) {
	best, _ := cpu.Level()
	for _, v := range vectorSets() {
		if v.level > best || v.sum64 == nil {
			continue
		}
		for n := 1; n <= most; n++ {
			x := unsafe.Slice((*float64)(arraytest.Memory(t, 8*n)), n)
			want := 0.0
			for i := range x {
				x[i] = float64(i*i%1009 - 400)
				want += x[i]
			}
			if got := v.sum64(n, &x[0]); got != want {
				t.Fatalf("%v: sum of %d float64 is %v, want %v", v.level, n, got, want)
			}
		}
	}
}

// Long lines and large arrays, which are worked on in parts and by several
// threads, give the same bits for any number of threads, and what small ones do.
func TestLargeArrays(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	shapes := [][]int{{600, 500}, {1, 270000}, {270000, 1}, {3, 90001}, {90001, 3}, {4200, 64}}
	if testing.Short() {
		shapes = shapes[:1]
	}
	for _, shape := range shapes {
		x := arraytest.New(cpu.Float32, shape, []int{shape[1], 1})
		for i := range x.Len() {
			x.SetFloat(i, math.Sin(float64(i)*0.37)*4)
		}
		for dim := range 2 {
			out := slices.Clone(shape)
			out[dim] = 1
			var before [][]float64
			for _, threads := range []int{1, 3} {
				cpu.SetNumThreads(threads)
				var results []*arraytest.Guarded
				add := func(dtype cpu.DType, shape []int) cpu.Array {
					g := arraytest.New(dtype, shape, []int{shape[1], 1})
					results = append(results, g)
					return g.Array
				}
				for _, op := range []Op{Sum, Mean, Max, SumSquares} {
					Reduce(op, add(cpu.Float32, out), x.Array, []int{dim})
				}
				Reduce(Sum, add(cpu.Float32, []int{1, 1}), x.Array, []int{0, 1})
				ArgMax(add(cpu.Int64, out), x.Array, dim)
				SoftMax(add(cpu.Float32, shape), x.Array, dim)
				LogSoftMax(add(cpu.Float32, shape), x.Array, dim)
				LogSumExp(add(cpu.Float32, out), x.Array, dim)
				SoftMaxBackward(add(cpu.Float32, shape), x.Array, results[6].Array, dim)
				LogSoftMaxBackward(add(cpu.Float32, shape), x.Array, results[7].Array, dim)
				var values [][]float64
				for _, g := range results {
					v := make([]float64, g.Len())
					for i := range v {
						v[i] = g.Float(i)
					}
					values = append(values, v)
				}
				if before == nil {
					before = values
				}
				for i := range values {
					if !slices.Equal(values[i], before[i]) {
						t.Fatalf("shape %v, dimension %d: result %d depends on the threads", shape, dim, i)
					}
				}
			}
			for o, group := range groupsOf(shape, dim) {
				var sum accurate
				large := math.Inf(-1)
				for _, i := range group {
					sum.add(x.Float(i))
					large = max(large, x.Float(i))
				}
				if got := before[0][o]; math.Abs(got-sum.value()) > 0x1p-24*math.Abs(got)+0x1p-22*sum.scale {
					t.Fatalf("shape %v, dimension %d: sum %d is %v, want %v", shape, dim, o, got, sum.value())
				}
				if at := group[int(before[5][o])]; before[2][o] != large || x.Float(at) != large {
					t.Fatalf("shape %v, dimension %d: largest of %d is %v at %d, want %v", shape, dim, o, before[2][o], at, large)
				}
				total := 0.0
				for _, i := range group {
					total += before[6][i]
				}
				if math.Abs(total-1) > 1e-6 {
					t.Fatalf("shape %v, dimension %d: softmax %d sums to %v", shape, dim, o, total)
				}
			}
		}
	}
}

// Outputs side by side whose elements have gaps, more than fit into one tile: the
// sums are of whole numbers, and exact.
func TestWideTiles(t *testing.T) {
	for _, cols := range []int{runLen - 1, runLen + 1, tileLen - 1, tileLen, tileLen + 1, 2*tileLen + 7} {
		for _, dtype := range []cpu.DType{cpu.Float32, cpu.Float64, cpu.Int64} {
			x := arraytest.New(dtype, []int{3, cols}, []int{3 * cols, 2})
			want := make([]float64, cols)
			for i := range x.Len() {
				v := i*i%101 - 50
				want[i%cols] += float64(v)
				if arraytest.IsFloat(dtype) {
					x.SetFloat(i, float64(v))
				} else {
					x.SetInteger(i, int64(v))
				}
			}
			sum := arraytest.New(dtype, []int{1, cols}, []int{cols, 1})
			Reduce(Sum, sum.Array, x.Array, []int{0})
			for i, w := range want {
				if sum.Float(i) != w {
					t.Fatalf("%v, %d columns: column %d sums to %v, want %v", dtype, cols, i, sum.Float(i), w)
				}
			}
			sum.CheckCanaries(t)
		}
	}
}

// groupsOf is groups for one dimension of a matrix, without the index arithmetic.
func groupsOf(shape []int, dim int) [][]int {
	g := make([][]int, shape[1-dim])
	for i := range shape[0] {
		for j := range shape[1] {
			o := i
			if dim == 0 {
				o = j
			}
			g[o] = append(g[o], i*shape[1]+j)
		}
	}
	return g
}
