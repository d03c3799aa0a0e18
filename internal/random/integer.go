package random

import "math"

// Randint fills dst with integers from [low, high), as torch.randint. A range
// below 1<<28 takes 32 bits of the stream for each, a larger one 64. (PyTorch
// before 2.7 took 32 bits up to 1<<32.) The numbers are the bits modulo the
// range. The caller has checked that low < high.
func Randint(s *Source, dst []int64, low, high int64) {
	size := uint64(high) - uint64(low)
	if size >= 1<<28 {
		for i := range dst {
			dst[i] = int64(s.Uint64()%size) + low
		}
		return
	}
	for len(dst) > 0 {
		words := s.take(len(dst))
		for i, w := range words {
			dst[i] = int64(temper(w)%uint32(size)) + low
		}
		dst = dst[len(words):]
	}
}

// RandomFull fills dst with integers from all that T holds and are not negative,
// or in floating point from 0 to 1<<24 (float32) or 1<<53 (float64) with the ends,
// as Tensor.random_(). An int64 or float64 takes 64 bits of the stream, the others
// 32.
func RandomFull[T int64 | int32 | uint8 | float32 | float64](s *Source, dst []T) {
	switch dst := any(dst).(type) {
	case []int64:
		for i := range dst {
			dst[i] = s.Int63()
		}
	case []float64:
		for i := range dst {
			dst[i] = float64(s.Uint64() % (1<<53 + 1))
		}
	case []int32:
		for i := range dst {
			dst[i] = int32(s.Uint32() & math.MaxInt32)
		}
	case []uint8:
		for i := range dst {
			dst[i] = uint8(s.Uint32())
		}
	case []float32:
		for i := range dst {
			dst[i] = float32(s.Uint32() % (1<<24 + 1))
		}
	}
}

// Randperm fills dst with a permutation of the numbers from 0 to len(dst)-1, as
// torch.randperm(n) for n up to 214,748,363 (for larger n releases differ). It
// takes 32 bits of the stream for each number but the last.
func Randperm(s *Source, dst []int64) {
	n := len(dst)
	for i := range dst {
		dst[i] = int64(i)
	}
	for i := range n - 1 {
		j := i + int(uint64(s.Uint32())%uint64(n-i))
		dst[i], dst[j] = dst[j], dst[i]
	}
}
