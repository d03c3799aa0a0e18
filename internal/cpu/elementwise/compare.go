package elementwise

func eq[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] == b[i])
	}
}

func ne[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] != b[i])
	}
}

func lt[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] < b[i])
	}
}

func le[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] <= b[i])
	}
}

func gt[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] > b[i])
	}
}

func ge[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] >= b[i])
	}
}

func logicalAnd[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] != 0) & truth(b[i] != 0)
	}
}

func logicalOr[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] != 0) | truth(b[i] != 0)
	}
}

func logicalXor[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] != 0) ^ truth(b[i] != 0)
	}
}

func bitwiseAnd[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func bitwiseOr[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func bitwiseXor[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}
