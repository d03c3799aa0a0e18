package elementwise

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
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

// expectFloat and expectInteger check element i of an arraytest.DrawOutput.

func expectFloat(t *rapid.T, g *arraytest.Guarded, i int, want float64) {
	t.Helper()
	if want = rounded(g.DType, want); !arraytest.SameFloat(g.Float(i), want) {
		t.Fatalf("element %d of shape %v: got %v, want %v", i, g.Shape, g.Float(i), want)
	}
}

func expectInteger(t *rapid.T, g *arraytest.Guarded, i int, want int64) {
	t.Helper()
	if want = wrap(g.DType, want); g.Integer(i) != want {
		t.Fatalf("element %d of shape %v: got %v, want %v", i, g.Shape, g.Integer(i), want)
	}
}

// convert is Copy's conversion of element i of src, written to dst.
func convert(t *rapid.T, dst *arraytest.Guarded, src *arraytest.Guarded, i int) {
	t.Helper()
	switch {
	case arraytest.IsFloat(dst.DType):
		v := src.Float(i)
		if src.DType == cpu.Int64 && dst.DType == cpu.Float32 {
			v = float64(float32(src.Integer(i))) // rounded once
		}
		expectFloat(t, dst, i, v)
	case dst.DType == cpu.Bool:
		expectInteger(t, dst, i, b64(src.Float(i) != 0))
	case arraytest.IsFloat(src.DType):
		v := math.Trunc(src.Float(i))
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
		expectInteger(t, dst, i, src.Integer(i))
	}
}

func TestCopyLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		src := arraytest.Draw(t, "src", arraytest.DrawDType(t), shape, true)
		dst := arraytest.Draw(t, "dst", arraytest.DrawDType(t), shape, false)
		Copy(dst.Array, src.Array)
		for i := range dst.Len() {
			convert(t, dst, src, i)
		}
		dst.CheckCanaries(t)
	})
}

func TestFillLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dst := arraytest.Draw(t, "dst", arraytest.DrawDType(t), arraytest.DrawShape(t), false)
		v, n := rapid.SampledFrom(arraytest.Specials).Draw(t, "value"), rapid.Int64().Draw(t, "integer")
		Fill(dst.Array, v)
		for i := range dst.Len() {
			repeated := arraytest.New(cpu.Float64, dst.Shape, make([]int, len(dst.Shape)))
			repeated.SetFloat(i, v)
			convert(t, dst, repeated, i)
		}
		FillInt(dst.Array, n)
		for i := range dst.Len() {
			repeated := arraytest.New(cpu.Int64, dst.Shape, make([]int, len(dst.Shape)))
			repeated.SetInteger(i, n)
			convert(t, dst, repeated, i)
		}
		dst.CheckCanaries(t)
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

// alone is op of x. For a function of float32 that is computed in float32 it is
// what the function gives when x is the only element.
func alone(op UnaryOp, t cpu.DType, x float64) float64 {
	if _, ok := float32Errors[op]; !ok || t != cpu.Float32 {
		return unaryFloats[op](x)
	}
	one := arraytest.New(t, nil, nil)
	one.SetFloat(0, x)
	Unary(op, one.Array, one.Array)
	return one.Float(0)
}

func TestUnaryLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		src := arraytest.Draw(t, "src", arraytest.DrawDType(t), shape, true)
		before := src.Clone()
		var dst *arraytest.Guarded
		if rapid.IntRange(0, 3).Draw(t, "test") == 0 {
			op := rapid.SampledFrom(keys(unaryTests)).Draw(t, "op")
			dst = arraytest.DrawOutput(t, cpu.Bool, shape, src)
			Unary(op, dst.Array, src.Array)
			for i := range dst.Len() {
				expectInteger(t, dst, i, b64(unaryTests[op](before.Float(i))))
			}
		} else if arraytest.IsFloat(src.DType) {
			op := rapid.SampledFrom(keys(unaryFloats)).Draw(t, "op")
			dst = arraytest.DrawOutput(t, src.DType, shape, src)
			Unary(op, dst.Array, src.Array)
			for i := range dst.Len() {
				expectFloat(t, dst, i, alone(op, src.DType, before.Float(i)))
			}
		} else {
			op := rapid.SampledFrom(keys(unaryIntegers)).Draw(t, "op")
			if src.DType == cpu.Bool {
				op = rapid.SampledFrom([]UnaryOp{Sign, Square, BitwiseNot}).Draw(t, "op")
			}
			dst = arraytest.DrawOutput(t, src.DType, shape, src)
			Unary(op, dst.Array, src.Array)
			for i := range dst.Len() {
				want := unaryIntegers[op](before.Integer(i))
				if src.DType == cpu.Bool {
					want &= 1
				}
				expectInteger(t, dst, i, want)
			}
		}
		dst.CheckCanaries(t)
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
func drawBinary(t *rapid.T, dtype cpu.DType) (op BinaryOp, out cpu.DType, check func(dst, a, b *arraytest.Guarded, i int)) {
	switch {
	case rapid.IntRange(0, 2).Draw(t, "test") == 0:
		op = rapid.SampledFrom(keys(binaryTests)).Draw(t, "op")
		return op, cpu.Bool, func(dst, a, b *arraytest.Guarded, i int) {
			x, y := a.Float(i), b.Float(i)
			if op <= Ge && !arraytest.IsFloat(dtype) { // some are beyond float64's integers
				x, y = float64(cmp.Compare(a.Integer(i), b.Integer(i))), 0
			}
			expectInteger(t, dst, i, b64(binaryTests[op](x, y)))
		}
	case arraytest.IsFloat(dtype):
		op = rapid.SampledFrom(keys(binaryFloats)).Draw(t, "op")
		return op, dtype, func(dst, a, b *arraytest.Guarded, i int) {
			expectFloat(t, dst, i, binaryFloats[op](a.Float(i), b.Float(i)))
		}
	case dtype == cpu.Bool:
		op = rapid.SampledFrom(keys(binaryBools)).Draw(t, "op")
		return op, dtype, func(dst, a, b *arraytest.Guarded, i int) {
			expectInteger(t, dst, i, binaryIntegers[binaryBools[op]](a.Integer(i), b.Integer(i)))
		}
	}
	op = rapid.SampledFrom(keys(binaryIntegers)).Draw(t, "op")
	return op, dtype, func(dst, a, b *arraytest.Guarded, i int) {
		expectInteger(t, dst, i, binaryIntegers[op](a.Integer(i), b.Integer(i)))
	}
}

func TestBinaryLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		dtype := arraytest.DrawDType(t)
		a, b := arraytest.Draw(t, "a", dtype, shape, true), arraytest.Draw(t, "b", dtype, shape, true)
		if rapid.IntRange(0, 5).Draw(t, "same") == 0 {
			b = a
		}
		x, y := a.Clone(), b.Clone()
		op, out, check := drawBinary(t, dtype)
		aliased := a
		if rapid.Bool().Draw(t, "alias b") {
			aliased = b
		}
		dst := arraytest.DrawOutput(t, out, shape, aliased)
		if err := Binary(op, dst.Array, a.Array, b.Array); err != nil {
			t.Fatal(err)
		}
		for i := range dst.Len() {
			check(dst, x, y, i)
		}
		dst.CheckCanaries(t)
	})
}

func TestBinaryScalarLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		a := arraytest.Draw(t, "a", arraytest.DrawDType(t), shape, true)
		v := arraytest.New(a.DType, shape, make([]int, len(shape)))
		v.Randomize(rapid.Uint64().Draw(t, "seed"))
		if v.Len() == 0 {
			return
		}
		op, out, check := drawBinary(t, a.DType)
		reversed := rapid.Bool().Draw(t, "reversed")
		if op == Pow && !reversed { // constant exponents have rules of their own
			reversed = true
		}
		x := a.Clone()
		dst := arraytest.DrawOutput(t, out, shape, a)
		var err error
		if arraytest.IsFloat(a.DType) {
			err = BinaryScalar(op, dst.Array, a.Array, v.Float(0), reversed)
		} else {
			err = BinaryScalarInt(op, dst.Array, a.Array, v.Integer(0), reversed)
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
		dst.CheckCanaries(t)
	})
}

// low64 is n modulo 2^64: the smallest integer divided by -1 wraps.
func low64(n *big.Int) int64 {
	return int64(new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
}

// Division rounded down and its remainder are compared with exact rationals.
func TestFloorDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := arraytest.DrawShape(t)
		dtype := arraytest.DrawNumber(t)
		a, b := arraytest.Draw(t, "a", dtype, shape, true), arraytest.Draw(t, "b", dtype, shape, true)
		q, r := arraytest.Draw(t, "q", dtype, shape, false), arraytest.Draw(t, "r", dtype, shape, false)
		errQ, errR := Binary(FloorDivide, q.Array, a.Array, b.Array), Binary(Remainder, r.Array, a.Array, b.Array)
		zero := false
		for i := range q.Len() {
			if !arraytest.IsFloat(dtype) {
				x, y := a.Integer(i), b.Integer(i)
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
			x, y := a.Float(i), b.Float(i)
			if y == 0 || x-x != 0 || y-y != 0 {
				continue // PyTorch's values are in torch.json
			}
			wantQ, wantR := floorRat(x, y)
			exact := 1 << 23
			if math.Abs(wantQ) < float64(exact) && q.Float(i) != wantQ {
				t.Fatalf("%v // %v = %v, want %v", x, y, q.Float(i), wantQ)
			}
			if r.Float(i) != rounded(dtype, wantR) {
				t.Fatalf("%v %% %v = %v, want %v", x, y, r.Float(i), wantR)
			}
		}
		if zero != errors.Is(errQ, ErrDivideByZero) || zero != errors.Is(errR, ErrDivideByZero) {
			t.Fatalf("division by zero: %v, errors %v and %v", zero, errQ, errR)
		}
		q.CheckCanaries(t)
		r.CheckCanaries(t)
	})
}
