package random

import "math"

// Float is an element type that real numbers are drawn in.
type Float interface{ float32 | float64 }

// Uniform fills dst with numbers from [from, to), as Tensor.uniform_; torch.rand
// is Uniform(s, dst, 0, 1). A float32 has 24 random bits and takes 32 of the
// stream, a float64 has 53 and takes 64. Rounding can yield to itself, as in
// PyTorch. The caller has checked that from <= to and that both, and their
// difference, are finite in T.
func Uniform[T Float](s *Source, dst []T, from, to float64) {
	switch dst := any(dst).(type) {
	case []float32:
		s.uniform32(dst, float32(from), float32(to))
	case []float64:
		scale := to - from
		for i := range dst {
			dst[i] = math.FMA(s.float64(), scale, from)
		}
	}
}

func (s *Source) uniform32(dst []float32, from, to float32) {
	scale := to - from
	standard := from == 0 && scale == 1
	for len(dst) > 0 {
		words := s.take(len(dst))
		for i, w := range words {
			x := float32(temper(w)&(1<<24-1)) * (1.0 / (1 << 24))
			if !standard {
				x = fma32(x, scale, from)
			}
			dst[i] = x
		}
		dst = dst[len(words):]
	}
}

// float64 returns a number from [0, 1) with 53 random bits.
func (s *Source) float64() float64 {
	return float64(s.Uint64()&(1<<53-1)) * (1.0 / (1 << 53))
}

// fma32 returns x*y + z, rounded once, on every processor.
func fma32(x, y, z float32) float32 {
	// The product is exact in float64; the sum may be rounded. Rounding it again to
	// float32 goes wrong only if the sum is half way between two float32 and was
	// not before: for normal numbers, if the bits that go are 1000...0.
	p, q := float64(x)*float64(y), float64(z)
	sum := p + q
	if math.Float64bits(sum)<<35 == 1<<63 || math.Abs(sum) < 0x1p-126 {
		return float32(toOdd(sum, p, q))
	}
	return float32(sum)
}

// toOdd returns p + q rounded to odd: sum, unless that is rounded and even.
// Nothing so rounded is half way between two numbers of fewer bits.
func toOdd(sum, p, q float64) float64 {
	r := sum - p
	lost := (p - (sum - r)) + (q - r) // exact
	bits := math.Float64bits(sum)
	switch {
	case lost == 0 || bits&1 == 1:
		return sum
	case (lost > 0) == (sum > 0):
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// Bernoulli fills dst with ones and zeros, one with probability p in [0, 1], as
// Tensor.bernoulli_(p). Each takes 64 bits of the stream. See the package's
// comment on builds of PyTorch with MKL.
func Bernoulli[T uint8 | int32 | int64 | float32 | float64](s *Source, dst []T, p float64) {
	for i := range dst {
		dst[i] = 0
		if s.float64() < p {
			dst[i] = 1
		}
	}
}

// BernoulliEach fills dst with ones and zeros, dst[i] one with probability p[i]
// in [0, 1], as torch.bernoulli(p). Each takes as much of the stream as a uniform
// number of p's type. The slices have the same length.
func BernoulliEach[T uint8 | int32 | int64 | float32 | float64, P Float](s *Source, dst []T, p []P) {
	_, wide := any(p).([]float64)
	for i, p := range p {
		var u float64
		if wide {
			u = s.float64()
		} else {
			u = float64(s.Uint32()&(1<<24-1)) * (1.0 / (1 << 24))
		}
		dst[i] = 0
		if u < float64(p) {
			dst[i] = 1
		}
	}
}
