package random

import "math"

// normalBlock is the number of normals that PyTorch computes at once.
const normalBlock = 16

// Normal fills dst with normal numbers, as Tensor.normal_ fills a contiguous
// tensor; torch.randn is Normal(s, dst, 0, 1). The caller has checked that
// std >= 0.
//
// Both of PyTorch's ways are the Box-Muller transform. Fewer than 16 numbers are
// those of [NormalSerial]. From 16 on dst is filled with uniform numbers of its
// type first. Then each block of 16 is transformed, the first eight paired with
// the last eight. If the length is no multiple of 16, the last 16 are drawn and
// transformed anew.
func Normal[T Float](s *Source, dst []T, mean, std float64) {
	if len(dst) < normalBlock {
		NormalSerial(s, dst, mean, std)
		return
	}
	Uniform(s, dst, 0, 1)
	blocks := len(dst) / normalBlock * normalBlock
	boxMuller(dst[:blocks], mean, std)
	if blocks < len(dst) {
		last := dst[len(dst)-normalBlock:]
		Uniform(s, last, 0, 1)
		boxMuller(last, mean, std)
	}
}

// NormalSerial fills dst with normal numbers, as Tensor.normal_ fills a tensor
// that is not contiguous or has fewer than 16 elements: one after the other, in
// float64. Each pair takes 128 bits of the stream. The second of a pair waits in
// the source for the next call, of either type, and is forgotten by
// [Source.Seed].
func NormalSerial[T Float](s *Source, dst []T, mean, std float64) {
	for i := range dst {
		dst[i] = T(math.FMA(s.standardNormal(), std, mean))
	}
}

func (s *Source) standardNormal() float64 {
	if s.waits {
		s.waits = false
		return s.normal
	}
	u1, u2 := s.float64(), s.float64()
	radius := math.Sqrt(-2 * math.Log1p(-u2))
	sin, cos := math.Sincos(2 * math.Pi * u1)
	s.normal, s.waits = radius*sin, true
	return radius * cos
}

// boxMuller turns uniform numbers into normal ones, block by block. In float32 it
// rounds where PyTorch's vector code does.
func boxMuller[T Float](dst []T, mean, std float64) {
	switch dst := any(dst).(type) {
	case []float32:
		mean, std := float32(mean), float32(std)
		for ; len(dst) > 0; dst = dst[normalBlock:] {
			for i := range normalBlock / 2 {
				u1, u2 := 1-dst[i], dst[i+normalBlock/2]
				radius := float32(math.Sqrt(float64(-2 * log32(u1))))
				sin, cos := sincos32(2 * math.Pi * u2)
				dst[i] = fma32(radius*cos, std, mean)
				dst[i+normalBlock/2] = fma32(radius*sin, std, mean)
			}
		}
	case []float64:
		for ; len(dst) > 0; dst = dst[normalBlock:] {
			for i := range normalBlock / 2 {
				u1, u2 := 1-dst[i], dst[i+normalBlock/2]
				radius := math.Sqrt(-2 * math.Log(u1))
				sin, cos := math.Sincos(2 * math.Pi * u2)
				dst[i] = math.FMA(radius*cos, std, mean)
				dst[i+normalBlock/2] = math.FMA(radius*sin, std, mean)
			}
		}
	}
}

// log32 returns the natural logarithm of x, a normal positive number, to the last
// bit of float32 in nearly all cases. With it and sincos32 normals take two thirds
// of the time that they take with package math.
func log32(x float32) float32 {
	// x = m * 2^e with m from sqrt(1/2) to sqrt(2), and
	// log(m) = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) with s = (m-1)/(m+1).
	const sqrtHalf = 0x3fe6a09e667f3bcd
	bits := math.Float64bits(float64(x)) - sqrtHalf
	e := float64(int64(bits) >> 52)
	m := math.Float64frombits(bits&(1<<52-1) + sqrtHalf)
	s := (m - 1) / (m + 1)
	z := s * s
	z2 := z * z
	series := (1 + z*(1.0/3)) + z2*((1.0/5+z*(1.0/7))+z2*((1.0/9+z*(1.0/11))+z2*(1.0/13)))
	return float32(e*math.Ln2 + 2*s*series)
}

// sincos32 returns the sine and cosine of x from 0 to 7, each to the last bit of
// float32 in nearly all cases.
func sincos32(x float32) (sin, cos float32) {
	// x = q * pi/2 + r with r from -pi/4 to pi/4.
	q := int64(float64(x)*(2/math.Pi) + 0.5)
	r := float64(x) - float64(q)*(math.Pi/2)
	z := r * r
	z2 := z * z
	s := r * ((1 + z*(-1.0/6)) + z2*((1.0/120+z*(-1.0/5040))+z2*(1.0/362880+z*(-1.0/39916800))))
	c := (1 + z*(-1.0/2)) + z2*((1.0/24+z*(-1.0/720))+z2*((1.0/40320+z*(-1.0/3628800))+z2*(1.0/479001600)))
	// Odd quarters swap the two, two of the four change each sign; the quarter is
	// random, so a branch would be mispredicted half of the time.
	sb, cb := math.Float64bits(s), math.Float64bits(c)
	swap := (sb ^ cb) & uint64(-(q & 1))
	sb ^= swap ^ uint64(q)&2<<62
	cb ^= swap ^ uint64(q+1)&2<<62
	return float32(math.Float64frombits(sb)), float32(math.Float64frombits(cb))
}
