package ebb_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
)

// bits are a floating-point tensor's elements, to compare NaN and -0.
func bits(x *ebb.Tensor) []uint64 {
	var b []uint64
	if x.DType() == ebb.Float64 {
		for _, v := range x.Float64s() {
			b = append(b, math.Float64bits(v))
		}
		return b
	}
	for _, v := range x.Float32s() {
		b = append(b, uint64(math.Float32bits(v)))
	}
	return b
}

type linearFunc = func(x, weight, bias *ebb.Tensor) *ebb.Tensor

// The two forms of a linear layer and a ReLU, which must agree.
var linearReLUs = [2]linearFunc{
	ebb.LinearReLU,
	func(x, w, b *ebb.Tensor) *ebb.Tensor {
		y := ebb.Linear(x, w, b)
		z := y.ReLU()
		// What the layers' region does when the second has returned.
		z.Scope().Recycle(x, z)
		return z
	},
}

// A linear layer with its ReLU has the bits of the two operations, gradients and
// gradients of gradients included, and needs no more memory at any time.
func TestLinearReLUIsLinearAndReLU(t *testing.T) {
	for name, gradients := range map[string]func(y, loss *ebb.Tensor, of []*ebb.Tensor) []*ebb.Tensor{
		"Backward": func(_, loss *ebb.Tensor, of []*ebb.Tensor) []*ebb.Tensor {
			loss.Backward()
			var gs []*ebb.Tensor
			for _, x := range of {
				gs = append(gs, x.Grad())
			}
			return gs
		},
		"Backward with a hook": func(y, loss *ebb.Tensor, of []*ebb.Tensor) []*ebb.Tensor {
			y.RegisterHook(func(g *ebb.Tensor) *ebb.Tensor { return g.MulScalar(3) })
			loss.Backward()
			var gs []*ebb.Tensor
			for _, x := range of {
				gs = append(gs, x.Grad())
			}
			return gs
		},
		"Backward with a gradient that is kept": func(y, loss *ebb.Tensor, of []*ebb.Tensor) []*ebb.Tensor {
			y.RetainGrad()
			loss.Backward()
			gs := []*ebb.Tensor{y.Grad()}
			for _, x := range of {
				gs = append(gs, x.Grad())
			}
			return gs
		},
		"Grad": func(_, loss *ebb.Tensor, of []*ebb.Tensor) []*ebb.Tensor { return ebb.Grad([]*ebb.Tensor{loss}, of) },
		"Grad of the result": func(y, loss *ebb.Tensor, of []*ebb.Tensor) []*ebb.Tensor {
			return ebb.Grad([]*ebb.Tensor{loss}, append(of, y))
		},
		"second derivatives": func(_, loss *ebb.Tensor, of []*ebb.Tensor) []*ebb.Tensor {
			var sum *ebb.Tensor
			for _, g := range ebb.Grad([]*ebb.Tensor{loss}, of, ebb.CreateGraph) {
				if s := g.Square().Sum(); sum == nil {
					sum = s
				} else {
					sum = sum.Add(s)
				}
			}
			return ebb.Grad([]*ebb.Tensor{sum}, of)
		},
	} {
		for _, dtype := range []ebb.DType{ebb.Float32, ebb.Float64} {
			for _, c := range []struct{ rows, in, out int }{{64, 90, 48}, {33, 20, 10}, {1, 700, 40}, {2, 3, 2}} {
				t.Run(fmt.Sprint(name, dtype, c), func(t *testing.T) {
					var results [2][][]uint64
					var peaks [2]int64
					for i, f := range linearReLUs {
						rt := newRuntime(t)
						rt.ManualSeed(1)
						st := rt.NewStore("model")
						leaf := func(shape ...int) *ebb.Tensor {
							return ebb.Randn(st, shape, dtype).SetRequiresGrad(true)
						}
						x, w, b := leaf(c.rows, c.in), leaf(c.out, c.in), leaf(c.out)
						v := leaf(c.in, c.out)
						run(t, rt, func(s *ebb.Scope) {
							first := x.In(s)
							rt.ResetPeak()
							y := f(first, w, b)
							z := f(y, v, nil)
							loss := z.Square().Sum()
							results[i] = append(results[i], bits(y), bits(z))
							for _, g := range gradients(y, loss, []*ebb.Tensor{x, w, b, v}) {
								results[i] = append(results[i], bits(g))
							}
							peaks[i] = rt.Stats().Live.Peak
						})
					}
					if !slices.EqualFunc(results[0], results[1], slices.Equal[[]uint64]) {
						for i := range results[0] {
							if !slices.Equal(results[0][i], results[1][i]) {
								t.Errorf("result %d differs from that of two operations", i)
							}
						}
					}
					if peaks[0] > peaks[1] {
						t.Errorf("%d bytes at the peak, of two operations %d", peaks[0], peaks[1])
					}
				})
			}
		}
	}
}

func TestLinearReLUNamesItself(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		x, w := ebb.Ones(s, ebb.Shape{2, 3}), ebb.Ones(s, ebb.Shape{4, 3})
		wantError(t, ebb.ErrShape, "linear_relu", func() { ebb.LinearReLU(w.T(), x, nil) })
		wantError(t, ebb.ErrShape, "linear_relu", func() { ebb.LinearReLU(x, w, x) })
		wantError(t, ebb.ErrDType, "linear_relu", func() { ebb.LinearReLU(x, w.To(ebb.Float64), nil) })
		wantError(t, ebb.ErrValue, "linear_relu", func() { ebb.LinearReLU(x, nil, nil) })
	})
}
