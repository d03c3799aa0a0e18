package random

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// The C++ standard says what its mt19937 gives at the 10,000th draw.
func TestMersenneTwister(t *testing.T) {
	s := New(5489)
	var x uint32
	for range 10000 {
		x = s.Uint32()
	}
	if x != 4123659995 {
		t.Errorf("10,000th draw is %d", x)
	}
}

func TestSeedUsesTheLow32Bits(t *testing.T) {
	a, b := New(7), New(7|9<<32)
	if a.InitialSeed() == b.InitialSeed() {
		t.Error("the initial seed is cut")
	}
	for range 1000 {
		if a.Uint32() != b.Uint32() {
			t.Fatal("the high bits of a seed matter")
		}
	}
}

// draw makes one call of any kind and returns its numbers as text.
func draw(s *Source, kind, n int) string {
	f32, f64, i64 := make([]float32, n), make([]float64, n), make([]int64, n)
	switch kind {
	case 0:
		Uniform(s, f32, -1, 2)
	case 1:
		Uniform(s, f64, -1, 2)
	case 2:
		Normal(s, f32, 0, 1)
	case 3:
		NormalSerial(s, f64, 0, 1)
	case 4:
		Randint(s, i64, -3, 1000)
	case 5:
		Randperm(s, i64)
	case 6:
		Bernoulli(s, f32, 0.5)
	}
	return fmt.Sprint(f32, f64, i64)
}

// A state taken anywhere resumes the stream there, also over what was drawn since.
func TestStateResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, size := rapid.IntRange(0, 6), rapid.IntRange(0, 700)
		s := New(rapid.Uint64().Draw(t, "seed"))
		for range rapid.IntRange(0, 5).Draw(t, "before") {
			draw(s, kind.Draw(t, "kind"), size.Draw(t, "n"))
		}
		state := s.State()
		other := New(1)
		NormalSerial(other, make([]float32, 1), 0, 1)
		if err := other.SetState(state); err != nil {
			t.Fatal(err)
		}
		if other.InitialSeed() != s.InitialSeed() || !bytes.Equal(other.State(), state) {
			t.Fatal("the state did not survive")
		}
		for range 4 {
			k, n := kind.Draw(t, "kind"), size.Draw(t, "n")
			if a, b := draw(s, k, n), draw(other, k, n); a != b {
				t.Fatalf("kind %d of %d: %s, after SetState %s", k, n, a, b)
			}
		}
	})
}

func TestSetStateRefuses(t *testing.T) {
	good := New(3)
	good.Uint32()
	set := func(off int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[off] = v; return b }
	}
	cases := map[string]func([]byte) []byte{
		"nothing":        func([]byte) []byte { return nil },
		"cut":            func(b []byte) []byte { return b[:len(b)-1] },
		"longer":         func(b []byte) []byte { return append(b, 0) },
		"not seeded":     set(offSeeded, 0),
		"none left":      func(b []byte) []byte { b[offLeft], b[offLeft+1] = 0, 0; return b },
		"too much left":  set(offLeft+3, 1),
		"negative left":  set(offLeft+3, 255),
		"next elsewhere": set(offNext, 2),
		"next too far":   set(offNext+7, 1),
		"a wide word":    set(offState+8*77+4, 1),
	}
	for name, spoil := range cases {
		s := New(9)
		before := s.State()
		if err := s.SetState(spoil(good.State())); !errors.Is(err, ErrState) {
			t.Errorf("%s: error %v", name, err)
		}
		if !bytes.Equal(s.State(), before) {
			t.Errorf("%s: the source changed", name)
		}
	}
	if err := New(9).SetState(good.State()); err != nil {
		t.Errorf("a good state: %v", err)
	}
}

// Filling in pieces gives what filling at once does, where nothing is paired.
func TestPiecesAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 2000).Draw(t, "n")
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		a, b := New(5), New(5)
		whole, pieces := make([]float32, n), make([]float32, n)
		Uniform(a, whole, -2, 0.3)
		Uniform(b, pieces[:cut], -2, 0.3)
		Uniform(b, pieces[cut:], -2, 0.3)
		for i := range whole {
			if whole[i] != pieces[i] {
				t.Fatalf("[%d] %v, in pieces %v", i, whole[i], pieces[i])
			}
		}
	})
}

// Ranges from 2^28 on take 64 bits, as in PyTorch from 2.7 on; the fixtures are
// of an older one.
func TestRandintRanges(t *testing.T) {
	for _, c := range []struct {
		low, high int64
		wide      bool
	}{
		{0, 1<<28 - 1, false}, {5, 5 + 1<<28, true}, {0, 1 << 31, true}, {-1 << 31, 1<<31 - 1, true},
		{math.MinInt64, math.MaxInt64, true}, {math.MaxInt64 - 1, math.MaxInt64, false},
	} {
		got := make([]int64, 1000)
		Randint(New(6), got, c.low, c.high)
		raw := New(6)
		size := new(big.Int).Sub(big.NewInt(c.high), big.NewInt(c.low))
		for i, g := range got {
			bits := uint64(0)
			if c.wide {
				bits = raw.Uint64()
			} else {
				bits = uint64(raw.Uint32())
			}
			want := new(big.Int).SetUint64(bits)
			want.Mod(want, size).Add(want, big.NewInt(c.low))
			if want.Int64() != g {
				t.Fatalf("[%d, %d): [%d] is %d, want %v", c.low, c.high, i, g, want)
			}
		}
	}
}

func TestRandpermPermutes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10, 1000} {
		p := make([]int64, n)
		Randperm(New(uint64(n)), p)
		seen := make([]bool, n)
		for _, x := range p {
			if seen[x] {
				t.Fatalf("%d twice of %d", x, n)
			}
			seen[x] = true
		}
	}
}

// fma32 is x*y+z rounded once, against arithmetic without rounding.
func TestFMA32(t *testing.T) {
	exact := func(x, y, z float32) float32 {
		b := func(x float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(x)) }
		p := new(big.Float).SetPrec(600).Mul(b(x), b(y))
		f, _ := p.Add(p, b(z)).Float32()
		return f
	}
	ulp := float32(math.Ldexp(1, -23))
	for _, c := range [][3]float32{
		// x*y is half an ulp of z and a bit, a bit lost in float64: a tie for float32.
		{1 + ulp, float32(math.Ldexp(1, -24)) * (1 - ulp), 1},
		{1 + ulp, float32(math.Ldexp(1, -24)) * (1 + ulp), 1 + ulp},
		{1 + ulp, -float32(math.Ldexp(1, -24)) * (1 - ulp), 1 + ulp},
		{float32(math.Ldexp(1, -60)), float32(math.Ldexp(1, -24)), 1 + ulp},
		{float32(math.Ldexp(1, -60)), -float32(math.Ldexp(1, -24)), -1},
		// The same among the numbers below 2^-126, which have fewer bits.
		{float32(math.Ldexp(1, -75)) * (1 + ulp), float32(math.Ldexp(1, -75)) * (1 - ulp), float32(math.Ldexp(1<<22+1, -149))},
		{0, 0, 0}, {3, -1, 3}, {math.MaxFloat32, 1, math.MaxFloat32},
	} {
		if got, want := fma32(c[0], c[1], c[2]), exact(c[0], c[1], c[2]); got != want {
			t.Errorf("fma32%v = %v, want %v", c, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.Float32Range(-2, 2)
		x, y, z := unit.Draw(t, "x"), unit.Draw(t, "y"), unit.Draw(t, "z")
		y = float32(math.Ldexp(float64(y), -rapid.IntRange(0, 40).Draw(t, "shift")))
		if got, want := fma32(x, y, z), exact(x, y, z); got != want {
			t.Fatalf("%v * %v + %v = %v, want %v", x, y, z, got, want)
		}
	})
	// Ties but for a bit that float64 loses, with results of every size and down to
	// the smallest: z*(1 + k*ulp + half an ulp) and a bit more or less.
	rapid.Check(t, func(t *rapid.T) {
		x := float32(1 + float64(rapid.IntRange(-1<<23, 1<<23).Draw(t, "x"))*math.Ldexp(1, -23))
		y := float32(rapid.IntRange(-1<<23, 1<<23).Draw(t, "y")) * float32(math.Ldexp(1, -23-rapid.IntRange(0, 140).Draw(t, "shift")))
		p := float64(x) * float64(y)
		z := float32(p*math.Ldexp(1, rapid.IntRange(20, 32).Draw(t, "apart"))) + float32(p)
		if got, want := fma32(x, y, z), exact(x, y, z); got != want {
			t.Fatalf("%v * %v + %v = %v, want %v", x, y, z, got, want)
		}
	})
	inf := float32(math.Inf(1))
	if got := fma32(inf, 1, 1); got != inf {
		t.Errorf("inf: %v", got)
	}
	if got := fma32(inf, 0, 1); got == got {
		t.Errorf("inf * 0: %v", got)
	}
}

func TestMultinomialErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		weights     []float64
		draws       int
		replacement bool
		index       int
	}{
		{[]float64{1, -1}, 1, true, 1},
		{[]float64{1, 2, nan}, 1, true, 2},
		{[]float64{inf, 2}, 1, false, 0},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, 1, true, -1},
		{[]float64{0, 0}, 1, true, -1},
		{nil, 1, true, -1},
		{[]float64{1, 2}, 3, false, -1},
	} {
		s := New(1)
		before := s.State()
		dst := make([]int64, c.draws)
		err := Multinomial(s, dst, c.weights, c.replacement)
		var we *WeightsError
		if !errors.As(err, &we) || we.Index != c.index || we.Error() == "" {
			t.Errorf("%v, %d draws: %v", c.weights, c.draws, err)
		}
		if !bytes.Equal(s.State(), before) {
			t.Errorf("%v: drawn in spite of the error", c.weights)
		}
	}
	if err := Multinomial(New(1), make([]int64, 3), []float64{1, 2}, true); err != nil {
		t.Errorf("more draws than categories with replacement: %v", err)
	}
}

// Without replacement nothing comes twice, and zero weights come last, in order.
func TestMultinomialDistinct(t *testing.T) {
	for seed := range uint64(200) {
		dst := make([]int64, 6)
		if err := Multinomial(New(seed), dst, []float32{0, 1, 0, 0.001, 0, 5}, false); err != nil {
			t.Fatal(err)
		}
		head := dst[0] + dst[1] + dst[2]
		if head != 1+3+5 || dst[3] != 0 || dst[4] != 2 || dst[5] != 4 {
			t.Fatalf("seed %d: %v", seed, dst)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	f32, i64 := make([]float32, 1<<16), make([]int64, 1<<16)
	s := New(0)
	for name, fill := range map[string]func(){
		"uniform":      func() { Uniform(s, f32, 0, 1) },
		"uniform-wide": func() { Uniform(s, f32, -0.3, 0.45) },
		"normal":       func() { Normal(s, f32, 0, 1) },
		"bernoulli":    func() { Bernoulli(s, f32, 0.5) },
		"randperm":     func() { Randperm(s, i64) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(1 << 16) // so MB/s are million numbers a second
			for b.Loop() {
				fill()
			}
		})
	}
}
