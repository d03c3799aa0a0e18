package elementwise

import (
	"errors"
	"math"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// BinaryOp is an operation on two arrays. Each is torch's of the same name.
type BinaryOp uint8

// The operations on two arrays of one dtype. From Add to Minimum dst has that
// dtype too, and integers wrap; Add, Mul, Maximum and Minimum take every dtype
// (of bools, Add and Maximum are or, Mul and Minimum are and), Sub, FloorDivide,
// Remainder and Pow every one but bool. Div and Atan2 take floats. From Eq to
// LogicalXor they take every dtype and dst is bool. The bitwise operations take
// integers and bool.
const (
	Add BinaryOp = iota
	Sub
	Mul
	Div
	FloorDivide // rounded down, as Python's //
	Remainder   // with the divisor's sign, as Python's %
	Pow         // integer to a negative power: 0, but for 1 and -1
	Atan2
	Maximum // NaN if either is
	Minimum // NaN if either is

	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	LogicalAnd
	LogicalOr
	LogicalXor

	BitwiseAnd
	BitwiseOr
	BitwiseXor

	binaryOps
)

// ErrDivideByZero is returned for an integer division by zero. PyTorch raises
// RuntimeError with the text "ZeroDivisionError".
var ErrDivideByZero = errors.New("integer division by zero")

// Binary sets dst to op(a, b). The only error is [ErrDivideByZero], from
// FloorDivide and Remainder of integers; dst is then written in part.
func Binary(op BinaryOp, dst, a, b cpu.Array) error {
	if op == FloorDivide || op == Remainder {
		if divide := integerDivisions[a.DType]; divide != nil {
			return divide(op, dst, a, b)
		}
	}
	k := inUse.binary[a.DType][op]
	if k.loop == nil {
		panic("elementwise: binary operation without a kernel for this dtype")
	}
	run2(forms{k, inUse.right[a.DType][op], inUse.left[a.DType][op]}, &dst, &a, &b, 0)
	return nil
}

var binaryKernels = [dtypes][binaryOps]kernel{
	cpu.Float32: binaryFloat[float32](),
	cpu.Float64: binaryFloat[float64](),
	cpu.Int64:   binaryInteger[int64](),
	cpu.Int32:   binaryInteger[int32](),
	cpu.Uint8:   binaryInteger[uint8](),
	cpu.Bool:    binaryBool(),
}

func binaryNumber[T number]() [binaryOps]kernel {
	return [binaryOps]kernel{
		Add:     binary(add[T]),
		Sub:     binary(sub[T]),
		Mul:     binary(mul[T]),
		Maximum: binary(maximum[T]),
		Minimum: binary(minimum[T]),

		Eq:         binary(eq[T]),
		Ne:         binary(ne[T]),
		Lt:         binary(lt[T]),
		Le:         binary(le[T]),
		Gt:         binary(gt[T]),
		Ge:         binary(ge[T]),
		LogicalAnd: binary(logicalAnd[T]),
		LogicalOr:  binary(logicalOr[T]),
		LogicalXor: binary(logicalXor[T]),
	}
}

func binaryFloat[T float]() [binaryOps]kernel {
	k := binaryNumber[T]()
	k[Div] = binary(div[T])
	k[FloorDivide] = binary(floorDivide[T])
	k[Remainder] = binary(remainder[T])
	k[Pow] = pair[T](math.Pow)
	k[Atan2] = pair[T](math.Atan2)
	return k
}

func binaryInteger[T integer]() [binaryOps]kernel {
	k := binaryNumber[T]()
	k[Pow] = binary(powInteger[T])
	k[BitwiseAnd] = binary(bitwiseAnd[T])
	k[BitwiseOr] = binary(bitwiseOr[T])
	k[BitwiseXor] = binary(bitwiseXor[T])
	return k
}

func binaryBool() [binaryOps]kernel {
	k := binaryInteger[uint8]()
	k[Add], k[Maximum] = k[BitwiseOr], k[BitwiseOr]
	k[Mul], k[Minimum] = k[BitwiseAnd], k[BitwiseAnd]
	k[Sub], k[Pow] = kernel{}, kernel{}
	return k
}

func add[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func sub[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

func mul[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

func div[T float](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] / b[i]
	}
}

func maximum[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = max(a[i], b[i])
	}
}

func minimum[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = min(a[i], b[i])
	}
}

// pair makes a kernel of a function of two numbers, as [each] does.
func pair[T float](f func(x, y float64) float64) kernel {
	k := binary(func(d, a, b []T) {
		var left, right [64]float64
		for len(d) > 0 {
			n := min(len(d), len(left))
			x, y := left[:n], right[:n]
			cast(x, a[:n])
			cast(y, b[:n])
			for i, v := range x {
				x[i] = f(v, y[i])
			}
			cast(d[:n], x)
			d, a, b = d[n:], a[n:], b[n:]
		}
	})
	k.least = functionTask
	return k
}
