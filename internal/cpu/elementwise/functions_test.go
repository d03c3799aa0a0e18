package elementwise

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// float32Errors are the functions of float32 that processor levels have their
// own versions of, with the most units in the last place by which those differ
// from the true value: as measured over all floats, rounded up.
var float32Errors = map[UnaryOp]float64{
	Exp: 1, Expm1: 1.5, Log: 1, Log1p: 1, Sigmoid: 2.5, Tanh: 1.5, Erf: 1, Sin: 1.5, Cos: 1.5,
	Sqrt: 0.5, Rsqrt: 1.5, Reciprocal: 0.5,
}

// ulps is the distance of got from want in units of the float32 at want.
func ulps(got float32, want float64) float64 {
	if g, w := float64(got), float64(float32(want)); g != g || w != w || g-g != 0 || w-w != 0 || g == 0 || w == 0 {
		if arraytest.SameFloat(g, w) || math.Signbit(g) == math.Signbit(w) && math.Abs(g-w) == 0x1p-149 {
			return 0.5
		}
		if w-w == 0 && g-g == 0 && math.Signbit(g) == math.Signbit(w) { // 0 beside a denormal
			return math.Abs(g-w) * 0x1p149
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// Functions of float32 against float64, over floats of every exponent and all
// that are special.
func TestFunctionsAreAccurate(t *testing.T) {
	const n, step = 4096, 7919 // a prime: a sample of the bits that ends anywhere
	for _, level := range levels() {
		k := kernelsOf(level)
		for op, most := range float32Errors {
			t.Run(fmt.Sprint(level, " ", op), func(t *testing.T) {
				worst, at := 0.0, float32(0)
				in, out := make([]float32, n), make([]float32, n)
				bits := uint64(0)
				for bits < 1<<32 {
					for i := range in {
						in[i] = math.Float32frombits(uint32(bits))
						bits += step
						if testing.Short() {
							bits += 20 * step
						}
					}
					if bits >= 1<<32 {
						for i, v := range arraytest.Specials {
							in[2*i], in[2*i+1] = float32(v), math.Nextafter32(float32(v), 0)
						}
					}
					k.unary[cpu.Float32][op].loop(n, unsafe.Pointer(&out[0]), unsafe.Pointer(&in[0]), nil, nil, 0, 0)
					for i, x := range in {
						if e := ulps(out[i], unaryFloats[op](float64(x))); e > worst {
							worst, at = e, x
						}
					}
				}
				t.Logf("at most %.3f units in the last place, at %v", worst, at)
				if worst > most {
					t.Errorf("off by %v units in the last place at %v, more than %v", worst, at, most)
				}
			})
		}
	}
}

// levels are those that the processor has, without Go's.
func levels() (l []cpu.SIMD) {
	best, _ := cpu.Level()
	for _, s := range []cpu.SIMD{cpu.AVX2, cpu.AVX512, cpu.NEON} {
		if s <= best && (s == cpu.NEON) == (best == cpu.NEON) {
			l = append(l, s)
		}
	}
	return l
}
