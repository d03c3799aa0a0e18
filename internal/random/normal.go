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
				log := float32(math.Log(float64(u1)))
				radius := float32(math.Sqrt(float64(-2 * log)))
				sin, cos := math.Sincos(float64(2 * math.Pi * u2))
				dst[i] = fma32(radius*float32(cos), std, mean)
				dst[i+normalBlock/2] = fma32(radius*float32(sin), std, mean)
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
