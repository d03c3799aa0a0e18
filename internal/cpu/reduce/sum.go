package reduce

import "unsafe"

// Sums of float32 that lie side by side. As in PyTorch's they are added in
// float32, in many partial sums; but what a few additions gave goes on in float64, so
// that the error is theirs alone, however many elements there are. Assembly adds the
// same elements in the same order: a sum has the same bits on all processor levels.

// lanes are partial sums.
type lanes [64]float32

// blockLen is how many elements are added up in float32, 16 in each lane.
const blockLen = 16 * len(lanes{})

// sumFloat32 is the sum of x: of blocks, of the rest that is in whole rows of lanes,
// and of what is left.
func sumFloat32(x []float32) float64 {
	var sums [16]float64
	for len(x) >= len(lanes{}) {
		n := min(len(x)/len(lanes{})*len(lanes{}), blockLen)
		addBlock(&sums, x[:n])
		x = x[n:]
	}
	if len(x) > 0 {
		var rest lanes
		copy(rest[:], x)
		addBlock(&sums, rest[:])
	}
	return totalOf(&sums)
}

// addBlock adds rows of lanes, at least one.
func addBlock(sums *[16]float64, x []float32) {
	sum := *(*lanes)(x)
	for x = x[len(sum):]; len(x) >= len(sum); x = x[len(sum):] {
		row := (*lanes)(x)
		for i, v := range row {
			sum[i] += v
		}
	}
	for i := range sums {
		sums[i] += float64((sum[i] + sum[i+32]) + (sum[i+16] + sum[i+48]))
	}
}

func totalOf(sums *[16]float64) float64 {
	for width := len(sums) / 2; width > 0; width /= 2 {
		for i := range width {
			sums[i] += sums[i+width]
		}
	}
	return sums[0]
}

// addRows adds rows of float32, stride bytes apart, to sums: eight rows at a time are
// added up in float32 first.
func addRows(sums []float64, x *float32, rows, stride int) {
	row := func(i int) []float32 {
		return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(x), i*stride)), len(sums))
	}
	r := 0
	for ; r+8 <= rows; r += 8 {
		a, b, c, d := row(r), row(r+1), row(r+2), row(r+3)
		e, f, g, h := row(r+4), row(r+5), row(r+6), row(r+7)
		for j := range sums {
			sums[j] += float64(((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j])))
		}
	}
	for ; r < rows; r++ {
		addRow(sums, row(r))
	}
}
