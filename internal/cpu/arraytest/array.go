// Package arraytest makes strided arrays for tests of kernels: of any layout,
// with canaries around and between the elements.
package arraytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"pgregory.net/rapid"
)

// Guarded is an array in memory of its own, of which every byte that belongs
// to no element is a canary. Elements are named by their row-major position.
type Guarded struct {
	cpu.Array
	memory []uint64
	first  int // position of element [0, 0, ...]
}

// Canary is the value of every byte before it is written.
const Canary = 0xA5

// New lays out an array with the given strides, of which every byte is a canary.
func New(t cpu.DType, shape, strides []int) *Guarded {
	span := 1
	for i, n := range shape {
		span += max(0, n-1) * strides[i]
	}
	const margin = 16
	g := &Guarded{memory: make([]uint64, (span+2*margin)*t.Size()/8+1), first: margin}
	for i := range g.bytes() {
		g.bytes()[i] = Canary
	}
	g.Array = cpu.Array{Data: unsafe.Pointer(&g.bytes()[margin*t.Size()]), DType: t, Shape: shape, Strides: strides}
	return g
}

func (g *Guarded) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(g.memory))), len(g.memory)*8)
}

// Position is the place of element i in memory, in elements from the first.
func (g *Guarded) Position(i int) int {
	p := 0
	for d := len(g.Shape) - 1; d >= 0; d-- {
		p += i % g.Shape[d] * g.Strides[d]
		i /= g.Shape[d]
	}
	return p
}

func at[T any](g *Guarded, i int) *T {
	return (*T)(unsafe.Add(g.Data, g.Position(i)*g.DType.Size()))
}

// Float returns element i, of any dtype.
func (g *Guarded) Float(i int) float64 {
	switch g.DType {
	case cpu.Float32:
		return float64(*at[float32](g, i))
	case cpu.Float64:
		return *at[float64](g, i)
	}
	return float64(g.Integer(i))
}

// Integer returns element i, of any dtype but the floats.
func (g *Guarded) Integer(i int) int64 {
	switch g.DType {
	case cpu.Int64:
		return *at[int64](g, i)
	case cpu.Int32:
		return int64(*at[int32](g, i))
	case cpu.Uint8, cpu.Bool:
		return int64(*at[uint8](g, i))
	}
	panic("not an integer")
}

// Text returns element i as text.
func (g *Guarded) Text(i int) string {
	if IsFloat(g.DType) {
		return fmt.Sprint(g.Float(i))
	}
	return fmt.Sprint(g.Integer(i))
}

// Set stores a value given as text to element i.
func (g *Guarded) Set(i int, s string) {
	if IsFloat(g.DType) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err)
		}
		g.SetFloat(i, v)
		return
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	g.SetInteger(i, v)
}

// SetFloat stores to element i of a float dtype.
func (g *Guarded) SetFloat(i int, v float64) {
	if g.DType == cpu.Float32 {
		*at[float32](g, i) = float32(v)
	} else {
		*at[float64](g, i) = v
	}
}

// SetInteger stores to element i of a dtype that is no float, wrapped.
func (g *Guarded) SetInteger(i int, v int64) {
	switch g.DType {
	case cpu.Int64:
		*at[int64](g, i) = v
	case cpu.Int32:
		*at[int32](g, i) = int32(v)
	default:
		*at[uint8](g, i) = uint8(v)
	}
}

// CheckCanaries fails the test if a byte outside the elements was written.
func (g *Guarded) CheckCanaries(t Failer) {
	t.Helper()
	element := make(map[int]bool, g.Len())
	for i := range g.Len() {
		element[g.first+g.Position(i)] = true
	}
	for i, b := range g.bytes() {
		if b != Canary && !element[i/g.DType.Size()] {
			t.Fatalf("byte %d outside the elements was written; shape %v strides %v", i, g.Shape, g.Strides)
		}
	}
}

// Failer is what a check needs of a test.
type Failer interface {
	Helper()
	Fatalf(string, ...any)
}

// IsFloat reports whether t is float32 or float64.
func IsFloat(t cpu.DType) bool { return t == cpu.Float32 || t == cpu.Float64 }

// DTypes are the element types: the floats, the integers, bool.
var DTypes = []cpu.DType{cpu.Float32, cpu.Float64, cpu.Int64, cpu.Int32, cpu.Uint8, cpu.Bool}

// DrawDType draws one of DTypes.
func DrawDType(t *rapid.T) cpu.DType { return rapid.SampledFrom(DTypes).Draw(t, "dtype") }

// DrawFloat draws a float dtype.
func DrawFloat(t *rapid.T) cpu.DType { return rapid.SampledFrom(DTypes[:2]).Draw(t, "dtype") }

// DrawNumber draws a dtype that is not bool.
func DrawNumber(t *rapid.T) cpu.DType { return rapid.SampledFrom(DTypes[:5]).Draw(t, "dtype") }

// DrawShape draws shapes of every rank up to 10, some empty, some of more
// elements than a kernel takes at once.
func DrawShape(t *rapid.T) []int {
	shape := rapid.SliceOfN(rapid.SampledFrom([]int{1, 1, 2, 2, 3, 4, 5, 9, 17, 40, 600}), 0, 4).Draw(t, "shape")
	n := 1
	for i := range shape {
		if n*shape[i] > 3000 {
			shape[i] = 2
		}
		n *= shape[i]
	}
	switch rapid.IntRange(0, 15).Draw(t, "special shape") {
	case 0:
		shape = append(shape, 0)
	case 1:
		shape = []int{2, 1, 2, 3, 2, 2, 1, 2, 3, 2}
	}
	return shape
}

// Draw draws strides for a shape: any order of dimensions, gaps, and for
// inputs repeated dimensions. The elements are set at random.
func Draw(t *rapid.T, name string, dtype cpu.DType, shape []int, input bool) *Guarded {
	strides := make([]int, len(shape))
	order := make([]int, len(shape))
	for i := range order {
		order[i] = i
	}
	if rapid.Bool().Draw(t, name+" permuted") {
		order = rapid.Permutation(order).Draw(t, name+" order")
	}
	gaps := rapid.Bool().Draw(t, name+" gaps")
	repeats := input && rapid.Bool().Draw(t, name+" repeats")
	step := 1
	for i := len(order) - 1; i >= 0; i-- {
		d := order[i]
		if gaps {
			step += rapid.IntRange(0, 3).Draw(t, name+" gap")
		}
		strides[d] = step
		if repeats && rapid.Bool().Draw(t, name+" repeat") {
			strides[d] = 0
			continue
		}
		step = max(1, step*shape[d])
	}
	g := New(dtype, shape, strides)
	if input {
		g.Randomize(rapid.Uint64().Draw(t, name+" seed"))
	}
	return g
}

// Specials are NaN, infinities, zeros, denormals and values beyond integers.
var Specials = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -1.5,
	1e-40, -1e-40, 5e-324, math.MaxFloat64, math.MaxFloat32, 3e9, -3e9, 1e19, 300}

// Randomize sets the elements to ordinary and special values.
func (g *Guarded) Randomize(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range g.Len() {
		switch {
		case IsFloat(g.DType):
			v := r.NormFloat64() * 3
			if r.IntN(4) == 0 {
				v = Specials[r.IntN(len(Specials))]
			}
			g.SetFloat(i, v)
		case g.DType == cpu.Bool:
			g.SetInteger(i, int64(r.IntN(2)))
		case r.IntN(4) == 0:
			g.SetInteger(i, int64(r.Uint64()))
		default:
			g.SetInteger(i, int64(r.IntN(13)-6))
		}
	}
}

// Clone is a second array of the same layout and contents.
func (g *Guarded) Clone() *Guarded {
	c := New(g.DType, g.Shape, g.Strides)
	copy(c.memory, g.memory)
	return c
}

// DrawOutput draws the DrawOutput of an operation: an array of its own, or in when it
// has the dtype and places of its own for every element.
func DrawOutput(t *rapid.T, dtype cpu.DType, shape []int, in *Guarded) *Guarded {
	if in.DType == dtype && rapid.Bool().Draw(t, "in place") {
		for i, n := range shape {
			if n > 1 && in.Strides[i] == 0 {
				return Draw(t, "dst", dtype, shape, false)
			}
		}
		return in
	}
	return Draw(t, "dst", dtype, shape, false)
}

// SameFloat compares bits, with every NaN equal.
func SameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// CloseFloat allows a few units in the last place of the dtype.
func CloseFloat(t cpu.DType, a, b float64) bool {
	tolerance, least := 4e-15, 0.0
	if t == cpu.Float32 {
		tolerance, least = 4e-7, 3e-45
	}
	return SameFloat(a, b) || math.Abs(a-b) <= max(tolerance*math.Abs(b), least)
}
