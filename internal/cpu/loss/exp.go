package loss

import "math"

// These functions round every product on its own: the compiler would fuse
// x*y + z into one rounding on some processors and not on others.

// reduceExp writes x as n ln 2 + r with |r| <= ln 2 / 2.
func reduceExp(x float64) (n, r float64) {
	const (
		ln2High = 6.93147180369123816490e-01 // the leading bits: n times it is exact
		ln2Low  = 1.90821492927058770002e-10
	)
	n = math.Floor(float64(x*math.Log2E) + 0.5)
	return n, x - float64(n*ln2High) - float64(n*ln2Low)
}

// scaleBy2 is y * 2^n for y near 1 and n in the range of normal numbers.
func scaleBy2(y, n float64) float64 {
	return y * math.Float64frombits(uint64(int64(n)+1023)<<52)
}

// exp32 is e^x to a relative 1e-8, for x <= 0 or so: enough for float32.
// Below -200, far under the least float32, it is 0.
func exp32(x float64) float64 {
	if !(x >= -200) {
		if x < -200 {
			return 0
		}
		return x // NaN
	}
	n, r := reduceExp(x)
	y := float64(r*(1.0/5040)) + 1.0/720
	y = float64(y*r) + 1.0/120
	y = float64(y*r) + 1.0/24
	y = float64(y*r) + 1.0/6
	y = float64(y*r) + 0.5
	y = float64(y*r) + 1
	y = float64(y*r) + 1
	return scaleBy2(y, n)
}

// taylor holds 1/k! for k = 13 down to 0.
var taylor = [...]float64{
	1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
	1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1,
}

// exp64 is e^x to about 1 ulp, for x <= 0 or so. Below -708, where results
// are subnormal, it is 0.
func exp64(x float64) float64 {
	if !(x >= -708) {
		if x < -708 {
			return 0
		}
		return x // NaN
	}
	n, r := reduceExp(x)
	y := taylor[0]
	for _, c := range taylor[1:] {
		y = float64(y*r) + c
	}
	return scaleBy2(y, n)
}

// artanh holds 1/k for odd k from 21 down to 3.
var artanh = [...]float64{1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3}

// logOf is the natural logarithm to about 1 ulp, for finite x >= 1 (a sum of
// exponentials of which one is 1); NaN and +Inf give themselves.
func logOf(x float64) float64 {
	if !(x < math.Inf(1)) {
		return x
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	// log m = 2 artanh((m-1)/(m+1)), |z| < 0.172
	z := (m - 1) / (m + 1)
	zz := float64(z * z)
	y := 0.0
	for _, c := range artanh {
		y = float64((y + c) * zz)
	}
	return float64(float64(e)*math.Ln2) + float64(2*z) + float64(float64(2*z)*y)
}
