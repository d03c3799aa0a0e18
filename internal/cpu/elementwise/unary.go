package elementwise

import (
	"math"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// UnaryOp is an operation on one array. Each is torch's of the same name.
type UnaryOp uint8

// The operations on one array. From Neg to ReLU they take every dtype but bool
// (Sign and Square take bool as well), with dst of src's dtype; integers wrap.
// From Exp to Reciprocal they take floats. From IsNaN to LogicalNot they take
// every dtype and dst is bool. BitwiseNot takes integers and bool.
const (
	Neg    UnaryOp = iota
	Abs            // of the smallest integer: itself
	Sign           // -1, 0 or 1; 0 for NaN
	Square         // x*x
	Floor          // integers are unchanged
	Ceil           // integers are unchanged
	Round          // half to even; integers are unchanged
	Trunc          // integers are unchanged
	ReLU           // NaN and -0 are unchanged

	Exp
	Expm1
	Log
	Log1p
	Log2
	Log10
	Sqrt
	Rsqrt // 1/sqrt(x)
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Tanh
	Sigmoid // 1/(1+exp(-x))
	Erf
	Reciprocal

	IsNaN
	IsInf
	IsFinite
	LogicalNot

	BitwiseNot

	cube          // x*x*x
	inverseSquare // 1/(x*x)

	unaryOps
)

// Unary sets dst to op(src).
func Unary(op UnaryOp, dst, src cpu.Array) {
	k := inUse.unary[src.DType][op]
	if k.loop == nil {
		panic("elementwise: unary operation without a kernel for this dtype")
	}
	run1(k, &dst, &src, 0, 0)
}

var unaryKernels = [dtypes][unaryOps]kernel{
	cpu.Float32: unaryFloat[float32](),
	cpu.Float64: unaryFloat[float64](),
	cpu.Int64:   unaryInteger[int64](),
	cpu.Int32:   unaryInteger[int32](),
	cpu.Uint8:   unaryInteger[uint8](),
	cpu.Bool: {
		Sign:       unary(same[uint8]),
		Square:     unary(same[uint8]),
		IsNaN:      unary(constant[uint8](0)),
		IsInf:      unary(constant[uint8](0)),
		IsFinite:   unary(constant[uint8](1)),
		LogicalNot: unary(isFalse[uint8]),
		BitwiseNot: unary(isFalse[uint8]),
	},
}

func unaryFloat[T float]() [unaryOps]kernel {
	return [unaryOps]kernel{
		Neg:    unary(neg[T]),
		Abs:    unary(absFloat[T]),
		Sign:   unary(sign[T]),
		Square: unary(square[T]),
		Floor:  unary(floor[T]),
		Ceil:   unary(ceil[T]),
		Round:  unary(round[T]),
		Trunc:  unary(trunc[T]),
		ReLU:   unary(reluFloat[T]),

		Exp:        each[T](math.Exp),
		Expm1:      each[T](math.Expm1),
		Log:        each[T](math.Log),
		Log1p:      each[T](math.Log1p),
		Log2:       each[T](math.Log2),
		Log10:      each[T](math.Log10),
		Sqrt:       unary(sqrt[T]),
		Rsqrt:      unary(rsqrt[T]),
		Sin:        each[T](math.Sin),
		Cos:        each[T](math.Cos),
		Tan:        each[T](math.Tan),
		Asin:       each[T](asin),
		Acos:       each[T](acos),
		Atan:       each[T](math.Atan),
		Sinh:       each[T](math.Sinh),
		Cosh:       each[T](math.Cosh),
		Tanh:       each[T](math.Tanh),
		Sigmoid:    each[T](logistic),
		Erf:        each[T](math.Erf),
		Reciprocal: unary(reciprocal[T]),

		IsNaN:      unary(isNaN[T]),
		IsInf:      unary(isInf[T]),
		IsFinite:   unary(isFinite[T]),
		LogicalNot: unary(isFalse[T]),

		cube:          unary(cubed[T]),
		inverseSquare: unary(inverseSquared[T]),
	}
}

func unaryInteger[T integer]() [unaryOps]kernel {
	return [unaryOps]kernel{
		Neg:    unary(neg[T]),
		Abs:    unary(absInteger[T]),
		Sign:   unary(sign[T]),
		Square: unary(square[T]),
		Floor:  unary(same[T]),
		Ceil:   unary(same[T]),
		Round:  unary(same[T]),
		Trunc:  unary(same[T]),
		ReLU:   unary(reluInteger[T]),

		IsNaN:      unary(constant[T](0)),
		IsInf:      unary(constant[T](0)),
		IsFinite:   unary(constant[T](1)),
		LogicalNot: unary(isFalse[T]),
		BitwiseNot: unary(bitwiseNot[T]),
	}
}

func neg[T number](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = -a[i]
	}
}

func absFloat[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.Abs(float64(a[i])))
	}
}

func absInteger[T integer](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		v := a[i]
		if v < 0 {
			v = -v
		}
		d[i] = v
	}
}

func sign[T number](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(truth(a[i] > 0)) - T(truth(a[i] < 0))
	}
}

func square[T number](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = a[i] * a[i]
	}
}

func same[T number](d, a []T) { copy(d, a) }

func floor[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.Floor(float64(a[i])))
	}
}

func ceil[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.Ceil(float64(a[i])))
	}
}

func round[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.RoundToEven(float64(a[i])))
	}
}

func trunc[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.Trunc(float64(a[i])))
	}
}

func reluFloat[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = keepIf(a[i], truth(!(a[i] < 0)))
	}
}

func reluInteger[T integer](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = max(a[i], 0)
	}
}

// each makes a kernel of a function of package math. Elements are
// widened and narrowed in loops of their own: on amd64 those instructions keep
// half of the register they write, so a conversion beside the call would wait
// for the call before it, and calls could not overlap (3 times slower).
func each[T float](f func(float64) float64) kernel {
	k := unary(func(d, a []T) {
		var wide [64]float64
		for len(d) > 0 {
			n := min(len(d), len(wide))
			w := wide[:n]
			cast(w, a[:n])
			for i, v := range w {
				w[i] = f(v)
			}
			cast(d[:n], w)
			d, a = d[n:], a[n:]
		}
	})
	k.least = functionTask
	return k
}

// asin and acos are accurate near 1, where those of package math lose half of
// their digits to 1-x*x.

func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

func sqrt[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.Sqrt(float64(a[i])))
	}
}

func rsqrt[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(1 / math.Sqrt(float64(a[i])))
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func reciprocal[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = 1 / a[i]
	}
}

func cubed[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = a[i] * a[i] * a[i]
	}
}

func inverseSquared[T float](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = 1 / (a[i] * a[i])
	}
}

func isNaN[T float](d []uint8, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] != a[i])
	}
}

func isInf[T float](d []uint8, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(math.Abs(float64(a[i])) > math.MaxFloat64)
	}
}

func isFinite[T float](d []uint8, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(math.Abs(float64(a[i])) <= math.MaxFloat64)
	}
}

func constant[T number](v uint8) func(d []uint8, a []T) {
	return func(d []uint8, _ []T) { fill(d, v) }
}

func isFalse[T number](d []uint8, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] == 0)
	}
}

func bitwiseNot[T integer](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = ^a[i]
	}
}
