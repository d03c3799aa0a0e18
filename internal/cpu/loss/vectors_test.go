package loss

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// Each loop of each level, for every length, against the loop in its comment,
// with its operands before a page that cannot be read.
func TestVectorsAgainstGo(t *testing.T) {
	const most = 150
	best, _ := cpu.Level()
	end := func() unsafe.Pointer { return unsafe.Add(arraytest.Memory(t, 4*most), 4*most) }
	x, y, out := end(), end(), end()
	take := func(p unsafe.Pointer, n int) []float32 { return unsafe.Slice((*float32)(unsafe.Add(p, -4*n)), n) }
	near := func(got, want, unit float64) bool {
		return arraytest.SameFloat(got, want) || math.Abs(got-want) <= unit*math.Abs(want)+0x1p-148
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, v := range vectorSets() {
		if v.level > best {
			continue
		}
		for n := 1; n <= most; n++ {
			a, b := take(x, n), take(y, n)
			for i := range a {
				a[i], b[i] = float32(r.NormFloat64()*3), float32(r.NormFloat64())
				if n%2 == 1 && r.IntN(20) == 0 {
					a[i] = float32(arraytest.Specials[r.IntN(len(arraytest.Specials))])
				}
			}
			m := slices.Max(a)
			for _, e := range a {
				if e != e {
					m = e
				}
			}
			if got := v.peak(n, &a[0]); m == m && got != m {
				t.Fatalf("%v: peak of %v is %v, want %v", v.level, a, got, m)
			}
			sum, squares := 0.0, 0.0
			for i, e := range a {
				sum += math.Exp(float64(e - m))
				d := float64(e - b[i])
				squares += d * d
			}
			if got := v.sumExp(n, &a[0], m); !near(got, sum, 0x1p-22) {
				t.Fatalf("%v: sum of exponentials of %v is %v, want %v", v.level, a, got, sum)
			}
			if got := v.squaredDistance(n, &a[0], &b[0]); !near(got, squares, 0x1p-48) {
				t.Fatalf("%v: squared distance of %v and %v is %v, want %v", v.level, a, b, got, squares)
			}
			whole := take(out, most)
			check := func(name string, unit float64, want func(i int) float64) {
				t.Helper()
				for i, got := range whole {
					if i < most-n {
						if got != 77 {
							t.Fatalf("%v %s: wrote before the %d elements", v.level, name, n)
						}
					} else if w := want(i - (most - n)); !near(float64(got), w, unit) {
						t.Fatalf("%v %s: element %d of %v, %v is %v, want %v", v.level, name, i-(most-n), a, b, got, w)
					}
				}
			}
			d := take(out, n)
			reset := func() {
				for i := range whole {
					whole[i] = 77
				}
			}
			reset()
			v.expScale(n, &d[0], &a[0], 3, 0.25, -0.5)
			check("expScale", 0x1p-22, func(i int) float64 {
				return float64(float32(math.Exp(float64((a[i]-3)-0.25)))) * -0.5
			})
			reset()
			v.distanceGradient(n, &d[0], &a[0], &b[0], 0.3, 0.7)
			check("distanceGradient", 0, func(i int) float64 { return float64((0.3 * (a[i] - b[i])) * 0.7) })
		}
	}
}

// Rows side by side, which are computed in vectors, and the same rows with gaps,
// which are not, agree; so do large ones with any number of threads.
func TestVectorsAgainstStrided(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	r := rand.New(rand.NewPCG(7, 8))
	shapes := [][]int{{1, 1}, {3, 2}, {64, 10}, {5, 1000}, {2, 40000}, {70, 1000}}
	if testing.Short() {
		shapes = shapes[:4]
	}
	for _, shape := range shapes {
		rows, classes := shape[0], shape[1]
		dense := arraytest.New(cpu.Float32, shape, []int{classes, 1})
		gaps := arraytest.New(cpu.Float32, shape, []int{2 * classes, 2})
		target := arraytest.New(cpu.Int64, []int{rows}, []int{1})
		for i := range rows {
			target.SetInteger(i, int64(r.IntN(classes)))
			if i == 2 {
				target.SetInteger(i, -100)
			}
		}
		for i := range dense.Len() {
			v := r.NormFloat64()*4 + 5000*float64(i%3/2)
			dense.SetFloat(i, v)
			gaps.SetFloat(i, v)
		}
		for _, reduction := range []Reduction{Mean, Sum, None} {
			lossShape := []int{}
			if reduction == None {
				lossShape = []int{rows}
			}
			strides := make([]int, len(lossShape))
			for i := range strides {
				strides[i] = 1
			}
			opt := Options{IgnoreIndex: -100, Reduction: reduction}
			var losses, lses, grads [][]float64
			for try, logits := range []*arraytest.Guarded{gaps, dense, dense} {
				cpu.SetNumThreads(1 + try)
				loss := arraytest.New(cpu.Float32, lossShape, strides)
				upstream := arraytest.New(cpu.Float32, lossShape, strides)
				for i := range upstream.Len() {
					upstream.SetFloat(i, 0.5+float64(i%4))
				}
				lse, grad := arraytest.New(cpu.Float64, []int{rows}, []int{1}), arraytest.New(cpu.Float32, shape, logits.Strides)
				if err := CrossEntropy(loss.Array, lse.Array, logits.Array, target.Array, opt); err != nil {
					t.Fatal(err)
				}
				if err := CrossEntropyBackward(grad.Array, upstream.Array, logits.Array, lse.Array, target.Array, opt); err != nil {
					t.Fatal(err)
				}
				for list, g := range map[*[][]float64]*arraytest.Guarded{&losses: loss, &lses: lse, &grads: grad} {
					v := make([]float64, g.Len())
					for i := range v {
						v[i] = g.Float(i)
					}
					*list = append(*list, v)
				}
				grad.CheckCanaries(t)
			}
			for name, v := range map[string][][]float64{"loss": losses, "logarithm": lses, "gradient": grads} {
				if !slices.Equal(v[1], v[2]) {
					t.Errorf("%v %v: %s depends on the number of threads", shape, reduction, name)
				}
				for i := range v[0] {
					// Differences from the largest logit are rounded, and a row has them up to 5000.
					if a, b := v[0][i], v[1][i]; math.Abs(a-b) > 4e-6*math.Abs(a)+1e-12 && !arraytest.SameFloat(a, b) {
						t.Errorf("%v %v: %s %d is %v in vectors, %v in Go", shape, reduction, name, i, b, a)
						break
					}
				}
			}
		}
	}
}

// MSE of arrays side by side and with gaps.
func TestMSEAgainstStrided(t *testing.T) {
	for _, dtype := range []cpu.DType{cpu.Float32, cpu.Float64} {
		lengths := []int{1, 7, 4097, 70000}
		if testing.Short() {
			lengths = lengths[:3]
		}
		for _, n := range lengths {
			for _, reduction := range []Reduction{Mean, Sum, None} {
				var values [][]float64
				for gap := 1; gap <= 2; gap++ {
					x, y := arraytest.New(dtype, []int{n}, []int{gap}), arraytest.New(dtype, []int{n}, []int{gap})
					for i := range n {
						x.SetFloat(i, math.Sin(float64(i)))
						y.SetFloat(i, math.Cos(float64(3*i)))
					}
					shape, strides := []int{}, []int{}
					if reduction == None {
						shape, strides = []int{n}, []int{gap}
					}
					loss, upstream := arraytest.New(dtype, shape, strides), arraytest.New(dtype, shape, strides)
					for i := range upstream.Len() {
						upstream.SetFloat(i, 0.75)
					}
					grad := arraytest.New(dtype, []int{n}, []int{gap})
					MSE(loss.Array, x.Array, y.Array, reduction)
					MSEBackward(grad.Array, upstream.Array, x.Array, y.Array, reduction)
					var v []float64
					for _, g := range []*arraytest.Guarded{loss, grad} {
						for i := range g.Len() {
							v = append(v, g.Float(i))
						}
						g.CheckCanaries(t)
					}
					values = append(values, v)
				}
				for i, a := range values[0] {
					if b := values[1][i]; math.Abs(a-b) > 1e-7*math.Abs(b) {
						t.Fatalf("%v, %d elements, reduction %v: value %d is %v, with gaps %v", dtype, n, reduction, i, a, b)
					}
				}
			}
		}
	}
}
