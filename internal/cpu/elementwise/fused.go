package elementwise

import (
	"math"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// AddScaled sets dst to a + alpha*b, for every dtype (torch.add with alpha).
// For floats the product is not rounded, as in PyTorch's vector code; for
// integers alpha is truncated, for bools it is whether alpha is not 0.
func AddScaled(dst, a, b cpu.Array, alpha float64) {
	run(addScaled[dst.DType](alpha), dst, a, b)
}

var addScaled = [dtypes]func(alpha float64) kernel{
	cpu.Float32: addScaledFloat[float32],
	cpu.Float64: addScaledFloat[float64],
	cpu.Int64:   addScaledInteger[int64],
	cpu.Int32:   addScaledInteger[int32],
	cpu.Uint8:   addScaledInteger[uint8],
	cpu.Bool:    addScaledBool,
}

func addScaledFloat[T float](alpha float64) kernel {
	s := float64(T(alpha))
	return binary(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = fma(s, b[i], a[i])
		}
	})
}

func addScaledInteger[T integer](alpha float64) kernel {
	s := truncated[T](alpha)
	return binary(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] + s*b[i]
		}
	})
}

func addScaledBool(alpha float64) kernel {
	s := truth(alpha != 0)
	return binary(func(d, a, b []uint8) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] | s&b[i]
		}
	})
}

// Addcmul sets dst to a + v*b*c of floats (torch.addcmul): v*b is rounded, its
// product with c is not, as in PyTorch's vector code.
func Addcmul(dst, a, b, c cpu.Array, v float64) {
	if dst.DType == cpu.Float32 {
		run(addcmul(float32(v)), dst, a, b, c)
	} else {
		run(addcmul(v), dst, a, b, c)
	}
}

func addcmul[T float](v T) kernel {
	return ternary(func(d, a, b, c []T) {
		a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
		for i := range d {
			d[i] = fma(float64(v*b[i]), c[i], a[i])
		}
	})
}

// Addcdiv sets dst to a + (v*b)/c of floats (torch.addcdiv).
func Addcdiv(dst, a, b, c cpu.Array, v float64) {
	if dst.DType == cpu.Float32 {
		run(addcdiv(float32(v)), dst, a, b, c)
	} else {
		run(addcdiv(v), dst, a, b, c)
	}
}

func addcdiv[T float](v T) kernel {
	return ternary(func(d, a, b, c []T) {
		a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
		for i := range d {
			d[i] = a[i] + v*b[i]/c[i]
		}
	})
}

// Lerp sets dst to a + w*(b-a) of floats (torch.lerp), computed from the end
// that is nearer, so that w = 1 gives b itself.
func Lerp(dst, a, b cpu.Array, w float64) {
	if dst.DType == cpu.Float32 {
		run(lerp(float32(w)), dst, a, b)
	} else {
		run(lerp(w), dst, a, b)
	}
}

func lerp[T float](w T) kernel {
	if near := float64(w); math.Abs(near) < 0.5 {
		return binary(func(d, a, b []T) {
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = fma(near, b[i]-a[i], a[i])
			}
		})
	}
	rest := -float64(1 - w)
	return binary(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = fma(rest, b[i]-a[i], b[i])
		}
	})
}

// Clamp sets dst to src limited to lo, if hasLo, and to hi, if hasHi
// (torch.clamp), for every dtype but bool. The limits are converted to the
// dtype; hi wins over a greater lo, NaN in src is unchanged and a NaN limit
// makes everything NaN.
func Clamp(dst, src cpu.Array, lo, hi float64, hasLo, hasHi bool) {
	if !hasLo {
		lo = math.Inf(-1)
	}
	if !hasHi {
		hi = math.Inf(1)
	}
	switch dst.DType {
	case cpu.Float32:
		run(clampFloat(float32(lo), float32(hi)), dst, src)
	case cpu.Float64:
		run(clampFloat(lo, hi), dst, src)
	case cpu.Int64:
		run(clampInteger[int64](lo, hi, math.MinInt64, math.MaxInt64), dst, src)
	case cpu.Int32:
		run(clampInteger[int32](lo, hi, math.MinInt32, math.MaxInt32), dst, src)
	case cpu.Uint8:
		run(clampInteger[uint8](lo, hi, 0, math.MaxUint8), dst, src)
	default:
		panic("elementwise: clamp of a dtype without order")
	}
}

func clampFloat[T float](lo, hi T) kernel {
	if lo != lo || hi != hi {
		return unary(func(d, _ []T) {
			for i := range d {
				d[i] = lo + hi
			}
		})
	}
	return unary(func(d, a []T) {
		a = a[:len(d)]
		for i := range d {
			v := a[i]
			if v < lo {
				v = lo
			}
			if v > hi {
				v = hi
			}
			d[i] = v
		}
	})
}

// clampInteger limits to integers; lowest and highest are T's range.
func clampInteger[T integer](lo, hi float64, lowest, highest T) kernel {
	l, h := saturated(lo, lowest, highest), saturated(hi, lowest, highest)
	return unary(func(d, a []T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = min(max(a[i], l), h)
		}
	})
}

// saturated is v truncated, or the end of T's range that it passes.
func saturated[T integer](v float64, lowest, highest T) T {
	switch {
	case v <= float64(lowest):
		return lowest
	case v >= float64(highest):
		return highest
	}
	return T(v)
}
