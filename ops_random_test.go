package ebb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
)

// drawAs draws what a line of Python draws.
func drawAs(t *testing.T, s *ebb.Scope, call string) *ebb.Tensor {
	t.Helper()
	var n int
	switch call {
	case "rand(7, dtype=float64)":
		return ebb.Rand(s, ebb.Shape{7}, ebb.Float64)
	case "randn(7, dtype=float64)":
		return ebb.Randn(s, ebb.Shape{7}, ebb.Float64)
	case "randn(20, dtype=float64)":
		return ebb.Randn(s, ebb.Shape{20}, ebb.Float64)
	case "randint(0, 10, (12,))":
		return ebb.Randint(s, 0, 10, ebb.Shape{12})
	case "empty((), dtype=int64).random_()":
		return ebb.Empty(s, nil, ebb.Int64).Random_()
	case "empty(8).uniform_(-0.25, 0.5)":
		return ebb.Empty(s, ebb.Shape{8}).Uniform_(-0.25, 0.5)
	case "empty(20).normal_(1.5, 2)":
		return ebb.Empty(s, ebb.Shape{20}).Normal_(1.5, 2)
	case "empty(4, 6).bernoulli_(0.3)":
		return ebb.Empty(s, ebb.Shape{4, 6}).Bernoulli_(0.3)
	case "Linear(5, 3): weight then bias":
		// torch.nn.Linear draws both between ±1/sqrt(5): the weight by Kaiming's
		// rule with a gain of sqrt(1/3), whose roundings are kept.
		bound := math.Sqrt(3) * (math.Sqrt(2.0/6) / math.Sqrt(5))
		weight := ebb.Empty(s, ebb.Shape{3, 5}).Uniform_(-bound, bound)
		bound = 1 / math.Sqrt(5)
		bias := ebb.Empty(s, ebb.Shape{3}).Uniform_(-bound, bound)
		return ebb.Cat([]*ebb.Tensor{weight.Flatten(0, -1), bias}, 0)
	case "randn(5), rand(3), randn(5), randperm(6) in one stream":
		a := ebb.Randn(s, ebb.Shape{5})
		b := ebb.Rand(s, ebb.Shape{3})
		c := ebb.Randn(s, ebb.Shape{5})
		return ebb.Cat([]*ebb.Tensor{a, b, c, ebb.Randperm(s, 6)}, 0)
	}
	if k, _ := fmt.Sscanf(call, "rand(%d)", &n); k == 1 {
		return ebb.Rand(s, ebb.Shape{n})
	}
	if k, _ := fmt.Sscanf(call, "randn(%d)", &n); k == 1 {
		return ebb.Randn(s, ebb.Shape{n})
	}
	if k, _ := fmt.Sscanf(call, "randperm(%d)", &n); k == 1 {
		return ebb.Randperm(s, n)
	}
	t.Fatalf("unknown call %q", call)
	return nil
}

// The same seeds and calls give PyTorch's numbers: uniforms and integers bit by
// bit, normals to 1e-6.
func TestTorchStreams(t *testing.T) {
	text, err := os.ReadFile("internal/random/testdata/random_streams.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Seed   uint64
			Call   string
			DType  string
			Shape  []int
			Values []json.Number
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 100 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	rt := newRuntime(t)
	for _, c := range file.Cases {
		run(t, rt, func(s *ebb.Scope) {
			rt.ManualSeed(c.Seed)
			x := drawAs(t, s, c.Call)
			if "torch."+x.DType().String() != c.DType || !slices.Equal(x.Shape(), c.Shape) {
				t.Errorf("%s: %s%v, want %s%v", c.Call, x.DType(), x.Shape(), c.DType, c.Shape)
				return
			}
			for i, want := range c.Values {
				ok := false
				switch x.DType() {
				case ebb.Int64:
					w, err := want.Int64()
					ok = err == nil && x.Int64s()[i] == w
				case ebb.Float32:
					ok = near(t, float64(x.Float32s()[i]), want)
				case ebb.Float64:
					ok = near(t, x.Float64s()[i], want)
				}
				if !ok {
					t.Errorf("seed %d, %s: element %d differs from %s", c.Seed, c.Call, i, want)
					return
				}
			}
		})
	}
}

func near(t *testing.T, got float64, want json.Number) bool {
	w, err := want.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return math.Abs(got-w) <= 1e-6*(1+math.Abs(w))
}

// A generator that is given is drawn from, and the runtime's left alone.
func TestGeneratorOption(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		rt.ManualSeed(3)
		want := ebb.Rand(s, ebb.Shape{4}).Float32s()
		rt.ManualSeed(0)
		g := ebb.NewGenerator(3)
		x := ebb.Empty(s, ebb.Shape{2})
		got := slices.Concat(ebb.Rand(s, ebb.Shape{2}, g).Float32s(), x.Uniform_(0, 1, g).Float32s())
		if !slices.Equal(got, want) {
			t.Errorf("from a generator of its own %v, want %v", got, want)
		}
		next := ebb.Rand(s, ebb.Shape{1}).Item()
		rt.ManualSeed(0)
		if first := ebb.Rand(s, ebb.Shape{1}).Item(); next != first {
			t.Errorf("the runtime's stream gave %v after draws from another, want %v", next, first)
		}
		wantError(t, ebb.ErrValue, "2 generators", func() { x.Normal_(0, 1, g, g) })
	})
}

// An operation that fails draws nothing.
func TestFailedDrawsTakeNothing(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		rt.ManualSeed(5)
		want := ebb.Rand(s, ebb.Shape{3}).Float32s()
		rt.ManualSeed(5)
		rt.FailNthAllocation(1)
		if e := caught(t, func() { ebb.Rand(s, ebb.Shape{8}) }); !errors.Is(e, ebb.ErrOutOfMemory) {
			t.Error(e)
		}
		rt.FailNthAllocation(0)
		wantError(t, ebb.ErrValue, "position 1", func() { ebb.FromSlice(s, []float32{0.5, 1.5}).Bernoulli() })
		wantError(t, ebb.ErrValue, "weight 0 of row 0 is -1", func() { ebb.FromSlice(s, []float32{-1, 1}).Multinomial(1) })
		if got := ebb.Rand(s, ebb.Shape{3}).Float32s(); !slices.Equal(got, want) {
			t.Errorf("after failures %v, want %v", got, want)
		}
	})
}

// Initialisers run on leaves before they require gradients, or under NoGrad.
func TestInitialisers(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.Empty(st, ebb.Shape{3}).Uniform_(0, 1).SetRequiresGrad(true)
	run(t, rt, func(s *ebb.Scope) {
		wantError(t, ebb.ErrGraph, "NoGrad", func() { w.In(s).Uniform_(0, 1) })
	})
	before := w.Float32s()
	if err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		w.In(s).Normal_(0, 1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(w.Float32s(), before) {
		t.Error("Normal_ under NoGrad left the tensor as it was")
	}
}

func TestRandomErrors(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("s")
	x := ebb.Ones(s, ebb.Shape{2, 3})
	ints := ebb.Ones(s, ebb.Shape{2, 3}, ebb.Int64)
	shape := ebb.Shape{2}
	for _, c := range []struct {
		name  string
		kind  ebb.ErrorKind
		words string
		f     func()
	}{
		{"uniform integers", ebb.ErrDType, "Randint", func() { ebb.Rand(s, shape, ebb.Int64) }},
		{"normal integers", ebb.ErrDType, "Randint", func() { ebb.Randn(s, shape, ebb.Int32) }},
		{"negative size", ebb.ErrShape, "negative", func() { ebb.Rand(s, ebb.Shape{-1}) }},
		{"size that overflows", ebb.ErrShape, "", func() { ebb.Rand(s, ebb.Shape{1 << 40, 1 << 40}) }},
		{"negative deviation", ebb.ErrValue, "deviation -1", func() { ebb.Normal(s, 0, -1, shape) }},
		{"no range", ebb.ErrValue, "5", func() { ebb.Randint(s, 5, 5, shape) }},
		{"too large for uint8", ebb.ErrValue, "uint8 cannot hold", func() { ebb.Randint(s, 0, 257, shape, ebb.Uint8) }},
		{"negative uint8", ebb.ErrValue, "uint8 cannot hold", func() { ebb.Randint(s, -1, 3, shape, ebb.Uint8) }},
		{"negative permutation", ebb.ErrValue, "-1 numbers", func() { ebb.Randperm(s, -1) }},
		{"permutation too long for uint8", ebb.ErrValue, "uint8", func() { ebb.Randperm(s, 300, ebb.Uint8) }},
		{"gradient of integers", ebb.ErrDType, "gradients", func() { ebb.Randint(s, 0, 2, shape, ebb.RequiresGrad) }},
		{"fill integers uniformly", ebb.ErrDType, "floating-point", func() { ints.Uniform_(0, 1) }},
		{"fill integers normally", ebb.ErrDType, "floating-point", func() { ints.Normal_(0, 1) }},
		{"empty range", ebb.ErrValue, "from 2 to 1", func() { x.Uniform_(2, 1) }},
		{"infinite range", ebb.ErrValue, "finite", func() { x.Uniform_(0, math.Inf(1)) }},
		{"range too wide", ebb.ErrValue, "finite", func() { x.Uniform_(-3e38, 3e38) }},
		{"no number", ebb.ErrValue, "from NaN", func() { x.Uniform_(math.NaN(), 1) }},
		{"negative deviation in place", ebb.ErrValue, "deviation -1", func() { x.Normal_(0, -1) }},
		{"no probability", ebb.ErrValue, "probability 1.5", func() { x.Bernoulli_(1.5) }},
		{"probabilities of integers", ebb.ErrDType, "floating-point", func() { ints.Bernoulli() }},
		{"an expanded tensor", ebb.ErrValue, "Clone it first", func() { x.Narrow(0, 0, 1).Expand(4, 3).Uniform_(0, 1) }},
		{"weights of integers", ebb.ErrDType, "floating-point", func() { ints.Multinomial(1) }},
		{"weights of three dimensions", ebb.ErrShape, "3 dimensions", func() { x.Unsqueeze(0).Multinomial(1) }},
		{"more than there are", ebb.ErrValue, "4 of 3", func() { x.Multinomial(4) }},
		{"draw none", ebb.ErrValue, "0 of 3", func() { x.MultinomialWithReplacement(0) }},
		{"weights of nothing", ebb.ErrValue, "row 1 add up to 0", func() { ebb.FromSlice(s, []float32{1, 1, 0, 0}, 2, 2).Multinomial(1) }},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.kind, c.words, c.f) })
	}
}
