package reduce

import (
	"math"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
	"pgregory.net/rapid"
)

// largest is the maximum of a group, NaN if there is one.
func largest(g *arraytest.Guarded, group []int) float64 {
	m := math.Inf(-1)
	for _, i := range group {
		m = max(m, g.Float(i))
	}
	return m
}

func sumExp(g *arraytest.Guarded, group []int, shift float64) float64 {
	sum := 0.0
	for _, i := range group {
		sum += math.Exp(g.Float(i) - shift)
	}
	return sum
}

func expectClose(t *rapid.T, g *arraytest.Guarded, i int, want, scale float64) {
	t.Helper()
	unit := 0x1p-46
	if g.DType == cpu.Float32 {
		unit = 0x1p-22
	}
	got := g.Float(i)
	if !arraytest.SameFloat(got, want) && !(math.Abs(got-want) <= unit*(math.Abs(want)+scale)+0x1p-148) {
		t.Fatalf("element %d of shape %v: got %v, want %v", i, g.Shape, got, want)
	}
}

func TestSoftMaxLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawFloat(t)
		if len(shape) == 0 {
			shape = []int{1}
		}
		dim, out := drawDim(t, shape)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		tame(src, rapid.Bool().Draw(t, "finite"))
		before := src.Clone()
		lse := arraytest.Draw(t, "logsumexp", dtype, out, false)
		LogSumExp(lse.Array, src.Array, dim)
		log := rapid.Bool().Draw(t, "log")
		dst := arraytest.DrawOutput(t, dtype, shape, src)
		if log {
			LogSoftMax(dst.Array, src.Array, dim)
		} else {
			SoftMax(dst.Array, src.Array, dim)
		}
		for o, group := range groups(shape, out) {
			m := largest(before, group)
			shift := m
			if math.IsInf(m, 0) {
				shift = 0
			}
			expectClose(t, lse, o, math.Log(sumExp(before, group, shift))+shift, 1+math.Abs(shift))
			sum := sumExp(before, group, m)
			total := 0.0
			for _, i := range group {
				if log {
					expectClose(t, dst, i, before.Float(i)-m-math.Log(sum), 1)
					continue
				}
				// The distance from the largest is rounded, as in PyTorch: an error
				// of the result in proportion to the distance.
				want, distance := math.Exp(before.Float(i)-m)/sum, math.Abs(before.Float(i)-m)
				if want == 0 || want != want {
					distance = 0
				}
				expectClose(t, dst, i, want, want*distance/4)
				total += dst.Float(i)
			}
			if !log && len(group) > 0 && total == total && math.Abs(total-1) > 1e-5 {
				t.Fatalf("softmax sums to %v", total)
			}
		}
		dst.CheckCanaries(t)
		lse.CheckCanaries(t)
	})
}

func TestSoftMaxBackwardLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawFloat(t)
		if len(shape) == 0 {
			shape = []int{1}
		}
		dim, out := drawDim(t, shape)
		grad, y := arraytest.Draw(t, "grad", dtype, shape, true), arraytest.Draw(t, "out", dtype, shape, true)
		tame(grad, true)
		for i := range y.Len() {
			y.SetFloat(i, math.Mod(y.Float(i), 4))
			if y.Float(i) != y.Float(i) {
				y.SetFloat(i, -1)
			}
		}
		log := rapid.Bool().Draw(t, "log")
		g := grad.Clone()
		dst := arraytest.DrawOutput(t, dtype, shape, grad)
		if log {
			LogSoftMaxBackward(dst.Array, grad.Array, y.Array, dim)
		} else {
			SoftMaxBackward(dst.Array, grad.Array, y.Array, dim)
		}
		for _, group := range groups(shape, out) {
			var s accurate
			for _, i := range group {
				v := g.Float(i)
				if !log {
					v *= y.Float(i)
				}
				s.add(v)
			}
			sum, scale := s.value(), s.scale
			for _, i := range group {
				x, o := g.Float(i), y.Float(i)
				if log {
					expectClose(t, dst, i, x-math.Exp(o)*sum, math.Exp(o)*scale/4+math.Abs(x))
				} else {
					expectClose(t, dst, i, o*(x-sum), math.Abs(o)*(scale/4+math.Abs(x)))
				}
			}
		}
		dst.CheckCanaries(t)
	})
}

// A reduction over nothing, of a scalar, and over no dimensions.
func TestDegenerateShapes(t *testing.T) {
	scalar, out := arraytest.New(cpu.Float32, nil, nil), arraytest.New(cpu.Float32, nil, nil)
	at := arraytest.New(cpu.Int64, nil, nil)
	scalar.SetFloat(0, 2.5)
	Reduce(Sum, out.Array, scalar.Array, nil)
	ArgMax(at.Array, scalar.Array, 0)
	if out.Float(0) != 2.5 || at.Integer(0) != 0 {
		t.Errorf("sum of a scalar is %v, its largest element at %d", out.Float(0), at.Integer(0))
	}
	SoftMax(out.Array, scalar.Array, 0)
	if out.Float(0) != 1 {
		t.Errorf("softmax of a scalar is %v", out.Float(0))
	}
	LogSumExp(out.Array, scalar.Array, 0)
	if out.Float(0) != 2.5 {
		t.Errorf("logsumexp of a scalar is %v", out.Float(0))
	}

	nothing, two := arraytest.New(cpu.Float32, []int{2, 0}, []int{1, 1}), arraytest.New(cpu.Float32, []int{2, 1}, []int{2, 1})
	places := arraytest.New(cpu.Int64, []int{2, 1}, []int{1, 1})
	for op, want := range map[Op]float64{Sum: 0, Prod: 1, Mean: math.NaN(), SumSquares: 0} {
		Reduce(op, two.Array, nothing.Array, []int{1})
		if !arraytest.SameFloat(two.Float(0), want) || !arraytest.SameFloat(two.Float(1), want) {
			t.Errorf("reduction %d of nothing is %v, want %v", op, two.Float(0), want)
		}
	}
	two.CheckCanaries(t)
	for name, call := range map[string]func(){
		"max of nothing":    func() { Reduce(Max, two.Array, nothing.Array, []int{1}) },
		"argmin of nothing": func() { ArgMin(places.Array, nothing.Array, 1) },
		"mean of integers":  func() { Reduce(Mean, places.Array, places.Array, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			call()
		}()
	}
}

// Sums do not depend on where in memory the array lies, nor on earlier calls.
func TestSumBitsRepeat(t *testing.T) {
	shape := []int{70, 1, 130}
	var want []float64
	for try := range 3 {
		x := arraytest.New(cpu.Float64, shape, []int{131, 1, 1})
		x.Randomize(7)
		tame(x, true)
		var got []float64
		for _, dims := range [][]int{{0}, {2}, {0, 2}} {
			out := slices.Clone(shape)
			for _, d := range dims {
				out[d] = 1
			}
			y := arraytest.New(cpu.Float64, out, []int{200 + try, 1, 1 + try%2})
			Reduce(Sum, y.Array, x.Array, dims)
			for i := range y.Len() {
				got = append(got, y.Float(i))
			}
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Fatal("the same sum gave other bits")
		}
	}
}
