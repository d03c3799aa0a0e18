package ebb

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Shape is the size of each dimension of a tensor. Creation functions take a
// Shape; a tensor without dimensions (a scalar) has the empty Shape{}.
type Shape = []int

// maxBytes bounds one tensor's size so that byte offsets fit an int.
const maxBytes = math.MaxInt64 / 2

// numel returns the product of shape's sizes. The error says which size is
// negative, or that the product overflows.
func numel(shape []int) (int, error) {
	n, zero := 1, false
	for i, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("size %d of dimension %d is negative", d, i)
		}
		if d == 0 {
			zero = true
			continue
		}
		if n > maxBytes/d {
			return 0, fmt.Errorf("the product of %s overflows", shapeString(shape))
		}
		n *= d
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// size is numel for shapes already checked.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// stridesFor writes row-major strides of shape into dst, which it returns.
func stridesFor(dst, shape []int) []int {
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		dst[i] = n
		if shape[i] > 0 {
			n *= shape[i]
		}
	}
	return dst
}

func contiguousStrides(shape []int) []int { return stridesFor(make([]int, len(shape)), shape) }

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// shapeString prints a shape as PyTorch does: [2, 3].
func shapeString(shape []int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(d))
	}
	b.WriteByte(']')
	return b.String()
}

// broadcastShape returns the shape that a and b broadcast to by NumPy's rule,
// or nil and false.
func broadcastShape(a, b []int) ([]int, bool) {
	if sameShape(a, b) {
		return a, true
	}
	n := max(len(a), len(b))
	out := make([]int, n)
	for i := range n {
		x, y := 1, 1
		if j := i - (n - len(a)); j >= 0 {
			x = a[j]
		}
		if j := i - (n - len(b)); j >= 0 {
			y = b[j]
		}
		switch {
		case x == y || y == 1:
			out[i] = x
		case x == 1:
			out[i] = y
		default:
			return nil, false
		}
	}
	return out, true
}

// wrapDim turns a possibly negative dimension into 0..rank-1. A scalar has
// one dimension for this purpose, as in PyTorch.
func wrapDim(dim, rank int) (int, bool) {
	r := max(rank, 1)
	if dim < -r || dim >= r {
		return 0, false
	}
	if dim < 0 {
		dim += r
	}
	return dim, true
}
