package reduce

import (
	"math"
	"unsafe"
)

// chunk is room for the next elements of a line in float64. Elements are
// widened, computed on and narrowed in loops of their own: on amd64 a
// conversion keeps half of the register it writes and so waits for whatever
// wrote it before, and calls of math.Exp with a conversion between them would
// not overlap.
type chunk [chunkLen]float64

const chunkLen = 64

// line is n elements, step bytes apart.
type line[T float] struct {
	data    unsafe.Pointer
	n, step int
}

// load widens the elements from first on, as many as there is room for.
func (l line[T]) load(room *chunk, first int) []float64 {
	c := room[:min(chunkLen, l.n-first)]
	if l.step == int(unsafe.Sizeof(T(0))) {
		for i, v := range unsafe.Slice(element[T](l.data, first, l.step), len(c)) {
			c[i] = float64(v)
		}
		return c
	}
	for i := range c {
		c[i] = float64(*element[T](l.data, first+i, l.step))
	}
	return c
}

// store rounds c to the elements from first on.
func (l line[T]) store(first int, c []float64) {
	for i, v := range c {
		*element[T](l.data, first+i, l.step) = T(v)
	}
}

// max is the largest element, NaN if there is one, -Inf of none.
func (l line[T]) max() float64 {
	m := T(math.Inf(-1))
	for i := range l.n {
		m = max(m, *element[T](l.data, i, l.step))
	}
	return float64(m)
}

// sumExp is the sum of exp(x - shift).
func (l line[T]) sumExp(shift float64) float64 {
	sums := newCascade(plus[float64], 0)
	var room chunk
	for first := 0; first < l.n; first += chunkLen {
		sums.add(sumRun[float64, float64](exponentials(l.load(&room, first), shift)))
	}
	return sums.total()
}

// exponentials replaces each x of c by exp(x - shift).
func exponentials(c []float64, shift float64) []float64 {
	for i, v := range c {
		c[i] = math.Exp(v - shift)
	}
	return c
}
