package elementwise

import (
	"math"
	"math/big"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
	"pgregory.net/rapid"
)

// fusedSum is x*y + z, rounded once to the dtype.
func fusedSum(t cpu.DType, x, y, z float64) float64 {
	if x-x != 0 || y-y != 0 || z != z || x == 0 || y == 0 {
		return rounded(t, x*y+z)
	}
	if math.IsInf(z, 0) { // of finite x and y, though their product may overflow
		return z
	}
	b := func(v float64) *big.Float { return new(big.Float).SetPrec(3000).SetFloat64(v) }
	product := b(0).Mul(b(x), b(y))
	exact := product.Add(product, b(z))
	sum, _ := exact.Float64()
	if t == cpu.Float32 {
		single, _ := exact.Float32()
		sum = float64(single)
	}
	if sum == 0 && z == 0 {
		return rounded(t, math.FMA(x, y, z)) // the sign of a zero
	}
	return sum
}

func TestAddScaledLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		dtype := arraytest.DrawDType(t)
		a, b := arraytest.Draw(t, "a", dtype, shape, true), arraytest.Draw(t, "b", dtype, shape, true)
		alpha := rapid.SampledFrom([]float64{0, 1, -1, 0.1, 3, -7}).Draw(t, "alpha")
		x := a.Clone()
		dst := arraytest.DrawOutput(t, dtype, shape, a)
		AddScaled(dst.Array, a.Array, b.Array, alpha)
		for i := range dst.Len() {
			switch {
			case arraytest.IsFloat(dtype):
				expectFloat(t, dst, i, fusedSum(dtype, rounded(dtype, alpha), b.Float(i), x.Float(i)))
			case dtype == cpu.Bool:
				expectInteger(t, dst, i, b64(x.Integer(i) == 1 || alpha != 0 && b.Integer(i) == 1))
			default:
				expectInteger(t, dst, i, x.Integer(i)+int64(alpha)*b.Integer(i))
			}
		}
		dst.CheckCanaries(t)
	})
}

func TestFusedLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		dtype := arraytest.DrawFloat(t)
		a, b := arraytest.Draw(t, "a", dtype, shape, true), arraytest.Draw(t, "b", dtype, shape, true)
		c := arraytest.Draw(t, "c", dtype, shape, true)
		v := rapid.SampledFrom([]float64{0, 1, 0.25, -0.25, 0.1, 0.7, -2}).Draw(t, "v")
		w := rounded(dtype, v)
		x := a.Clone()
		dst := arraytest.DrawOutput(t, dtype, shape, a)
		op := rapid.IntRange(0, 2).Draw(t, "op")
		switch op {
		case 0:
			Addcmul(dst.Array, a.Array, b.Array, c.Array, v)
		case 1:
			Addcdiv(dst.Array, a.Array, b.Array, c.Array, v)
		case 2:
			Lerp(dst.Array, a.Array, b.Array, v)
		}
		for i := range dst.Len() {
			a, b, c := x.Float(i), b.Float(i), c.Float(i)
			switch {
			case op == 0:
				expectFloat(t, dst, i, fusedSum(dtype, rounded(dtype, w*b), c, a))
			case op == 1:
				expectFloat(t, dst, i, a+rounded(dtype, rounded(dtype, w*b)/c))
			case math.Abs(w) < 0.5:
				expectFloat(t, dst, i, fusedSum(dtype, w, rounded(dtype, b-a), a))
			default:
				expectFloat(t, dst, i, fusedSum(dtype, -rounded(dtype, 1-w), rounded(dtype, b-a), b))
			}
		}
		dst.CheckCanaries(t)
	})
}

func TestClampLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		dtype := arraytest.DrawNumber(t)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		limits := rapid.SampledFrom([]float64{-2, 0, 1, 3, math.Inf(1), math.Inf(-1)})
		lo, hi := limits.Draw(t, "lo"), limits.Draw(t, "hi")
		hasLo, hasHi := rapid.Bool().Draw(t, "has lo"), rapid.Bool().Draw(t, "has hi")
		x := src.Clone()
		dst := arraytest.DrawOutput(t, dtype, shape, src)
		Clamp(dst.Array, src.Array, lo, hi, hasLo, hasHi)
		for i := range dst.Len() {
			if !arraytest.IsFloat(dtype) {
				lowest, highest := lowestOf(dtype), highestOf(dtype)
				want := x.Integer(i)
				if hasLo {
					want = max(want, clipped(lo, lowest, highest))
				}
				if hasHi {
					want = min(want, clipped(hi, lowest, highest))
				}
				expectInteger(t, dst, i, want)
				continue
			}
			want := x.Float(i)
			if hasLo && want < lo {
				want = lo
			}
			if hasHi && want > hi {
				want = hi
			}
			expectFloat(t, dst, i, want)
		}
		dst.CheckCanaries(t)
	})
}

func lowestOf(t cpu.DType) int64 {
	return map[cpu.DType]int64{cpu.Int64: math.MinInt64, cpu.Int32: math.MinInt32, cpu.Uint8: 0}[t]
}

func highestOf(t cpu.DType) int64 {
	return map[cpu.DType]int64{cpu.Int64: math.MaxInt64, cpu.Int32: math.MaxInt32, cpu.Uint8: 255}[t]
}

// clipped is the end of the range that an infinite or too great limit means.
func clipped(v float64, lowest, highest int64) int64 {
	switch {
	case math.IsInf(v, 1):
		return highest
	case math.IsInf(v, -1):
		return lowest
	}
	return min(max(int64(v), lowest), highest)
}

func TestWhereLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		dtype := arraytest.DrawDType(t)
		cond := arraytest.Draw(t, "cond", cpu.Bool, shape, true)
		a, b := arraytest.Draw(t, "a", dtype, shape, true), arraytest.Draw(t, "b", dtype, shape, true)
		y := b.Clone()
		dst := arraytest.DrawOutput(t, dtype, shape, b)
		Where(dst.Array, cond.Array, a.Array, b.Array)
		for i := range dst.Len() {
			from := y
			if cond.Integer(i) == 1 {
				from = a
			}
			if arraytest.IsFloat(dtype) {
				expectFloat(t, dst, i, from.Float(i))
			} else {
				expectInteger(t, dst, i, from.Integer(i))
			}
		}
		dst.CheckCanaries(t)
	})
}

func TestMaskLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		dtype := arraytest.DrawFloat(t)
		src := arraytest.Draw(t, "src", dtype, shape, true)
		if rapid.IntRange(0, 3).Draw(t, "rows apart") == 0 { // that begin inside a byte of the mask
			shape = []int{3, 20}
			src = arraytest.New(dtype, shape, []int{21, 1})
			src.Randomize(rapid.Uint64().Draw(t, "seed"))
		}
		mask := arraytest.New(cpu.Uint8, []int{MaskLen(src.Len())}, []int{1})
		x := src.Clone()
		dst := arraytest.DrawOutput(t, dtype, shape, src)
		ReLUMask(dst.Array, mask.Array, src.Array)
		bit := func(i int) int64 { return mask.Integer(i/8) >> (i % 8) & 1 }
		for i := range dst.Len() {
			expectFloat(t, dst, i, unaryFloats[ReLU](x.Float(i)))
			if want := b64(!(x.Float(i) <= 0)); bit(i) != want {
				t.Fatalf("bit %d of %v is %d, want %d", i, x.Float(i), bit(i), want)
			}
		}
		for i := dst.Len(); i < 8*mask.Len(); i++ {
			if bit(i) != 0 {
				t.Fatalf("bit %d, beyond the last element, is set", i)
			}
		}
		dst.CheckCanaries(t)
		mask.CheckCanaries(t)

		g := arraytest.Draw(t, "g", dtype, shape, true)
		y := g.Clone()
		dst = arraytest.DrawOutput(t, dtype, shape, g)
		MaskMul(dst.Array, g.Array, mask.Array)
		for i := range dst.Len() {
			want := 0.0
			if bit(i) == 1 {
				want = y.Float(i)
			}
			expectFloat(t, dst, i, want)
		}
		dst.CheckCanaries(t)
	})
}

// Planes that run across each other and span several blocks.
func TestTransposed(t *testing.T) {
	for _, shape := range [][]int{{37, 70}, {1, 700}, {700, 1}, {3, 1100}, {1100, 3}, {2, 65, 33}} {
		n := 1
		reversed, forward := make([]int, len(shape)), make([]int, len(shape))
		for i := range shape {
			reversed[i] = n
			n *= shape[i]
		}
		step := 1
		for i := len(shape) - 1; i >= 0; i-- {
			forward[i] = step
			step *= shape[i]
		}
		for _, dtype := range arraytest.DTypes {
			src, dst := arraytest.New(dtype, shape, reversed), arraytest.New(dtype, shape, forward)
			src.Randomize(1)
			Copy(dst.Array, src.Array)
			sum := arraytest.New(dtype, shape, forward)
			if err := Binary(Maximum, sum.Array, dst.Array, src.Array); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if dst.Text(i) != src.Text(i) || sum.Text(i) != src.Text(i) {
					t.Fatalf("shape %v dtype %v element %d: copied %s, maximum %s, want %s",
						shape, dtype, i, dst.Text(i), sum.Text(i), src.Text(i))
				}
			}
			dst.CheckCanaries(t)
			sum.CheckCanaries(t)
		}
	}
}

// A call that breaks the contract on dtypes panics before it writes.
func TestUnsupportedPanics(t *testing.T) {
	flags := arraytest.New(cpu.Bool, []int{3}, []int{1})
	whole := arraytest.New(cpu.Int32, []int{3}, []int{1})
	for name, call := range map[string]func(){
		"neg of bool":  func() { Unary(Neg, flags.Array, flags.Array) },
		"exp of int":   func() { Unary(Exp, whole.Array, whole.Array) },
		"sub of bool":  func() { _ = Binary(Sub, flags.Array, flags.Array, flags.Array) },
		"mod of bool":  func() { _ = Binary(Remainder, flags.Array, flags.Array, flags.Array) },
		"div of int":   func() { _ = Binary(Div, whole.Array, whole.Array, whole.Array) },
		"clamp a bool": func() { Clamp(flags.Array, flags.Array, 0, 1, true, true) },
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
	for i := range 3 {
		if flags.Integer(i) != arraytest.Canary {
			t.Fatal("written before the panic")
		}
	}
}
