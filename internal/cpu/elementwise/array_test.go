package elementwise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"pgregory.net/rapid"
)

// guarded is an array in memory of its own, of which every byte that belongs
// to no element is a canary.
type guarded struct {
	cpu.Array
	memory []uint64
	first  int // position of element [0, 0, ...]
}

const canary = 0xA5

// newGuarded lays out an array with the given strides.
func newGuarded(t cpu.DType, shape, strides []int) *guarded {
	span := 1
	for i, n := range shape {
		span += max(0, n-1) * strides[i]
	}
	const margin = 16
	g := &guarded{memory: make([]uint64, (span+2*margin)*t.Size()/8+1), first: margin}
	for i := range g.bytes() {
		g.bytes()[i] = canary
	}
	g.Array = cpu.Array{Data: unsafe.Pointer(&g.bytes()[margin*t.Size()]), DType: t, Shape: shape, Strides: strides}
	return g
}

func (g *guarded) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(g.memory))), len(g.memory)*8)
}

// position is the place of row-major element i, in elements from the first.
func (g *guarded) position(i int) int {
	p := 0
	for d := len(g.Shape) - 1; d >= 0; d-- {
		p += i % g.Shape[d] * g.Strides[d]
		i /= g.Shape[d]
	}
	return p
}

func at[T any](g *guarded, i int) *T { return &slice[T](g.Data, g.position(i)+1)[g.position(i)] }

// float and integer read element i, of any dtype.

func (g *guarded) float(i int) float64 {
	switch g.DType {
	case cpu.Float32:
		return float64(*at[float32](g, i))
	case cpu.Float64:
		return *at[float64](g, i)
	}
	return float64(g.integer(i))
}

func (g *guarded) integer(i int) int64 {
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

// text is element i as the JSON file writes it, for messages too.
func (g *guarded) text(i int) string {
	if isFloat(g.DType) {
		return fmt.Sprint(g.float(i))
	}
	return fmt.Sprint(g.integer(i))
}

// set stores a value given as text.
func (g *guarded) set(i int, s string) {
	if isFloat(g.DType) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err)
		}
		g.setFloat(i, v)
		return
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	g.setInteger(i, v)
}

func (g *guarded) setFloat(i int, v float64) {
	if g.DType == cpu.Float32 {
		*at[float32](g, i) = float32(v)
	} else {
		*at[float64](g, i) = v
	}
}

func (g *guarded) setInteger(i int, v int64) {
	switch g.DType {
	case cpu.Int64:
		*at[int64](g, i) = v
	case cpu.Int32:
		*at[int32](g, i) = int32(v)
	default:
		*at[uint8](g, i) = uint8(v)
	}
}

// checkCanaries fails if a byte outside the elements was written.
func (g *guarded) checkCanaries(t fataler) {
	t.Helper()
	element := make(map[int]bool, g.Len())
	for i := range g.Len() {
		element[g.first+g.position(i)] = true
	}
	for i, b := range g.bytes() {
		if b != canary && !element[i/g.DType.Size()] {
			t.Fatalf("byte %d outside the elements was written; shape %v strides %v", i, g.Shape, g.Strides)
		}
	}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func isFloat(t cpu.DType) bool { return t == cpu.Float32 || t == cpu.Float64 }

var allDTypes = []cpu.DType{cpu.Float32, cpu.Float64, cpu.Int64, cpu.Int32, cpu.Uint8, cpu.Bool}

func genDType(floatOnly bool) *rapid.Generator[cpu.DType] {
	if floatOnly {
		return rapid.SampledFrom(allDTypes[:2])
	}
	return rapid.SampledFrom(allDTypes)
}

// genShape draws shapes of every rank up to 10, some empty, some large enough
// for several blocks.
func genShape() *rapid.Generator[[]int] {
	return rapid.Custom(func(t *rapid.T) []int {
		shape := rapid.SliceOfN(rapid.SampledFrom([]int{1, 1, 2, 2, 3, 4, 5, 9, 17, 40, 600}), 0, 4).Draw(t, "shape")
		n := 1
		for i := range shape {
			if n*shape[i] > 3000 {
				shape[i] = 2
			}
			n *= shape[i]
		}
		switch rapid.IntRange(0, 15).Draw(t, "special") {
		case 0:
			shape = append(shape, 0)
		case 1:
			shape = []int{2, 1, 2, 3, 2, 2, 1, 2, 3, 2}
		}
		return shape
	})
}

// genArray draws strides for a shape: any order of dimensions, gaps, and for
// inputs repeated dimensions. The elements are set at random.
func genArray(t *rapid.T, name string, dtype cpu.DType, shape []int, input bool) *guarded {
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
	g := newGuarded(dtype, shape, strides)
	if input {
		g.randomize(rapid.Uint64().Draw(t, name+" seed"))
	}
	return g
}

var specials = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -1.5,
	1e-40, -1e-40, 5e-324, math.MaxFloat64, math.MaxFloat32, 3e9, -3e9, 1e19, 300}

// randomize sets the elements to ordinary and special values.
func (g *guarded) randomize(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range g.Len() {
		switch {
		case isFloat(g.DType):
			v := r.NormFloat64() * 3
			if r.IntN(4) == 0 {
				v = specials[r.IntN(len(specials))]
			}
			g.setFloat(i, v)
		case g.DType == cpu.Bool:
			g.setInteger(i, int64(r.IntN(2)))
		case r.IntN(4) == 0:
			g.setInteger(i, int64(r.Uint64()))
		default:
			g.setInteger(i, int64(r.IntN(13)-6))
		}
	}
}

// clone is a second array of the same layout and contents.
func (g *guarded) clone() *guarded {
	c := newGuarded(g.DType, g.Shape, g.Strides)
	copy(c.memory, g.memory)
	return c
}

// output draws the output of an operation: an array of its own, or in when it
// has the dtype and places of its own for every element.
func output(t *rapid.T, dtype cpu.DType, shape []int, in *guarded) *guarded {
	if in.DType == dtype && rapid.Bool().Draw(t, "in place") {
		for i, n := range shape {
			if n > 1 && in.Strides[i] == 0 {
				return genArray(t, "dst", dtype, shape, false)
			}
		}
		return in
	}
	return genArray(t, "dst", dtype, shape, false)
}

// sameFloat compares bits, with every NaN equal.
func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// closeFloat allows a few units in the last place of the dtype.
func closeFloat(t cpu.DType, a, b float64) bool {
	tolerance, least := 4e-15, 0.0
	if t == cpu.Float32 {
		tolerance, least = 4e-7, 3e-45
	}
	return sameFloat(a, b) || math.Abs(a-b) <= max(tolerance*math.Abs(b), least)
}

func TestGuardedSeesStrayWrites(t *testing.T) {
	g := newGuarded(cpu.Float32, []int{2}, []int{2})
	slice[float32](g.Data, 2)[1] = 0
	var f failures
	g.checkCanaries(&f)
	if f == 0 {
		t.Fatal("a write into a gap was not seen")
	}
}

type failures int

func (f *failures) Helper()               {}
func (f *failures) Fatalf(string, ...any) { *f++ }
