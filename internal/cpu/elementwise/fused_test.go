package elementwise

import (
	"math"
	"math/big"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"pgregory.net/rapid"
)

// fusedSum is x*y + z, rounded to the dtype as the kernels do: once for
// float64; for float32 once to float64 and once more.
func fusedSum(t cpu.DType, x, y, z float64) float64 {
	if t == cpu.Float32 || x-x != 0 || y-y != 0 || z-z != 0 || x == 0 || y == 0 {
		return rounded(t, x*y+z)
	}
	b := func(v float64) *big.Float { return new(big.Float).SetPrec(3000).SetFloat64(v) }
	product := b(0).Mul(b(x), b(y))
	sum, _ := product.Add(product, b(z)).Float64()
	if sum == 0 && z == 0 {
		return math.FMA(x, y, z) // the sign of a zero
	}
	return sum
}

func TestAddScaledLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		dtype := genDType(false).Draw(t, "dtype")
		a, b := genArray(t, "a", dtype, shape, true), genArray(t, "b", dtype, shape, true)
		alpha := rapid.SampledFrom([]float64{0, 1, -1, 0.1, 3, -7}).Draw(t, "alpha")
		x := a.clone()
		dst := output(t, dtype, shape, a)
		AddScaled(dst.Array, a.Array, b.Array, alpha)
		for i := range dst.Len() {
			switch {
			case isFloat(dtype):
				expectFloat(t, dst, i, fusedSum(dtype, rounded(dtype, alpha), b.float(i), x.float(i)))
			case dtype == cpu.Bool:
				expectInteger(t, dst, i, b64(x.integer(i) == 1 || alpha != 0 && b.integer(i) == 1))
			default:
				expectInteger(t, dst, i, x.integer(i)+int64(alpha)*b.integer(i))
			}
		}
		dst.checkCanaries(t)
	})
}

func TestFusedLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		dtype := genDType(true).Draw(t, "dtype")
		a, b := genArray(t, "a", dtype, shape, true), genArray(t, "b", dtype, shape, true)
		c := genArray(t, "c", dtype, shape, true)
		v := rapid.SampledFrom([]float64{0, 1, 0.25, -0.25, 0.1, 0.7, -2}).Draw(t, "v")
		w := rounded(dtype, v)
		x := a.clone()
		dst := output(t, dtype, shape, a)
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
			a, b, c := x.float(i), b.float(i), c.float(i)
			want := 0.0
			switch op {
			case 0:
				want = fusedSum(dtype, rounded(dtype, w*b), c, a)
			case 1:
				want = a + rounded(dtype, rounded(dtype, w*b)/c)
			case 2:
				if math.Abs(w) < 0.5 {
					want = fusedSum(dtype, w, rounded(dtype, b-a), a)
				} else {
					want = fusedSum(dtype, -rounded(dtype, 1-w), rounded(dtype, b-a), b)
				}
			}
			expectFloat(t, dst, i, want)
		}
		dst.checkCanaries(t)
	})
}

func TestClampLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		dtype := genDType(false).Filter(func(d cpu.DType) bool { return d != cpu.Bool }).Draw(t, "dtype")
		src := genArray(t, "src", dtype, shape, true)
		limits := rapid.SampledFrom([]float64{-2, 0, 1, 3, math.Inf(1), math.Inf(-1)})
		lo, hi := limits.Draw(t, "lo"), limits.Draw(t, "hi")
		hasLo, hasHi := rapid.Bool().Draw(t, "has lo"), rapid.Bool().Draw(t, "has hi")
		x := src.clone()
		dst := output(t, dtype, shape, src)
		Clamp(dst.Array, src.Array, lo, hi, hasLo, hasHi)
		for i := range dst.Len() {
			if !isFloat(dtype) {
				lowest, highest := lowestOf(dtype), highestOf(dtype)
				want := x.integer(i)
				if hasLo {
					want = max(want, clipped(lo, lowest, highest))
				}
				if hasHi {
					want = min(want, clipped(hi, lowest, highest))
				}
				expectInteger(t, dst, i, want)
				continue
			}
			want := x.float(i)
			if hasLo && want < lo {
				want = lo
			}
			if hasHi && want > hi {
				want = hi
			}
			expectFloat(t, dst, i, want)
		}
		dst.checkCanaries(t)
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
		shape := genShape().Draw(t, "shape")
		dtype := genDType(false).Draw(t, "dtype")
		cond := genArray(t, "cond", cpu.Bool, shape, true)
		a, b := genArray(t, "a", dtype, shape, true), genArray(t, "b", dtype, shape, true)
		y := b.clone()
		dst := output(t, dtype, shape, b)
		Where(dst.Array, cond.Array, a.Array, b.Array)
		for i := range dst.Len() {
			from := y
			if cond.integer(i) == 1 {
				from = a
			}
			if isFloat(dtype) {
				expectFloat(t, dst, i, from.float(i))
			} else {
				expectInteger(t, dst, i, from.integer(i))
			}
		}
		dst.checkCanaries(t)
	})
}

func TestMaskLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		dtype := genDType(true).Draw(t, "dtype")
		src := genArray(t, "src", dtype, shape, true)
		mask := newGuarded(cpu.Uint8, []int{MaskLen(src.Len())}, []int{1})
		x := src.clone()
		dst := output(t, dtype, shape, src)
		ReLUMask(dst.Array, mask.Array, src.Array)
		bit := func(i int) int64 { return mask.integer(i/8) >> (i % 8) & 1 }
		for i := range dst.Len() {
			expectFloat(t, dst, i, unaryFloats[ReLU](x.float(i)))
			if want := b64(!(x.float(i) <= 0)); bit(i) != want {
				t.Fatalf("bit %d of %v is %d, want %d", i, x.float(i), bit(i), want)
			}
		}
		for i := dst.Len(); i < 8*mask.Len(); i++ {
			if bit(i) != 0 {
				t.Fatalf("bit %d, beyond the last element, is set", i)
			}
		}
		dst.checkCanaries(t)
		mask.checkCanaries(t)

		g := genArray(t, "g", dtype, shape, true)
		y := g.clone()
		dst = output(t, dtype, shape, g)
		MaskMul(dst.Array, g.Array, mask.Array)
		for i := range dst.Len() {
			want := 0.0
			if bit(i) == 1 {
				want = y.float(i)
			}
			expectFloat(t, dst, i, want)
		}
		dst.checkCanaries(t)
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
		for _, dtype := range allDTypes {
			src, dst := newGuarded(dtype, shape, reversed), newGuarded(dtype, shape, forward)
			src.randomize(1)
			Copy(dst.Array, src.Array)
			sum := newGuarded(dtype, shape, forward)
			if err := Binary(Maximum, sum.Array, dst.Array, src.Array); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if dst.text(i) != src.text(i) || sum.text(i) != src.text(i) {
					t.Fatalf("shape %v dtype %v element %d: copied %s, maximum %s, want %s",
						shape, dtype, i, dst.text(i), sum.text(i), src.text(i))
				}
			}
			dst.checkCanaries(t)
			sum.checkCanaries(t)
		}
	}
}

// A call that breaks the contract on dtypes panics before it writes.
func TestUnsupportedPanics(t *testing.T) {
	flags := newGuarded(cpu.Bool, []int{3}, []int{1})
	whole := newGuarded(cpu.Int32, []int{3}, []int{1})
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
		if flags.integer(i) != canary {
			t.Fatal("written before the panic")
		}
	}
}
