package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"pgregory.net/rapid"
)

// initialisers are all of them, with arguments that fit a [3, 3, 3] tensor or
// else a [3, 3] one.
var initialisers = map[string]func(x *ebb.Tensor, opts ...nn.InitOption) *ebb.Tensor{
	"uniform": func(x *ebb.Tensor, o ...nn.InitOption) *ebb.Tensor { return nn.Uniform_(x, 0, 1, o...) },
	"normal":  func(x *ebb.Tensor, o ...nn.InitOption) *ebb.Tensor { return nn.Normal_(x, 0, 1, o...) },
	"trunc": func(x *ebb.Tensor, o ...nn.InitOption) *ebb.Tensor {
		return nn.TruncNormal_(x, 0, 1, -2, 2, o...)
	},
	"xavier uniform":  nn.XavierUniform_,
	"xavier normal":   nn.XavierNormal_,
	"kaiming uniform": nn.KaimingUniform_,
	"kaiming normal":  nn.KaimingNormal_,
	"orthogonal":      nn.Orthogonal_,
	"sparse":          func(x *ebb.Tensor, o ...nn.InitOption) *ebb.Tensor { return nn.Sparse_(x, 0.5, 1, o...) },
	"constant":        func(x *ebb.Tensor, _ ...nn.InitOption) *ebb.Tensor { return nn.Constant_(x, 2) },
	"ones":            func(x *ebb.Tensor, _ ...nn.InitOption) *ebb.Tensor { return nn.Ones_(x) },
	"zeros":           func(x *ebb.Tensor, _ ...nn.InitOption) *ebb.Tensor { return nn.Zeros_(x) },
	"eye":             func(x *ebb.Tensor, _ ...nn.InitOption) *ebb.Tensor { return nn.Eye_(x) },
	"dirac":           func(x *ebb.Tensor, _ ...nn.InitOption) *ebb.Tensor { return nn.Dirac_(x, 1) },
}

// shapeFor returns a shape that an initialiser takes.
func shapeFor(name string) ebb.Shape {
	if name == "dirac" {
		return ebb.Shape{3, 3, 3}
	}
	return ebb.Shape{3, 3}
}

func TestInitialisersTakeAnyTensor(t *testing.T) {
	rt, st := newModelStore(t)
	for name, f := range initialisers {
		t.Run(name, func(t *testing.T) {
			own := st.NewStore("own")
			defer own.Close()
			fresh := func(o ebb.Owner) *ebb.Tensor { return ebb.Full(o, shapeFor(name), 99.0) }
			want := f(fresh(own), nn.WithGenerator(ebb.NewGenerator(5))).Float32s()
			if slices.Contains(want, 99) {
				t.Error("an element was left as it was")
			}
			check := func(what string, x *ebb.Tensor) {
				t.Helper()
				grad, leaf := x.RequiresGrad(), x.IsLeaf()
				flat(t, rt, func() {
					if y := f(x, nn.WithGenerator(ebb.NewGenerator(5))); y != x {
						t.Errorf("%s: another tensor was returned", what)
					}
				})
				if !slices.Equal(x.Float32s(), want) {
					t.Errorf("%s: %v, want %v", what, x.Float32s(), want)
				}
				if x.RequiresGrad() != grad || x.IsLeaf() != leaf {
					t.Errorf("%s: its graph changed", what)
				}
			}
			check("a parameter that collects gradients", fresh(own).SetRequiresGrad(true))
			run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
				check("a leaf in a scope", fresh(s).SetRequiresGrad(true))
				check("a parameter directed into a scope", fresh(own).SetRequiresGrad(true).In(s))
				check("a computed tensor", fresh(own).SetRequiresGrad(true).In(s).MulScalar(2))
			})
			rt.ManualSeed(5)
			if got := f(fresh(own)).Float32s(); !slices.Equal(got, want) {
				t.Errorf("from the runtime's stream: %v, want %v", got, want)
			}
			run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
				shape := shapeFor(name)
				shape[1] = 0
				if x := ebb.Zeros(s, shape); f(x) != x {
					t.Error("a tensor without elements: another was returned")
				}
			})
		})
	}
}

func TestInitialiserErrors(t *testing.T) {
	rt, st := newModelStore(t)
	vector, matrix, ints := ebb.Zeros(st, ebb.Shape{4}), ebb.Zeros(st, ebb.Shape{4, 4}), ebb.Zeros(st, ebb.Shape{4, 4}, ebb.Int64)
	volume := ebb.Zeros(st, ebb.Shape{4, 2, 3})
	flat(t, rt, func() {
		for name, f := range map[string]func(){
			"xavier":     func() { nn.XavierUniform_(vector) },
			"xavier n":   func() { nn.XavierNormal_(vector) },
			"kaiming":    func() { nn.KaimingUniform_(vector) },
			"kaiming n":  func() { nn.KaimingNormal_(vector) },
			"orthogonal": func() { nn.Orthogonal_(vector) },
			"sparse":     func() { nn.Sparse_(volume, 0.1, 1) },
			"eye":        func() { nn.Eye_(volume) },
			"dirac":      func() { nn.Dirac_(matrix, 1) },
		} {
			t.Run(name, func(t *testing.T) { wantError(t, ebb.ErrShape, f, "dimensions, expected") })
		}
		for name, f := range map[string]func(){
			"gain":            func() { nn.Uniform_(matrix, 0, 1, nn.Gain(2)) },
			"fan out":         func() { nn.XavierUniform_(matrix, nn.FanOut()) },
			"nonlinearity":    func() { nn.CalculateGain("gelu") },
			"range":           func() { nn.Uniform_(matrix, 1, 0) },
			"infinite":        func() { nn.Uniform_(matrix, 0, math.Inf(1)) },
			"deviation":       func() { nn.Normal_(matrix, 0, -1) },
			"cut":             func() { nn.TruncNormal_(matrix, 0, 1, 2, -2) },
			"no deviation":    func() { nn.TruncNormal_(matrix, 0, 0, -2, 2) },
			"cut at NaN":      func() { nn.TruncNormal_(matrix, 0, 1, math.NaN(), 2) },
			"sparsity":        func() { nn.Sparse_(matrix, 1.5, 1) },
			"sparsity of NaN": func() { nn.Sparse_(matrix, math.NaN(), 1) },
			"groups":          func() { nn.Dirac_(volume, 3) },
			"no groups":       func() { nn.Dirac_(volume, 0) },
			"nil":             func() { nn.Ones_(nil) },
			"no number":       func() { nn.Constant_(matrix, "1") },
		} {
			t.Run(name, func(t *testing.T) { wantError(t, ebb.ErrValue, f) })
		}
		wantError(t, ebb.ErrDType, func() { nn.Uniform_(ints, 0, 1) })
		wantError(t, ebb.ErrDType, func() { nn.Orthogonal_(ints) })
		wantError(t, ebb.ErrDType, func() { nn.TruncNormal_(ints, 0, 1, -2, 2) })
	})
}

func TestCalculateGain(t *testing.T) {
	for name, want := range map[string]float64{"linear": 1, "conv3d": 1, "conv_transpose1d": 1, "sigmoid": 1, "tanh": 5.0 / 3, "relu": math.Sqrt2,
		"selu": 0.75, "leaky_relu": math.Sqrt(2 / 1.0001)} {
		if got := nn.CalculateGain(name); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got, want := nn.CalculateGain("leaky_relu", math.Sqrt(5)), math.Sqrt(1.0/3); math.Abs(got-want) > 1e-15 {
		t.Errorf("leaky_relu with a slope: %v, want %v", got, want)
	}
}

func TestOrthogonal(t *testing.T) {
	rt, st := newModelStore(t)
	rapid.Check(t, func(r *rapid.T) {
		rows, cols := rapid.IntRange(1, 100).Draw(r, "rows"), rapid.IntRange(1, 100).Draw(r, "cols")
		gain := rapid.Float64Range(0.1, 3).Draw(r, "gain")
		rt.ManualSeed(rapid.Uint64().Draw(r, "seed"))
		own := st.NewStore("own")
		defer own.Close()
		run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
			x := nn.Orthogonal_(ebb.Empty(own, ebb.Shape{rows, cols}, ebb.Float64), nn.Gain(gain)).In(s)
			if rows > cols {
				x = x.T()
			}
			want := ebb.Eye(s, x.Size(0), x.Size(0), ebb.Float64).MulScalar(gain * gain)
			if !x.MatMul(x.T()).AllClose(want, ebb.ATol(1e-12)) {
				r.Fatalf("the rows of a [%d, %d] are not orthonormal", rows, cols)
			}
		})
	})
}
