package ebb

// partlyOverlap reports whether x, which an operation changes, and its other
// operand y, of the same storage, share some elements but are not the same
// view: the result would depend on the order of the work. Like PyTorch it
// judges only tensors without gaps, whose memory is an interval.
func partlyOverlap(x, y *layout) bool {
	n, m := extent(x), extent(y)
	if n <= 0 || m <= 0 {
		return false
	}
	if x.offset != y.offset || n != m {
		return x.offset < y.offset+m && y.offset < x.offset+n
	}
	// The same memory: one view, or one seen in another order.
	if !sameShape(x.shape, y.shape) {
		return true
	}
	for i, d := range x.shape {
		if d > 1 && x.strides[i] != y.strides[i] {
			return true
		}
	}
	return false
}

// extent returns how many elements of storage l covers if it leaves no gap
// between them, or -1. Expanded dimensions count once.
func extent(l *layout) int {
	n := 1
	for i, d := range l.shape {
		switch {
		case d == 0:
			return 0
		case l.strides[i] != 0:
			n *= d
		}
	}
	// In the order of the strides each dimension steps over all before it.
	for step := 1; step < n; {
		d := 0
		for i := range l.shape {
			if l.shape[i] > 1 && l.strides[i] == step {
				d = l.shape[i]
			}
		}
		if d == 0 {
			return -1
		}
		step *= d
	}
	return n
}
