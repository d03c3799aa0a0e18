package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
	"github.com/google/go-cmp/cmp"
)

// apart returns the layers in a form that Chain does not know: each runs as a
// step of its own.
func apart(layers []nn.Module) []nn.Module {
	var out []nn.Module
	for _, l := range layers {
		out = append(out, &layer{l.Forward})
	}
	return out
}

// bits are a float32 tensor's elements, to compare NaN and -0.
func bits(x *ebb.Tensor) []uint32 {
	var b []uint32
	for _, v := range x.Float32s() {
		b = append(b, math.Float32bits(v))
	}
	return b
}

// A Linear and the ReLU behind it run as one operation: what is allocated is the
// result, of the same bits as that of two steps, which also makes the tensor
// between; with a graph there is one node and a mask, as with two steps.
func TestLinearAndReLUAreOne(t *testing.T) {
	rt, st := newModelStore(t)
	const rows, wide = 30, 40
	fc1, fc2 := nn.NewLinear(st, 20, wide), nn.NewLinear(st, wide, wide)
	scale := &layer{func(x *ebb.Tensor) *ebb.Tensor { return x.MulScalar(1.5) }}
	x := ebb.Randn(st, ebb.Shape{rows, 20}, ebb.Input)
	x.SetRequiresGrad(true)
	const tensor, mask = rows * wide * 4, rows * wide / 8
	for _, c := range []struct {
		name   string
		layers []nn.Module
		fewer  int64 // tensors than by single steps
	}{
		{"Linear, ReLU", []nn.Module{fc1, &nn.ReLU{}}, 1},
		{"Linear, ReLU in place", []nn.Module{fc1, &nn.ReLU{InPlace: true}}, 0},
		{"Linear, ReLU, ReLU", []nn.Module{fc1, &nn.ReLU{}, &nn.ReLU{}}, 1},
		{"Linear, ReLU, Linear, ReLU", []nn.Module{fc1, &nn.ReLU{}, fc2, &nn.ReLU{}}, 2},
		{"Linear, Linear, ReLU", []nn.Module{fc1, fc2, &nn.ReLU{}}, 1},
		{"Linear, other, ReLU", []nn.Module{fc1, scale, &nn.ReLU{}, fc2}, 0},
		{"Linear in a Sequential, ReLU", []nn.Module{nn.NewSequential(fc1), &nn.ReLU{}}, 0},
		{"ReLU, Linear", []nn.Module{&nn.ReLU{}, fc1}, 0},
	} {
		for mode, f := range map[string]func(x *ebb.Tensor, layers ...nn.Module) *ebb.Tensor{
			"Chain":      nn.Chain,
			"Sequential": func(x *ebb.Tensor, layers ...nn.Module) *ebb.Tensor { return nn.Call(nn.NewSequential(layers...), x) },
		} {
			// forward returns the result, and what is allocated and kept for it.
			forward := func(s *ebb.Scope, layers []nn.Module) (y *ebb.Tensor, made, kept int64, nodes int) {
				before := rt.Stats()
				y = f(x.In(s), layers...)
				after := rt.Stats()
				made = after.ByKind[ebb.Activation].Allocated - before.ByKind[ebb.Activation].Allocated
				return y, made, after.Live.Current - before.Live.Current, after.Nodes - before.Nodes
			}
			what := c.name + " by " + mode
			run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
				one, made, _, _ := forward(s, c.layers)
				two, madeApart, _, _ := forward(s, apart(c.layers))
				if madeApart-made != c.fewer*tensor {
					t.Errorf("%s: %d bytes are allocated, %d by single steps, want %d less", what, made, madeApart, c.fewer*tensor)
				}
				if d := cmp.Diff(bits(two), bits(one)); d != "" {
					t.Errorf("%s (-apart +as one):\n%s", what, d)
				}
			})
			var want [][]uint32
			for _, layers := range [][]nn.Module{apart(c.layers), c.layers} {
				run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
					y, _, kept, nodes := forward(s, layers)
					if layers[0] == c.layers[0] && c.name == "Linear, ReLU" && (kept != tensor+mask || nodes != 1) {
						t.Errorf("%s: %d bytes and %d nodes are kept, want %d and one", what, kept, nodes, tensor+mask)
					}
					got := [][]uint32{bits(y)}
					y.Square().Sum().Backward()
					for _, p := range []*ebb.Tensor{x, fc1.Weight, fc1.Bias, fc2.Weight, fc2.Bias} {
						if p.HasGrad() {
							got = append(got, bits(p.Grad()))
							p.ZeroGrad()
						}
					}
					if want == nil {
						want = got
					}
					if !slices.EqualFunc(got, want, slices.Equal[[]uint32]) {
						t.Errorf("%s: result or gradients differ from those of single steps", what)
					}
				})
			}
		}
	}
}

// As one, the layers of a tower need no more memory than as single steps.
func TestPeakOfLinearAndReLUAsOne(t *testing.T) {
	rt, st := newModelStore(t)
	m := newTower(st, 20, 64)
	single := &tower{apart(m.Layers)}
	opt := optim.NewSGD(nn.Parameters(m), optim.LR(0.01))
	defer opt.Close()
	in := ebb.Shape{64, 64}
	for _, training := range []bool{true, false} {
		o := opt
		if !training {
			o = nil
		}
		opt.ZeroGrad()
		one := peakApart(t, rt, m, o, in, 64)
		opt.ZeroGrad()
		if two := peakApart(t, rt, single, o, in, 64); one > two {
			t.Errorf("training %t: %d bytes at the peak, of single steps %d", training, one, two)
		}
	}
}

// Memory and errors of both are under the Linear's name.
func TestLinearAndReLUByName(t *testing.T) {
	rt, st := newModelStore(t)
	m := nn.NewSequential(nn.NewLinear(st, 2, 8), &nn.ReLU{}, nn.NewLinear(st, 8, 8), &nn.ReLU{}, nn.NewLinear(st, 9, 2), &nn.ReLU{})
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{1, 2})
		e := wantError(t, ebb.ErrShape, func() { nn.Call(m, x) }, "linear_relu in 4")
		if e.Module != "4" {
			t.Errorf("the error's module is %q", e.Module)
		}
		y := nn.Call(nn.NewSequential(m.Layers[:4]...), x)
		var made []string
		for _, h := range rt.Holdings() {
			if h.Kind == ebb.Activation && h.Op != "full" {
				made = append(made, fmt.Sprint(h.Op, " in ", h.Module))
			}
		}
		slices.Sort(made)
		// Result and mask of each.
		want := []string{"linear_relu in 0", "linear_relu in 0", "linear_relu in 2", "linear_relu in 2"}
		if d := cmp.Diff(want, made); d != "" {
			t.Errorf("activations (-want +got):\n%s", d)
		}
		y.Sum().Backward()
	})
}
