package elementwise

import (
	"math"
	"sync/atomic"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// remainder is a modulo b with the sign of b, as torch.remainder and Python's %.
// math.Mod is exact, so float32 operands lose nothing in it.
func remainder[T float](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		x, y := a[i], b[i]
		r := T(math.Mod(float64(x), float64(y)))
		if r != 0 && (y < 0) != (r < 0) {
			r += y
		}
		d[i] = r
	}
}

// floorDivide rounds a/b down, as torch.floor_divide and Python's //, with the
// rounding of CPython's float_divmod: the quotient is of a less its remainder,
// since the quotient of a may round up to a whole number.
func floorDivide[T float](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = floorQuotient(a[i], b[i])
	}
}

func floorQuotient[T float](x, y T) T {
	if y == 0 {
		return x / y
	}
	r := T(math.Mod(float64(x), float64(y)))
	q := (x - r) / y
	if r != 0 && (y < 0) != (r < 0) {
		q--
	}
	if q == 0 {
		return T(math.Copysign(0, float64(x/y)))
	}
	whole := T(math.Floor(float64(q)))
	if q-whole > 0.5 {
		whole++
	}
	return whole
}

// integerDivisions are FloorDivide and Remainder of integers.
var integerDivisions = [dtypes]func(op BinaryOp, dst, a, b cpu.Array) error{
	cpu.Int64: divideIntegers[int64],
	cpu.Int32: divideIntegers[int32],
	cpu.Uint8: divideIntegers[uint8],
}

func divideIntegers[T integer](op BinaryOp, dst, a, b cpu.Array) error {
	quotient := op == FloorDivide
	var byZero atomic.Bool // tasks may run at the same time
	k := binary(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			if b[i] == 0 {
				d[i] = 0
				byZero.Store(true)
				continue
			}
			q, r := a[i]/b[i], a[i]%b[i]
			if r != 0 && (b[i] < 0) != (r < 0) {
				q--
				r += b[i]
			}
			if quotient {
				d[i] = q
			} else {
				d[i] = r
			}
		}
	})
	run2(forms{both: k}, &dst, &a, &b, 0)
	if byZero.Load() {
		return ErrDivideByZero
	}
	return nil
}

// powInteger is a to the power b, wrapped. A negative power is the true value
// rounded toward zero, 0 for a base of 0.
func powInteger[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		base, exponent := a[i], b[i]
		if exponent < 0 {
			switch {
			case base != 1 && base+1 != 0:
				base = 0
			case exponent%2 == 0:
				base = 1
			}
			d[i] = base
			continue
		}
		power := T(1)
		for ; exponent > 0; exponent >>= 1 {
			if exponent&1 == 1 {
				power *= base
			}
			base *= base
		}
		d[i] = power
	}
}
