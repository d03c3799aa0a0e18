package nn_test

import (
	"errors"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/google/go-cmp/cmp"
)

// generic is a module of any argument and result.
type generic[In, Out any] struct{ f func(In) Out }

func (g *generic[In, Out]) Forward(in In) Out { return g.f(in) }

type attention struct {
	Query, Key *ebb.Tensor
	Masks      []*ebb.Tensor
	Heads      int
	Config     *struct{ Scale float64 }
	hidden     *ebb.Tensor
}

type output struct {
	Y     *ebb.Tensor
	State [2]*ebb.Tensor
	Named map[string]*ebb.Tensor
	More  any
	Next  *output
}

// inner fails unless x's results land in a scope other than outer.
func inner(t *testing.T, outer *ebb.Scope, xs ...*ebb.Tensor) {
	t.Helper()
	for i, x := range xs {
		if x != nil && x.Scope() == outer {
			t.Errorf("argument %d is not directed into the call's scope", i)
		}
	}
}

func TestCallTakesAnyArguments(t *testing.T) {
	rt, st := newModelStore(t)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		one := ebb.Ones(s, ebb.Shape{2})
		outer := func(xs ...*ebb.Tensor) {
			t.Helper()
			for i, x := range xs {
				if x.Scope() != s {
					t.Errorf("result %d is not the caller's", i)
				}
				if got := x.Float32s()[0]; got != float32(i+2) {
					t.Errorf("result %d is %v, want %d", i, got, i+2)
				}
			}
		}

		outer(nn.Call(&generic[*ebb.Tensor, *ebb.Tensor]{func(x *ebb.Tensor) *ebb.Tensor {
			inner(t, s, x)
			return x.AddScalar(1)
		}}, one))

		list := []*ebb.Tensor{one, nil, one}
		got := nn.Call(&generic[[]*ebb.Tensor, []*ebb.Tensor]{func(xs []*ebb.Tensor) []*ebb.Tensor {
			inner(t, s, xs...)
			return []*ebb.Tensor{xs[0].AddScalar(1), xs[2].AddScalar(2), xs[1]}
		}}, list)
		outer(got[:2]...)
		if got[2] != nil || list[0] != one || list[1] != nil {
			t.Error("nil did not stay nil, or the caller's slice was changed")
		}

		in := &attention{Query: one, Key: ebb.Ones(st, ebb.Shape{2}), Masks: []*ebb.Tensor{one}, Heads: 3, hidden: one}
		kept := *in
		out := nn.Call(&generic[*attention, output]{func(a *attention) output {
			inner(t, s, a.Query, a.Key, a.Masks[0])
			if a == in || a.Heads != 3 || a.hidden != one || a.Config != nil {
				t.Error("the argument is the caller's struct, or lost a field")
			}
			sum := a.Query.Add(a.Key)
			return output{
				Y: sum, State: [2]*ebb.Tensor{sum.AddScalar(1), sum.AddScalar(2)},
				Named: map[string]*ebb.Tensor{"b": sum.AddScalar(4), "a": sum.AddScalar(3)},
				More:  []*ebb.Tensor{sum.AddScalar(5)},
				Next:  &output{Y: sum.AddScalar(6)},
			}
		}}, in)
		if in.Query != kept.Query || in.Key != kept.Key || in.Masks[0] != one {
			t.Error("the caller's struct was changed")
		}
		outer(out.Y, out.State[0], out.State[1], out.Named["a"], out.Named["b"], out.More.([]*ebb.Tensor)[0], out.Next.Y)

		var any1 any = nn.Call(&generic[any, any]{func(x any) any { return x.(*ebb.Tensor).AddScalar(1) }}, any(one))
		outer(any1.(*ebb.Tensor))
		if y := nn.Call(&generic[*ebb.Tensor, any]{func(*ebb.Tensor) any { return nil }}, one); y != nil {
			t.Errorf("nil became %v", y)
		}
		if y := nn.Call(&generic[*ebb.Tensor, *output]{func(*ebb.Tensor) *output { return nil }}, one); y != nil {
			t.Errorf("nil became %v", y)
		}
		if n := nn.Call(&generic[*ebb.Tensor, int]{func(*ebb.Tensor) int { return 7 }}, one); n != 7 {
			t.Errorf("a number became %d", n)
		}
		// What is inferred without help: a model, and a module by its interface.
		outer(nn.Call(nn.Module(function(func(x *ebb.Tensor) *ebb.Tensor { return x.AddScalar(1) })), one))
	})
}

func TestCallIsAScope(t *testing.T) {
	rt, st := newModelStore(t)
	w := ebb.Ones(st, ebb.Shape{2})
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{2})
		before := rt.Stats()
		var zeros, product *ebb.Tensor
		var scope *ebb.Scope
		y := nn.Call(&layer{func(x *ebb.Tensor) *ebb.Tensor {
			scope = x.Scope()
			if !scope.NoGrad() {
				t.Error("the call's scope records a graph inside NoGrad")
			}
			zeros = x.NewZeros(5)
			product = x.Mul(w)
			if zeros.Scope() != scope || product.Scope() != scope {
				t.Error("what the call makes does not lie in its scope")
			}
			return product.Add(x)
		}}, x)
		if !scope.Closed() || !zeros.Released() || !product.Released() {
			t.Error("the call's scope is open, or what it made lives")
		}
		after := rt.Stats()
		if n := after.Tensors - before.Tensors; n != 1 || after.Live.Current-before.Live.Current != 8 || after.Owners != before.Owners {
			t.Errorf("a call left %d tensors, %d bytes, %d owners", n, after.Live.Current-before.Live.Current, after.Owners-before.Owners)
		}
		if y.Scope() != s {
			t.Error("the result is not the caller's")
		}
	})
}

func TestCallResultsThatAreOthers(t *testing.T) {
	rt, st := newModelStore(t)
	w := ebb.Ones(st, ebb.Shape{2}).SetRequiresGrad(true)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{2, 2})
		young := s.NewScope("younger")
		call := func(f func(x *ebb.Tensor) *ebb.Tensor) *ebb.Tensor { return nn.Call(&layer{f}, x) }

		flat(t, rt, func() {
			if y := call(func(x *ebb.Tensor) *ebb.Tensor { return x }); !y.SharesStorage(x) || y.Scope() != s {
				t.Error("an argument came back as another")
			}
			if y := call(func(x *ebb.Tensor) *ebb.Tensor { return x.T() }); !y.SharesStorage(x) || y.Scope() != s || y.Add(y).Scope() != s {
				t.Error("a view of an argument came back as another")
			}
			s.Recycle(x)
			y := call(func(*ebb.Tensor) *ebb.Tensor { return w })
			if !y.SharesStorage(w) || y.Scope() != s || !y.RequiresGrad() || y.Store() != st {
				t.Error("a weight came back as another, or is not directed to the caller's scope")
			}
			if y := call(func(*ebb.Tensor) *ebb.Tensor { return w.T().View(1, 2) }); !y.SharesStorage(w) || y.Scope() != s {
				t.Error("a view of a weight came back as another")
			}
			if y := call(func(*ebb.Tensor) *ebb.Tensor { return nil }); y != nil {
				t.Error("nil came back as a tensor")
			}
			if y := call(func(*ebb.Tensor) *ebb.Tensor { return x.In(young) }); y.Scope() != s {
				t.Error("an argument directed to a younger scope came back so")
			}
			if y := call(func(*ebb.Tensor) *ebb.Tensor { return ebb.Ones(young, ebb.Shape{1}) }); y.Scope() != young {
				t.Error("a tensor of a younger scope lost it")
			}
			young.Recycle()
		})

		// A view of what the call computed keeps the whole, with its graph.
		y := call(func(x *ebb.Tensor) *ebb.Tensor { return x.Mul(w).Select(0, 1) })
		y.Sum().Backward()
		if d := cmp.Diff([]float32{1, 1}, w.Grad().Float32s()); d != "" {
			t.Error(d)
		}
		w.ZeroGrad()

		// One tensor twice, and a view of it.
		out := nn.Call(&generic[*ebb.Tensor, []*ebb.Tensor]{func(x *ebb.Tensor) []*ebb.Tensor {
			z := x.Mul(w)
			return []*ebb.Tensor{z, z, z.T()}
		}}, x)
		for i, y := range out {
			if !y.SharesStorage(out[0]) || y.Scope() != s || y.Released() {
				t.Errorf("result %d of one tensor given thrice", i)
			}
		}
		out[0].Add(out[1]).Add(out[2]).Sum().Backward()
		if d := cmp.Diff([]float32{6, 6}, w.Grad().Float32s()); d != "" {
			t.Error(d)
		}
	})
}

func TestCallLandsInTheYoungestScope(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		young := s.NewScope("younger")
		x, y := ebb.Ones(s, ebb.Shape{1}), ebb.Ones(young, ebb.Shape{1})
		z := nn.Call(&generic[[]*ebb.Tensor, *ebb.Tensor]{func(xs []*ebb.Tensor) *ebb.Tensor { return xs[0].Add(xs[1]) }}, []*ebb.Tensor{x, y})
		if z.Scope() != young {
			t.Error("the result does not lie in the youngest scope of the arguments")
		}
	})
}

func TestCallErrors(t *testing.T) {
	rt, st := newModelStore(t)
	w := ebb.Ones(st, ebb.Shape{2})
	identity := &layer{func(x *ebb.Tensor) *ebb.Tensor { return x }}
	flat(t, rt, func() {
		wantError(t, ebb.ErrNoScope, func() { nn.Call(identity, w) }, "x.In(scope)")
		wantError(t, ebb.ErrNoScope, func() { nn.Chain(w, identity) }, "x.In(scope)")
		wantError(t, ebb.ErrNoScope, func() { nn.Call(&generic[int, int]{func(int) int { return 0 }}, 1) })
	})
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{2})
		flat(t, rt, func() {
			// A panic of any sort closes the scope and goes on.
			boom := errors.New("boom")
			func() {
				defer func() {
					if r := recover(); r != boom {
						t.Errorf("recovered %v", r)
					}
				}()
				nn.Call(&layer{func(x *ebb.Tensor) *ebb.Tensor {
					return nn.Call(&layer{func(x *ebb.Tensor) *ebb.Tensor {
						x.AddScalar(1)
						panic(boom)
					}}, x.AddScalar(1))
				}}, x)
			}()
			wantError(t, ebb.ErrShape, func() {
				nn.Chain(x, identity, &layer{func(x *ebb.Tensor) *ebb.Tensor { return x.AddScalar(1).MatMul(x.NewOnes(3, 3)) }})
			}, "matmul")
			wantError(t, ebb.ErrReleased, func() {
				nn.Call(&layer{func(x *ebb.Tensor) *ebb.Tensor {
					sub := x.Scope().NewScope("sub")
					defer sub.Close()
					return x.In(sub).AddScalar(1)
				}}, x)
			}, "call_test.go")
			wantError(t, ebb.ErrValue, func() { nn.Chain(x, &layer{func(*ebb.Tensor) *ebb.Tensor { return nil }}, identity) })
			other := newRuntime(t)
			run(t, other, ebb.NoGrad, func(o *ebb.Scope) {
				y := ebb.Ones(o, ebb.Shape{1})
				wantError(t, ebb.ErrRuntime, func() { nn.Call(&layer{func(*ebb.Tensor) *ebb.Tensor { return y }}, x) })
			})
		})
		sub := s.NewScope("sub")
		wantError(t, ebb.ErrClosed, func() {
			nn.Call(&layer{func(x *ebb.Tensor) *ebb.Tensor {
				sub.Close()
				return x
			}}, x.In(sub))
		})
	})
}

// keeper keeps what it computed in a field.
type keeper struct{ Last *ebb.Tensor }

func (k *keeper) Forward(x *ebb.Tensor) *ebb.Tensor {
	k.Last = x.AddScalar(1)
	return k.Last.AddScalar(1)
}

func TestKeptTensorIsReleased(t *testing.T) {
	rt := newRuntime(t)
	k := &keeper{}
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		nn.Call(k, ebb.Ones(s, ebb.Shape{1}))
		e := wantError(t, ebb.ErrReleased, func() { k.Last.AddScalar(1) }, "made at nn/call_test.go", "MoveTo")
		if !e.Allocated.Known() || !e.Released.Known() {
			t.Error("the error lacks a site")
		}
	})
}

func TestChainFreesWhatIsBetween(t *testing.T) {
	rt, st := newModelStore(t)
	w := ebb.Ones(st, ebb.Shape{1000}).SetRequiresGrad(true)
	const n = 4000 // bytes of a tensor
	var during []int64
	step := func(f func(x *ebb.Tensor) *ebb.Tensor) nn.Module {
		return &layer{func(x *ebb.Tensor) *ebb.Tensor {
			y := f(x)
			during = append(during, rt.Stats().Live.Current)
			return y
		}}
	}
	add := step(func(x *ebb.Tensor) *ebb.Tensor { return x.AddScalar(1) })
	mul := step(func(x *ebb.Tensor) *ebb.Tensor { return x.Mul(w) })
	same := step(func(x *ebb.Tensor) *ebb.Tensor { return x })
	view := step(func(x *ebb.Tensor) *ebb.Tensor { return x.View(10, 100).View(1000) })
	for _, mode := range []ebb.Mode{ebb.NoGrad, ebb.EnableGrad} {
		for name, m := range map[string]func(x *ebb.Tensor, layers ...nn.Module) *ebb.Tensor{
			"Chain":      nn.Chain,
			"Sequential": func(x *ebb.Tensor, layers ...nn.Module) *ebb.Tensor { return nn.NewSequential(layers...).Forward(x) },
			"Call":       func(x *ebb.Tensor, layers ...nn.Module) *ebb.Tensor { return nn.Call(nn.NewSequential(layers...), x) },
		} {
			run(t, rt, mode, func(s *ebb.Scope) {
				x := ebb.Ones(s, ebb.Shape{1000})
				before := rt.Stats().Live.Current
				during = nil
				y := m(x, add, mul, same, add, view, mul, add)
				want := []int64{n, 2 * n, n, 2 * n, n, 2 * n, 2 * n}
				if mode == ebb.EnableGrad { // mul keeps its operand
					want = []int64{n, 2 * n, 2 * n, 3 * n, 2 * n, 3 * n, 4 * n}
				}
				for i := range during {
					during[i] -= before
				}
				if d := cmp.Diff(want, during); d != "" {
					t.Errorf("%s, mode %v: live bytes in each layer (-want +got):\n%s", name, mode, d)
				}
				if got := y.Float32s()[0]; got != 4 {
					t.Errorf("result %v, want 4", got)
				}
				if x.Released() {
					t.Error("the caller's argument was released")
				}
			})
		}
	}
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{1})
		if nn.Chain(x) != x {
			t.Error("an empty chain returns another tensor")
		}
	})
}

func TestChainKeepsWhatIsNotItsOwn(t *testing.T) {
	rt, st := newModelStore(t)
	w := ebb.Ones(st, ebb.Shape{2})
	next := &layer{func(x *ebb.Tensor) *ebb.Tensor { return x.AddScalar(1) }}
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		x, other := ebb.Ones(s, ebb.Shape{2}), ebb.Ones(s, ebb.Shape{2})
		for name, kept := range map[string]*ebb.Tensor{"a weight": w, "a tensor of the caller's": other, "the input": x} {
			y := nn.Chain(x, next, &layer{func(*ebb.Tensor) *ebb.Tensor { return kept }}, next, next)
			if kept.Released() {
				t.Fatalf("%s that a layer returned was released", name)
			}
			if got := y.Float32s()[0]; got != 3 {
				t.Errorf("%s: result %v, want 3", name, got)
			}
		}
		if y := nn.Chain(x, next, &layer{func(*ebb.Tensor) *ebb.Tensor { return w }}); !y.SharesStorage(w) || y.Scope() != s {
			t.Error("a weight that the last layer returned is another, or not directed to the caller's scope")
		}
	})
}

func TestReLUInPlace(t *testing.T) {
	rt, st := newModelStore(t)
	first, second := nn.NewLinear(st, 2, 3), nn.NewLinear(st, 3, 2)
	x := ebb.Rand(st, ebb.Shape{5, 2}, ebb.Input)
	var want []float32
	for name, forward := range map[string]func(act *nn.ReLU, x *ebb.Tensor) *ebb.Tensor{
		"Call": func(act *nn.ReLU, x *ebb.Tensor) *ebb.Tensor {
			return nn.Call(act, nn.Call(second, nn.Call(act, nn.Call(first, x))))
		},
		"Chain":          func(act *nn.ReLU, x *ebb.Tensor) *ebb.Tensor { return nn.Chain(x, first, act, second, act) },
		"first in Chain": func(act *nn.ReLU, x *ebb.Tensor) *ebb.Tensor { return nn.Chain(nn.Call(first, x), act, second, act) },
	} {
		for _, act := range []*nn.ReLU{{}, {InPlace: true}} {
			run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
				var got []float32
				forward(act, x.In(s)).Sum().Backward()
				for _, p := range nn.Parameters([]nn.Module{first, second}) {
					got = append(got, p.Grad().Float32s()...)
					p.ZeroGrad()
				}
				if want == nil {
					want = got
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s, in place %t: gradients (-want +got):\n%s", name, act.InPlace, d)
				}
			})
		}
	}
}
