package reduce

import (
	"math"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
	"pgregory.net/rapid"
)

// In this file reductions of arrays of any layout are compared with references
// that collect the elements of each output by index arithmetic.

// groups returns, for each element of an output of the given shape, the
// positions in an array of shape src that it comes from, in row-major order.
func groups(src, out []int) [][]int {
	n, m := 1, 1
	for i := range src {
		n *= src[i]
		m *= out[i]
	}
	g := make([][]int, m)
	for i := range n {
		rest, to, scale := i, 0, 1
		for d := len(src) - 1; d >= 0; d-- {
			if out[d] > 1 {
				to += rest % src[d] * scale
			}
			rest /= src[d]
			scale *= out[d]
		}
		g[to] = append(g[to], i)
	}
	return g
}

// drawDims draws dimensions and the shape that is left when they are reduced.
func drawDims(t *rapid.T, shape []int) (dims, out []int) {
	out = slices.Clone(shape)
	for i := range shape {
		if rapid.Bool().Draw(t, "reduced") {
			dims = append(dims, i)
			out[i] = 1
		}
	}
	if rapid.Bool().Draw(t, "dims reversed") {
		slices.Reverse(dims)
	}
	return dims, out
}

// drawDim draws one dimension of a shape of at least one.
func drawDim(t *rapid.T, shape []int) (dim int, out []int) {
	dim = rapid.IntRange(0, len(shape)-1).Draw(t, "dim")
	out = slices.Clone(shape)
	out[dim] = 1
	return dim, out
}

// tame replaces what makes a sum or product depend on its order: all but
// ordinary numbers, NaN, infinities and 0, and those too if finite.
func tame(g *arraytest.Guarded, finite bool) {
	for i := range g.Len() {
		v := g.Float(i)
		if a := math.Abs(v); a > 1e3 && a <= math.MaxFloat64 || finite && v-v != 0 {
			g.SetFloat(i, 1)
		}
	}
}

// expectNear fails unless element i of g is want within a rounding of the dtype
// and a share of scale.
func expectNear(t *rapid.T, g *arraytest.Guarded, i int, want, scale float64) {
	t.Helper()
	got, unit := g.Float(i), 0x1p-51
	if g.DType == cpu.Float32 {
		unit = 0x1p-24
	}
	if math.IsInf(want, 0) || want != want {
		if !arraytest.SameFloat(got, want) {
			t.Fatalf("element %d of shape %v: got %v, want %v", i, g.Shape, got, want)
		}
		return
	}
	if !(math.Abs(got-want) <= unit*math.Abs(want)+0x1p-48*scale+0x1p-149) {
		t.Fatalf("element %d of shape %v: got %v, want %v (off by %g)", i, g.Shape, got, want, got-want)
	}
}

// accurate is a sum that keeps what it loses (Neumaier's), and the sum of the
// absolute values.
type accurate struct{ sum, lost, scale float64 }

func (a *accurate) add(v float64) {
	next := a.sum + v
	if math.Abs(a.sum) >= math.Abs(v) {
		a.lost += (a.sum - next) + v
	} else {
		a.lost += (v - next) + a.sum
	}
	a.sum = next
	a.scale += math.Abs(v)
}

func (a *accurate) value() float64 {
	if a.sum-a.sum != 0 { // infinite or NaN
		return a.sum
	}
	return a.sum + a.lost
}

func TestSumLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawDType(t)
		dims, out := drawDims(t, shape)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		op := rapid.SampledFrom([]Op{Sum, Sum, Mean, SumSquares}).Draw(t, "op")
		if !arraytest.IsFloat(dtype) {
			dst := arraytest.Draw(t, "dst", cpu.Int64, out, false)
			Reduce(Sum, dst.Array, src.Array, dims)
			for o, group := range groups(shape, out) {
				sum := int64(0)
				for _, i := range group {
					sum += src.Integer(i)
				}
				if dst.Integer(o) != sum {
					t.Fatalf("sum %d is %d, want %d", o, dst.Integer(o), sum)
				}
			}
			dst.CheckCanaries(t)
			return
		}
		tame(src, rapid.Bool().Draw(t, "finite"))
		dst := arraytest.Draw(t, "dst", dtype, out, false)
		Reduce(op, dst.Array, src.Array, dims)
		for o, group := range groups(shape, out) {
			var s accurate
			for _, i := range group {
				v := src.Float(i)
				if op == SumSquares {
					v *= v
				}
				s.add(v)
			}
			n := 1.0
			if op == Mean {
				n = float64(len(group))
			}
			if dtype == cpu.Float32 && op != SumSquares { // a few additions are in float32
				s.scale *= 0x1p-22 / 0x1p-48
			}
			expectNear(t, dst, o, s.value()/n, s.scale/n)
		}
		dst.CheckCanaries(t)
	})
}

func TestProdLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawDType(t)
		dims, out := drawDims(t, shape)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		if !arraytest.IsFloat(dtype) {
			dst := arraytest.Draw(t, "dst", cpu.Int64, out, false)
			Reduce(Prod, dst.Array, src.Array, dims)
			for o, group := range groups(shape, out) {
				product := int64(1)
				for _, i := range group {
					product *= src.Integer(i)
				}
				if dst.Integer(o) != product {
					t.Fatalf("product %d is %d, want %d", o, dst.Integer(o), product)
				}
			}
			dst.CheckCanaries(t)
			return
		}
		special := rapid.Bool().Draw(t, "special")
		for i := range src.Len() {
			v := src.Float(i)
			if special && v-v == 0 && v != 0 {
				v = math.Copysign(1, v)
			} else if !special {
				v = 1 + math.Mod(v, 2)/64
				if v-v != 0 {
					v = -1
				}
			}
			src.SetFloat(i, v)
		}
		dst := arraytest.Draw(t, "dst", dtype, out, false)
		Reduce(Prod, dst.Array, src.Array, dims)
		for o, group := range groups(shape, out) {
			product := 1.0
			for _, i := range group {
				product *= src.Float(i)
			}
			if dtype == cpu.Float32 {
				product = float64(float32(product))
			}
			expectNear(t, dst, o, product, 4*math.Abs(product)*math.Sqrt(float64(len(group))))
		}
		dst.CheckCanaries(t)
	})
}

// better reports whether element i of g replaces element j as the extreme.
func better(g *arraytest.Guarded, i, j int, least bool) bool {
	if !arraytest.IsFloat(g.DType) {
		if least {
			return g.Integer(i) < g.Integer(j)
		}
		return g.Integer(i) > g.Integer(j)
	}
	x, y := g.Float(i), g.Float(j)
	switch {
	case y != y:
		return false
	case x != x:
		return true
	case least:
		return x < y
	}
	return x > y
}

func TestExtremesLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawDType(t)
		if slices.Contains(shape, 0) {
			return
		}
		dims, out := drawDims(t, shape)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		least := rapid.Bool().Draw(t, "least")
		op := Max
		if least {
			op = Min
		}
		check := func(dst *arraytest.Guarded, out []int, indices *arraytest.Guarded) {
			for o, group := range groups(shape, out) {
				best, where := group[0], 0
				for k, i := range group {
					if better(src, i, best, least) {
						best, where = i, k
					}
				}
				equal := dst.Text(o) == src.Text(best)
				if arraytest.IsFloat(dtype) {
					equal = equal || dst.Float(o) == src.Float(best) // either zero
				}
				if !equal {
					t.Fatalf("extreme %d is %s, want %s", o, dst.Text(o), src.Text(best))
				}
				if indices != nil && indices.Integer(o) != int64(where) {
					t.Fatalf("extreme %d is at %d, want %d", o, indices.Integer(o), where)
				}
			}
			dst.CheckCanaries(t)
		}
		dst := arraytest.Draw(t, "dst", dtype, out, false)
		Reduce(op, dst.Array, src.Array, dims)
		check(dst, out, nil)
		if len(shape) == 0 {
			return
		}

		dim, out := drawDim(t, shape)
		values := arraytest.Draw(t, "values", dtype, out, false)
		indices := arraytest.Draw(t, "indices", cpu.Int64, out, false)
		alone := arraytest.Draw(t, "alone", cpu.Int64, out, false)
		if least {
			MinDim(values.Array, indices.Array, src.Array, dim)
			ArgMin(alone.Array, src.Array, dim)
		} else {
			MaxDim(values.Array, indices.Array, src.Array, dim)
			ArgMax(alone.Array, src.Array, dim)
		}
		check(values, out, indices)
		check(values, out, alone)
		indices.CheckCanaries(t)
		alone.CheckCanaries(t)
	})
}

func TestAnyAllLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawDType(t)
		dims, out := drawDims(t, shape)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		odd := rapid.Float64Range(0, 1).Draw(t, "share") // of elements that are random, the others all alike
		alike := rapid.SampledFrom([]int64{0, 1}).Draw(t, "alike")
		for i := range src.Len() {
			if math.Mod(float64(i)*0.618, 1) < odd {
				continue
			}
			if arraytest.IsFloat(dtype) {
				src.SetFloat(i, float64(alike))
			} else {
				src.SetInteger(i, alike)
			}
		}
		anyOf, allOf := arraytest.Draw(t, "any", cpu.Bool, out, false), arraytest.Draw(t, "all", cpu.Bool, out, false)
		Reduce(Any, anyOf.Array, src.Array, dims)
		Reduce(All, allOf.Array, src.Array, dims)
		for o, group := range groups(shape, out) {
			is := func(i int) bool { return src.Float(i) != 0 }
			isNot := func(i int) bool { return src.Float(i) == 0 }
			wantAny, wantAll := slices.ContainsFunc(group, is), !slices.ContainsFunc(group, isNot)
			if (anyOf.Integer(o) == 1) != wantAny || (allOf.Integer(o) == 1) != wantAll || anyOf.Integer(o)|allOf.Integer(o) > 1 {
				t.Fatalf("%d: any %d, all %d, want %v and %v", o, anyOf.Integer(o), allOf.Integer(o), wantAny, wantAll)
			}
		}
		anyOf.CheckCanaries(t)
		allOf.CheckCanaries(t)
	})
}

func TestCumSumLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawDType(t)
		if len(shape) == 0 {
			shape = []int{1}
		}
		dim, out := drawDim(t, shape)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		before := src.Clone()
		result := dtype
		if !arraytest.IsFloat(dtype) {
			result = cpu.Int64
		}
		dst := arraytest.DrawOutput(t, result, shape, src)
		CumSum(dst.Array, src.Array, dim)
		for _, group := range groups(shape, out) {
			sum, whole := 0.0, int64(0)
			for _, i := range group {
				if arraytest.IsFloat(dtype) {
					sum += before.Float(i)
					want := sum
					if dtype == cpu.Float32 {
						want = float64(float32(sum))
					}
					if !arraytest.SameFloat(dst.Float(i), want) {
						t.Fatalf("element %d is %v, want %v", i, dst.Float(i), want)
					}
				} else if whole += before.Integer(i); dst.Integer(i) != whole {
					t.Fatalf("element %d is %d, want %d", i, dst.Integer(i), whole)
				}
			}
		}
		dst.CheckCanaries(t)
	})
}

func TestVarMeanLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, dtype := arraytest.DrawShape(t), arraytest.DrawFloat(t)
		dims, out := drawDims(t, shape)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		tame(src, true)
		far := rapid.SampledFrom([]float64{0, 1e5}).Draw(t, "far from 0")
		shifted := arraytest.New(dtype, shape, src.Strides)
		for i := range src.Len() {
			shifted.SetFloat(i, math.Mod(src.Float(i), 8)+far)
		}
		correction := rapid.SampledFrom([]float64{0, 1}).Draw(t, "correction")
		variance, mean := arraytest.Draw(t, "var", dtype, out, false), arraytest.Draw(t, "mean", dtype, out, false)
		VarMean(variance.Array, mean.Array, shifted.Array, dims, correction)
		for o, group := range groups(shape, out) {
			n := float64(len(group))
			var sum, squares accurate
			for _, i := range group {
				sum.add(shifted.Float(i) - far)
			}
			m := sum.value() / n // of the distances from far, which are exact
			for _, i := range group {
				d := shifted.Float(i) - far - m
				squares.add(d * d)
			}
			expectNear(t, mean, o, m+far, far+8)
			expectNear(t, variance, o, squares.value()/max(0, n-correction), 1+far/1e3)
		}
		variance.CheckCanaries(t)
		mean.CheckCanaries(t)
	})
}
