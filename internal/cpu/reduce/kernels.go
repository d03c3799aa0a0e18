package reduce

// The inner loops. Those over a run keep four accumulators, since one would
// wait for itself; those over a row have one for each element.

func sumRun[T, A number](x []T) A {
	var s0, s1, s2, s3 A
	for ; len(x) >= 4; x = x[4:] {
		s0 += A(x[0])
		s1 += A(x[1])
		s2 += A(x[2])
		s3 += A(x[3])
	}
	for _, v := range x {
		s0 += A(v)
	}
	return (s0 + s2) + (s1 + s3)
}

func addRow[T, A number](acc []A, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] += A(v)
	}
}

func squareRun[T float](x []T) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		s0 += square(x[0])
		s1 += square(x[1])
		s2 += square(x[2])
		s3 += square(x[3])
	}
	for _, v := range x {
		s0 += square(v)
	}
	return (s0 + s2) + (s1 + s3)
}

func addSquareRow[T float](acc []float64, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] += square(v)
	}
}

// square is rounded before it is added, on every processor.
func square[T float](v T) float64 { return float64(float64(v) * float64(v)) }

func prodRun[T, A number](x []T) A {
	s0, s1, s2, s3 := A(1), A(1), A(1), A(1)
	for ; len(x) >= 4; x = x[4:] {
		s0 *= A(x[0])
		s1 *= A(x[1])
		s2 *= A(x[2])
		s3 *= A(x[3])
	}
	for _, v := range x {
		s0 *= A(v)
	}
	return (s0 * s2) * (s1 * s3)
}

func mulRow[T, A number](acc []A, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] *= A(v)
	}
}

func maxRun[T number](x []T) T {
	s0, s1, s2, s3 := x[0], x[0], x[0], x[0]
	for ; len(x) >= 4; x = x[4:] {
		s0 = max(s0, x[0])
		s1 = max(s1, x[1])
		s2 = max(s2, x[2])
		s3 = max(s3, x[3])
	}
	for _, v := range x {
		s0 = max(s0, v)
	}
	return max(s0, s1, s2, s3)
}

func maxRow[T number](acc, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] = max(acc[i], v)
	}
}

func minRun[T number](x []T) T {
	s0, s1, s2, s3 := x[0], x[0], x[0], x[0]
	for ; len(x) >= 4; x = x[4:] {
		s0 = min(s0, x[0])
		s1 = min(s1, x[1])
		s2 = min(s2, x[2])
		s3 = min(s3, x[3])
	}
	for _, v := range x {
		s0 = min(s0, v)
	}
	return min(s0, s1, s2, s3)
}

func minRow[T number](acc, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] = min(acc[i], v)
	}
}

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func anyRun[T number](x []T) uint8 {
	for _, v := range x {
		if v != 0 {
			return 1
		}
	}
	return 0
}

func anyRow[T number](acc []uint8, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] |= truth(v != 0)
	}
}

func allRun[T number](x []T) uint8 {
	for _, v := range x {
		if v == 0 {
			return 0
		}
	}
	return 1
}

func allRow[T number](acc []uint8, x []T) {
	acc = acc[:len(x)]
	for i, v := range x {
		acc[i] &= truth(v != 0)
	}
}
