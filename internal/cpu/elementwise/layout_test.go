package elementwise

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"pgregory.net/rapid"
)

// In this file operations on arrays of any layout are compared, element by
// element and bit by bit, with one-line references in float64 or int64.

func b64(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func wrap(t cpu.DType, v int64) int64 {
	switch t {
	case cpu.Int32:
		return int64(int32(v))
	case cpu.Uint8:
		return int64(uint8(v))
	}
	return v
}

func rounded(t cpu.DType, v float64) float64 {
	if t == cpu.Float32 {
		return float64(float32(v))
	}
	return v
}

// expectFloat and expectInteger check element i of an output.

func expectFloat(t *rapid.T, g *guarded, i int, want float64) {
	t.Helper()
	if want = rounded(g.DType, want); !sameFloat(g.float(i), want) {
		t.Fatalf("element %d of shape %v: got %v, want %v", i, g.Shape, g.float(i), want)
	}
}

func expectInteger(t *rapid.T, g *guarded, i int, want int64) {
	t.Helper()
	if want = wrap(g.DType, want); g.integer(i) != want {
		t.Fatalf("element %d of shape %v: got %v, want %v", i, g.Shape, g.integer(i), want)
	}
}

// convert is Copy's conversion of element i of src, written to dst.
func convert(t *rapid.T, dst *guarded, src *guarded, i int) {
	t.Helper()
	switch {
	case isFloat(dst.DType):
		v := src.float(i)
		if src.DType == cpu.Int64 && dst.DType == cpu.Float32 {
			v = float64(float32(src.integer(i))) // rounded once
		}
		expectFloat(t, dst, i, v)
	case dst.DType == cpu.Bool:
		expectInteger(t, dst, i, b64(src.float(i) != 0))
	case isFloat(src.DType):
		v := math.Trunc(src.float(i))
		bits := 63
		if dst.DType == cpu.Int32 {
			bits = 31
		}
		if limit := math.Ldexp(1, bits); v >= -limit && v < limit {
			n, _ := big.NewFloat(v).Int64()
			expectInteger(t, dst, i, n)
		} else {
			expectInteger(t, dst, i, -1<<bits)
		}
	default:
		expectInteger(t, dst, i, src.integer(i))
	}
}

func TestCopyLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		src := genArray(t, "src", genDType(false).Draw(t, "from"), shape, true)
		dst := genArray(t, "dst", genDType(false).Draw(t, "to"), shape, false)
		Copy(dst.Array, src.Array)
		for i := range dst.Len() {
			convert(t, dst, src, i)
		}
		dst.checkCanaries(t)
	})
}

func TestFillLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dst := genArray(t, "dst", genDType(false).Draw(t, "to"), genShape().Draw(t, "shape"), false)
		v, n := rapid.SampledFrom(specials).Draw(t, "value"), rapid.Int64().Draw(t, "integer")
		Fill(dst.Array, v)
		for i := range dst.Len() {
			repeated := newGuarded(cpu.Float64, dst.Shape, make([]int, len(dst.Shape)))
			repeated.setFloat(i, v)
			convert(t, dst, repeated, i)
		}
		FillInt(dst.Array, n)
		for i := range dst.Len() {
			repeated := newGuarded(cpu.Int64, dst.Shape, make([]int, len(dst.Shape)))
			repeated.setInteger(i, n)
			convert(t, dst, repeated, i)
		}
		dst.checkCanaries(t)
	})
}

func signOf(x float64) float64 { return float64(b64(x > 0) - b64(x < 0)) }

var unaryFloats = map[UnaryOp]func(x float64) float64{
	Neg: func(x float64) float64 { return math.Copysign(x, -math.Copysign(1, x)) }, Abs: math.Abs, Sign: signOf,
	Square: func(x float64) float64 { return x * x }, Floor: math.Floor, Ceil: math.Ceil, Round: math.RoundToEven,
	Trunc: math.Trunc, Exp: math.Exp, Expm1: math.Expm1, Log: math.Log, Log1p: math.Log1p, Log2: math.Log2,
	Log10: math.Log10, Sqrt: math.Sqrt, Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) }, Sin: math.Sin,
	Cos: math.Cos, Tan: math.Tan, Atan: math.Atan, Sinh: math.Sinh, Cosh: math.Cosh, Tanh: math.Tanh, Erf: math.Erf,
	Sigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, Reciprocal: func(x float64) float64 { return 1 / x },
	ReLU: func(x float64) float64 {
		if x < 0 {
			return 0
		}
		return x
	},
}

var unaryIntegers = map[UnaryOp]func(x int64) int64{
	Neg: func(x int64) int64 { return -x }, Abs: func(x int64) int64 { return max(x, -x) },
	Sign: func(x int64) int64 { return b64(x > 0) - b64(x < 0) }, Square: func(x int64) int64 { return x * x },
	Floor: func(x int64) int64 { return x }, Ceil: func(x int64) int64 { return x },
	Round: func(x int64) int64 { return x }, Trunc: func(x int64) int64 { return x },
	ReLU: func(x int64) int64 { return max(x, 0) }, BitwiseNot: func(x int64) int64 { return -x - 1 },
}

var unaryTests = map[UnaryOp]func(x float64) bool{
	IsNaN: math.IsNaN, IsInf: func(x float64) bool { return math.IsInf(x, 0) },
	IsFinite:   func(x float64) bool { return x-x == 0 },
	LogicalNot: func(x float64) bool { return x == 0 },
}

func keys[K ~uint8, V any](m map[K]V) []K {
	var s []K
	for k := range m {
		s = append(s, k)
	}
	slices.Sort(s)
	return s
}

func TestUnaryLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		src := genArray(t, "src", genDType(false).Draw(t, "dtype"), shape, true)
		before := src.clone()
		var dst *guarded
		if rapid.IntRange(0, 3).Draw(t, "test") == 0 {
			op := rapid.SampledFrom(keys(unaryTests)).Draw(t, "op")
			dst = output(t, cpu.Bool, shape, src)
			Unary(op, dst.Array, src.Array)
			for i := range dst.Len() {
				expectInteger(t, dst, i, b64(unaryTests[op](before.float(i))))
			}
		} else if isFloat(src.DType) {
			op := rapid.SampledFrom(keys(unaryFloats)).Draw(t, "op")
			dst = output(t, src.DType, shape, src)
			Unary(op, dst.Array, src.Array)
			for i := range dst.Len() {
				expectFloat(t, dst, i, unaryFloats[op](before.float(i)))
			}
		} else {
			op := rapid.SampledFrom(keys(unaryIntegers)).Draw(t, "op")
			if src.DType == cpu.Bool {
				op = rapid.SampledFrom([]UnaryOp{Sign, Square, BitwiseNot}).Draw(t, "op")
			}
			dst = output(t, src.DType, shape, src)
			Unary(op, dst.Array, src.Array)
			for i := range dst.Len() {
				want := unaryIntegers[op](before.integer(i))
				if src.DType == cpu.Bool {
					want &= 1
				}
				expectInteger(t, dst, i, want)
			}
		}
		dst.checkCanaries(t)
	})
}

// floorRat is a/b rounded down and what is left of a, exactly; a and b are finite.
func floorRat(a, b float64) (quotient, rest float64) {
	x, y := new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b)
	q := new(big.Rat).Quo(x, y)
	n := new(big.Int).Div(q.Num(), q.Denom())
	quotient, _ = new(big.Float).SetInt(n).Float64()
	rest, _ = x.Sub(x, y.Mul(y, new(big.Rat).SetInt(n))).Float64()
	return quotient, rest
}

var binaryFloats = map[BinaryOp]func(x, y float64) float64{
	Add: func(x, y float64) float64 { return x + y }, Sub: func(x, y float64) float64 { return x - y },
	Mul: func(x, y float64) float64 { return x * y }, Div: func(x, y float64) float64 { return x / y },
	Pow: math.Pow, Atan2: math.Atan2, Maximum: func(x, y float64) float64 { return withNaN(x, y, math.Max(x, y)) },
	Minimum: func(x, y float64) float64 { return withNaN(x, y, math.Min(x, y)) },
}

// withNaN is v unless x or y is NaN.
func withNaN(x, y, v float64) float64 {
	if x != x || y != y {
		return math.NaN()
	}
	return v
}

var binaryIntegers = map[BinaryOp]func(x, y int64) int64{
	Add: func(x, y int64) int64 { return x + y }, Sub: func(x, y int64) int64 { return x - y },
	Mul:     func(x, y int64) int64 { return x * y },
	Maximum: func(x, y int64) int64 { return max(x, y) }, Minimum: func(x, y int64) int64 { return min(x, y) },
	BitwiseAnd: func(x, y int64) int64 { return x & y }, BitwiseOr: func(x, y int64) int64 { return x | y },
	BitwiseXor: func(x, y int64) int64 { return x ^ y },
	Pow: func(x, y int64) int64 {
		if y < 0 {
			switch x {
			case 1:
				return 1
			case -1:
				return 1 - 2*(y&1)
			}
			return 0
		}
		return low64(new(big.Int).Exp(big.NewInt(x), big.NewInt(y), new(big.Int).Lsh(big.NewInt(1), 64)))
	},
}

var binaryTests = map[BinaryOp]func(x, y float64) bool{
	Eq: func(x, y float64) bool { return x == y }, Ne: func(x, y float64) bool { return x != y },
	Lt: func(x, y float64) bool { return x < y }, Le: func(x, y float64) bool { return x <= y },
	Gt: func(x, y float64) bool { return x > y }, Ge: func(x, y float64) bool { return x >= y },
	LogicalAnd: func(x, y float64) bool { return x != 0 && y != 0 },
	LogicalOr:  func(x, y float64) bool { return x != 0 || y != 0 },
	LogicalXor: func(x, y float64) bool { return (x != 0) != (y != 0) },
}

// binaryBools are the operations that bools have, as those of integers.
var binaryBools = map[BinaryOp]BinaryOp{Add: BitwiseOr, Maximum: BitwiseOr, Mul: BitwiseAnd, Minimum: BitwiseAnd,
	BitwiseAnd: BitwiseAnd, BitwiseOr: BitwiseOr, BitwiseXor: BitwiseXor}

// drawBinary draws an operation and returns what must come out for element i.
func drawBinary(t *rapid.T, dtype cpu.DType) (op BinaryOp, out cpu.DType, check func(dst, a, b *guarded, i int)) {
	switch {
	case rapid.IntRange(0, 2).Draw(t, "test") == 0:
		op = rapid.SampledFrom(keys(binaryTests)).Draw(t, "op")
		return op, cpu.Bool, func(dst, a, b *guarded, i int) {
			x, y := a.float(i), b.float(i)
			if op <= Ge && !isFloat(dtype) { // some are beyond float64's integers
				x, y = float64(cmp.Compare(a.integer(i), b.integer(i))), 0
			}
			expectInteger(t, dst, i, b64(binaryTests[op](x, y)))
		}
	case isFloat(dtype):
		op = rapid.SampledFrom(keys(binaryFloats)).Draw(t, "op")
		return op, dtype, func(dst, a, b *guarded, i int) { expectFloat(t, dst, i, binaryFloats[op](a.float(i), b.float(i))) }
	case dtype == cpu.Bool:
		op = rapid.SampledFrom(keys(binaryBools)).Draw(t, "op")
		return op, dtype, func(dst, a, b *guarded, i int) {
			expectInteger(t, dst, i, binaryIntegers[binaryBools[op]](a.integer(i), b.integer(i)))
		}
	}
	op = rapid.SampledFrom(keys(binaryIntegers)).Draw(t, "op")
	return op, dtype, func(dst, a, b *guarded, i int) {
		expectInteger(t, dst, i, binaryIntegers[op](a.integer(i), b.integer(i)))
	}
}

func TestBinaryLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		dtype := genDType(false).Draw(t, "dtype")
		a, b := genArray(t, "a", dtype, shape, true), genArray(t, "b", dtype, shape, true)
		if rapid.IntRange(0, 5).Draw(t, "same") == 0 {
			b = a
		}
		x, y := a.clone(), b.clone()
		op, out, check := drawBinary(t, dtype)
		aliased := a
		if rapid.Bool().Draw(t, "alias b") {
			aliased = b
		}
		dst := output(t, out, shape, aliased)
		if err := Binary(op, dst.Array, a.Array, b.Array); err != nil {
			t.Fatal(err)
		}
		for i := range dst.Len() {
			check(dst, x, y, i)
		}
		dst.checkCanaries(t)
	})
}

func TestBinaryScalarLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		a := genArray(t, "a", genDType(false).Draw(t, "dtype"), shape, true)
		v := newGuarded(a.DType, shape, make([]int, len(shape)))
		v.randomize(rapid.Uint64().Draw(t, "seed"))
		if v.Len() == 0 {
			return
		}
		op, out, check := drawBinary(t, a.DType)
		reversed := rapid.Bool().Draw(t, "reversed")
		if op == Pow && !reversed { // constant exponents have rules of their own
			reversed = true
		}
		x := a.clone()
		dst := output(t, out, shape, a)
		var err error
		if isFloat(a.DType) {
			err = BinaryScalar(op, dst.Array, a.Array, v.float(0), reversed)
		} else {
			err = BinaryScalarInt(op, dst.Array, a.Array, v.integer(0), reversed)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range dst.Len() {
			if reversed {
				check(dst, v, x, i)
			} else {
				check(dst, x, v, i)
			}
		}
		dst.checkCanaries(t)
	})
}

// low64 is n modulo 2^64: the smallest integer divided by -1 wraps.
func low64(n *big.Int) int64 {
	return int64(new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
}

// Division rounded down and its remainder are compared with exact rationals.
func TestFloorDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape().Draw(t, "shape")
		dtype := genDType(false).Filter(func(d cpu.DType) bool { return d != cpu.Bool }).Draw(t, "dtype")
		a, b := genArray(t, "a", dtype, shape, true), genArray(t, "b", dtype, shape, true)
		q, r := genArray(t, "q", dtype, shape, false), genArray(t, "r", dtype, shape, false)
		errQ, errR := Binary(FloorDivide, q.Array, a.Array, b.Array), Binary(Remainder, r.Array, a.Array, b.Array)
		zero := false
		for i := range q.Len() {
			if !isFloat(dtype) {
				x, y := a.integer(i), b.integer(i)
				if y == 0 {
					zero = true
					continue
				}
				n, m := new(big.Int).DivMod(big.NewInt(x), big.NewInt(y), new(big.Int))
				if m.Sign() != 0 && y < 0 { // DivMod is Euclidean
					n, m = n.Sub(n, big.NewInt(1)), m.Add(m, big.NewInt(y))
				}
				expectInteger(t, q, i, low64(n))
				expectInteger(t, r, i, m.Int64())
				continue
			}
			x, y := a.float(i), b.float(i)
			if y == 0 || x-x != 0 || y-y != 0 {
				continue // PyTorch's values are in torch.json
			}
			wantQ, wantR := floorRat(x, y)
			exact := 1 << 23
			if math.Abs(wantQ) < float64(exact) && q.float(i) != wantQ {
				t.Fatalf("%v // %v = %v, want %v", x, y, q.float(i), wantQ)
			}
			if r.float(i) != rounded(dtype, wantR) {
				t.Fatalf("%v %% %v = %v, want %v", x, y, r.float(i), wantR)
			}
		}
		if zero != errors.Is(errQ, ErrDivideByZero) || zero != errors.Is(errR, ErrDivideByZero) {
			t.Fatalf("division by zero: %v, errors %v and %v", zero, errQ, errR)
		}
		q.checkCanaries(t)
		r.checkCanaries(t)
	})
}
