package elementwise

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/fma"
)

// AddScaled sets dst to a + alpha*b, for every dtype (torch.add with alpha).
// For floats the product is not rounded, as in PyTorch's vector code; for
// integers alpha is truncated, for bools it is whether alpha is not 0.
func AddScaled(dst, a, b cpu.Array, alpha float64) {
	run2(forms{both: inUse.addScaled[dst.DType]}, &dst, &a, &b, bitsOf(dst.DType, alpha))
}

var addScaledKernels = [dtypes]kernel{
	cpu.Float32: inGo(addScaledFloat[float32]),
	cpu.Float64: inGo(addScaledFloat[float64]),
	cpu.Int64:   inGo(addScaledInteger[int64]),
	cpu.Int32:   inGo(addScaledInteger[int32]),
	cpu.Uint8:   inGo(addScaledInteger[uint8]),
	cpu.Bool:    inGo(addScaledBool),
}

func addScaledFloat[T float](n int, dp, ap, bp, _ unsafe.Pointer, v, _ uint64) {
	d, a, b, s := slice[T](dp, n), slice[T](ap, n), slice[T](bp, n), float64(fromBits[T](v))
	for i := range d {
		d[i] = fma.Of(s, b[i], a[i])
	}
}

func addScaledInteger[T integer](n int, dp, ap, bp, _ unsafe.Pointer, v, _ uint64) {
	d, a, b, s := slice[T](dp, n), slice[T](ap, n), slice[T](bp, n), fromBits[T](v)
	for i := range d {
		d[i] = a[i] + s*b[i]
	}
}

func addScaledBool(n int, dp, ap, bp, _ unsafe.Pointer, v, _ uint64) {
	d, a, b, s := slice[uint8](dp, n), slice[uint8](ap, n), slice[uint8](bp, n), fromBits[uint8](v)
	for i := range d {
		d[i] = a[i] | s&b[i]
	}
}

// Addcmul sets dst to a + v*b*c of floats (torch.addcmul): v*b is rounded, its
// product with c is not, as in PyTorch's vector code.
func Addcmul(dst, a, b, c cpu.Array, v float64) {
	run3(inUse.addcmul[dst.DType], &dst, &a, &b, &c, bitsOf(dst.DType, v))
}

func addcmul[T float](n int, dp, ap, bp, cp unsafe.Pointer, v, _ uint64) {
	d, a, b, c, s := slice[T](dp, n), slice[T](ap, n), slice[T](bp, n), slice[T](cp, n), fromBits[T](v)
	for i := range d {
		d[i] = fma.Of(float64(s*b[i]), c[i], a[i])
	}
}

// Addcdiv sets dst to a + (v*b)/c of floats (torch.addcdiv).
func Addcdiv(dst, a, b, c cpu.Array, v float64) {
	run3(inUse.addcdiv[dst.DType], &dst, &a, &b, &c, bitsOf(dst.DType, v))
}

func addcdiv[T float](n int, dp, ap, bp, cp unsafe.Pointer, v, _ uint64) {
	d, a, b, c, s := slice[T](dp, n), slice[T](ap, n), slice[T](bp, n), slice[T](cp, n), fromBits[T](v)
	for i := range d {
		d[i] = a[i] + s*b[i]/c[i]
	}
}

// Lerp sets dst to a + w*(b-a) of floats (torch.lerp), computed from the end
// that is nearer, so that w = 1 gives b itself.
func Lerp(dst, a, b cpu.Array, w float64) {
	k, rest := inUse.lerpNear[dst.DType], -(1 - w)
	if dst.DType == cpu.Float32 {
		rest = float64(-(1 - float32(w)))
		w = float64(float32(w))
	}
	if math.Abs(w) >= 0.5 {
		k, w = inUse.lerpFar[dst.DType], rest
	}
	run2(forms{both: k}, &dst, &a, &b, bitsOf(dst.DType, w))
}

// lerpNear is v*(b-a) + a.
func lerpNear[T float](n int, dp, ap, bp, _ unsafe.Pointer, v, _ uint64) {
	d, a, b, s := slice[T](dp, n), slice[T](ap, n), slice[T](bp, n), float64(fromBits[T](v))
	for i := range d {
		d[i] = fma.Of(s, b[i]-a[i], a[i])
	}
}

// lerpFar is v*(b-a) + b.
func lerpFar[T float](n int, dp, ap, bp, _ unsafe.Pointer, v, _ uint64) {
	d, a, b, s := slice[T](dp, n), slice[T](ap, n), slice[T](bp, n), float64(fromBits[T](v))
	for i := range d {
		d[i] = fma.Of(s, b[i]-a[i], b[i])
	}
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
	t := dst.DType
	k := inUse.clamped[t]
	if k.loop == nil {
		panic("elementwise: clamp of a dtype without order")
	}
	v, w := uint64(0), uint64(0)
	switch t {
	case cpu.Float32, cpu.Float64:
		if lo != lo || hi != hi {
			Fill(dst, math.NaN())
			return
		}
		v, w = bitsOf(t, lo), bitsOf(t, hi)
	case cpu.Int64:
		v, w = uint64(saturated[int64](lo, math.MinInt64, math.MaxInt64)), uint64(saturated[int64](hi, math.MinInt64, math.MaxInt64))
	case cpu.Int32:
		v, w = uint64(saturated[int32](lo, math.MinInt32, math.MaxInt32)), uint64(saturated[int32](hi, math.MinInt32, math.MaxInt32))
	default:
		v, w = uint64(saturated[uint8](lo, 0, math.MaxUint8)), uint64(saturated[uint8](hi, 0, math.MaxUint8))
	}
	run1(k, &dst, &src, v, w)
}

var clampedKernels = [dtypes]kernel{
	cpu.Float32: inGo(clampFloat[float32]),
	cpu.Float64: inGo(clampFloat[float64]),
	cpu.Int64:   inGo(clampInteger[int64]),
	cpu.Int32:   inGo(clampInteger[int32]),
	cpu.Uint8:   inGo(clampInteger[uint8]),
}

func clampFloat[T float](n int, dp, ap, _, _ unsafe.Pointer, v, w uint64) {
	d, a, lo, hi := slice[T](dp, n), slice[T](ap, n), fromBits[T](v), fromBits[T](w)
	for i := range d {
		x := a[i]
		if x < lo {
			x = lo
		}
		if x > hi {
			x = hi
		}
		d[i] = x
	}
}

func clampInteger[T integer](n int, dp, ap, _, _ unsafe.Pointer, v, w uint64) {
	d, a, lo, hi := slice[T](dp, n), slice[T](ap, n), fromBits[T](v), fromBits[T](w)
	for i := range d {
		d[i] = min(max(a[i], lo), hi)
	}
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
