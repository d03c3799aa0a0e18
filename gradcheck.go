package ebb

import (
	"math"

	"github.com/ebb-ml/ebb/internal/site"
)

// gradCheck holds the options of GradCheck.
type gradCheck struct {
	eps, atol, rtol float64
}

// GradCheckOption configures [GradCheck] and [GradGradCheck].
type GradCheckOption func(*gradCheck)

// GradCheckEps sets by how much an element is moved to each side; 1e-6 by
// default.
func GradCheckEps(eps float64) GradCheckOption { return func(g *gradCheck) { g.eps = eps } }

// GradCheckTolerance sets how far a gradient may be from the numerical one n:
// atol + rtol*|n|; 1e-5 and 1e-3 by default.
func GradCheckTolerance(atol, rtol float64) GradCheckOption {
	return func(g *gradCheck) { g.atol, g.rtol = atol, rtol }
}

// GradCheck compares the gradients that autograd computes for f with finite
// differences, element by element, and returns an [ErrGraph] error that says
// where they differ, or nil.
//
// f is called many times, with inputs directed to a new scope each time, and
// must give the same results each time. The inputs that require a gradient are
// checked; they are Float64 leaves, of which no element is seen twice (not
// expanded). Their elements are changed in place meanwhile and restored. All
// Float64 results of f are checked, one element at a time, so inputs and
// results should be small.
//
// It is torch.autograd.gradcheck.
func GradCheck(f func(in []*Tensor) []*Tensor, inputs []*Tensor, opts ...GradCheckOption) (err error) {
	g := gradCheck{eps: 1e-6, atol: 1e-5, rtol: 1e-3}
	for _, o := range opts {
		o(&g)
	}
	defer func() {
		if e, ok := recoverError(recover()); ok {
			err = e
		}
	}()
	return g.run("gradcheck", f, inputs)
}

// GradGradCheck is GradCheck for the gradients of f's gradients, with respect
// to the inputs and to the gradients of the results. It is
// torch.autograd.gradgradcheck.
func GradGradCheck(f func(in []*Tensor) []*Tensor, inputs []*Tensor, opts ...GradCheckOption) (err error) {
	g := gradCheck{eps: 1e-6, atol: 1e-5, rtol: 1e-3}
	for _, o := range opts {
		o(&g)
	}
	defer func() {
		if e, ok := recoverError(recover()); ok {
			err = e
		}
	}()
	if _, e := checkedInputs("gradgradcheck", inputs); e != nil {
		return e
	}
	s := inputs[0].rec.core.newScope(nil, inputs[0].Runtime(), "gradgradcheck", []Mode{EnableGrad}, site.Here(1))
	defer s.Close()

	// The gradient of each result is an input as well.
	all := append([]*Tensor{}, inputs...)
	func() {
		sub := s.NewScope("results")
		defer sub.Close()
		for i, y := range f(directed(inputs, sub)) {
			if y.RequiresGrad() {
				w := make([]float64, y.Numel())
				for k := range w {
					w[k] = math.Sin(float64(3*k+i+1)) + 0.1
				}
				all = append(all, FromSliceWith(s, w, append(Shape{}, y.shape...), RequiresGrad))
			}
		}
	}()
	if len(all) == len(inputs) {
		return newError(ErrGraph, "gradgradcheck", inputs, "no result of the function requires a gradient")
	}
	gradient := func(in []*Tensor) []*Tensor {
		var roots, wanted, found []*Tensor
		for _, y := range f(in[:len(inputs):len(inputs)]) {
			if y.RequiresGrad() {
				roots = append(roots, y)
			}
		}
		for _, x := range in[:len(inputs)] {
			if x.RequiresGrad() {
				wanted = append(wanted, x)
			}
		}
		for _, d := range Grad(roots, wanted, WithGradient(in[len(inputs):]...), CreateGraph, AllowUnused) {
			if d != nil {
				found = append(found, d)
			}
		}
		return found
	}
	return g.run("gradgradcheck", gradient, all)
}

// recoverError returns what was recovered if it is an *Error; any other panic
// goes on.
func recoverError(r any) (*Error, bool) {
	switch r := r.(type) {
	case nil:
		return nil, false
	case *Error:
		return r, true
	default:
		panic(r)
	}
}

func directed(xs []*Tensor, s *Scope) []*Tensor {
	out := make([]*Tensor, len(xs))
	for i, x := range xs {
		out[i] = x.In(s)
	}
	return out
}

// checkedInputs returns the places of the inputs that require a gradient.
func checkedInputs(op string, inputs []*Tensor) ([]int, *Error) {
	var which []int
	for i, x := range inputs {
		if !x.RequiresGrad() {
			continue
		}
		if x.dtype != Float64 {
			return nil, newError(ErrDType, op, inputs, "input %d is %s, which is too coarse for differences", i, x.dtype).advise("use Float64")
		}
		if !x.IsLeaf() {
			return nil, newError(ErrGraph, op, inputs, "input %d was computed", i).advise("give leaves")
		}
		which = append(which, i)
	}
	if len(which) == 0 {
		return nil, newError(ErrGraph, op, inputs, "no input requires a gradient").advise("SetRequiresGrad(true)")
	}
	return which, nil
}

// run checks f at inputs.
func (g gradCheck) run(op string, f func([]*Tensor) []*Tensor, inputs []*Tensor) error {
	which, e := checkedInputs(op, inputs)
	if e != nil {
		return e
	}
	at := site.Here(2)
	co := inputs[0].rec.core
	// in calls use with the results of f in a scope of their own.
	in := func(use func(s *Scope, in, outs []*Tensor)) {
		s := co.newScope(nil, &Runtime{co}, op, []Mode{EnableGrad}, at)
		defer s.Close()
		xs := directed(inputs, s)
		use(s, xs, f(xs))
	}
	values := func() (out [][]float64) {
		in(func(_ *Scope, _, outs []*Tensor) {
			for _, y := range outs {
				var v []float64
				if y.dtype == Float64 {
					v = y.Float64s()
				}
				out = append(out, v)
			}
		})
		return out
	}

	// numeric[i][e] are the derivatives of all results by element e of
	// checked input i.
	numeric := make([][][][]float64, len(which))
	for i, k := range which {
		x := inputs[k]
		data := x.Float64s()
		func() {
			defer g.write(op, x, data)
			numeric[i] = make([][][]float64, len(data))
			moved := append([]float64{}, data...)
			for e := range data {
				moved[e] = data[e] + g.eps
				g.write(op, x, moved)
				up := values()
				moved[e] = data[e] - g.eps
				g.write(op, x, moved)
				down := values()
				moved[e] = data[e]
				for r := range up {
					for k := range up[r] {
						up[r][k] = (up[r][k] - down[r][k]) / (2 * g.eps)
					}
				}
				numeric[i][e] = up
			}
		}()
	}

	var err error
	in(func(s *Scope, xs, outs []*Tensor) {
		wanted := make([]*Tensor, len(which))
		for i, k := range which {
			wanted[i] = xs[k]
		}
		for r, y := range outs {
			if y.dtype != Float64 {
				if y.dtype == Float32 && y.RequiresGrad() {
					err = newError(ErrDType, op, []*Tensor{y}, "result %d is float32, which is too coarse for differences", r)
					return
				}
				continue
			}
			for k := range y.Numel() {
				if err = g.element(op, y, r, k, wanted, which, numeric); err != nil {
					return
				}
			}
		}
	})
	return err
}

// element compares the gradients of element k of result r.
func (g gradCheck) element(op string, y *Tensor, r, k int, wanted []*Tensor, which []int, numeric [][][][]float64) error {
	s := y.rec.core.newScope(nil, y.Runtime(), op, []Mode{EnableGrad}, site.Here(3))
	defer s.Close()
	grads := make([]*Tensor, len(wanted))
	if y.RequiresGrad() {
		one := make([]float64, y.Numel())
		one[k] = 1
		seed := WithGradient(FromSliceWith(s, one, append(Shape{}, y.shape...)))
		for i := range 2 {
			again := Grad([]*Tensor{y.In(s)}, wanted, seed, RetainGraph, AllowUnused)
			if i == 0 {
				grads = again
				continue
			}
			for j := range again {
				if (grads[j] == nil) != (again[j] == nil) || grads[j] != nil && !sameBits(grads[j].Float64s(), again[j].Float64s()) {
					return newError(ErrGraph, op, []*Tensor{y}, "the gradient of result %d by input %d differs from one Backward to the next", r, which[j])
				}
			}
		}
	}
	for i := range wanted {
		got := make([]float64, wanted[i].Numel())
		if grads[i] != nil {
			if grads[i].dtype != Float64 || !sameShape(grads[i].shape, wanted[i].shape) {
				return newError(ErrGraph, op, []*Tensor{y}, "the gradient of input %d is %s%s, the input %s%s", which[i],
					grads[i].dtype, shapeString(grads[i].shape), wanted[i].dtype, shapeString(wanted[i].shape))
			}
			got = grads[i].Float64s()
		}
		for e, a := range got {
			n := numeric[i][e][r][k]
			if !(math.Abs(a-n) <= g.atol+g.rtol*math.Abs(n)) {
				return newError(ErrGraph, op, []*Tensor{y}, "the gradient of element %d of result %d by element %d of input %d is %.9g, by differences %.9g",
					k, r, e, which[i], a, n)
			}
		}
	}
	return nil
}

func sameBits(a, b []float64) bool {
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// write overwrites x's elements, without a graph and without a new tensor.
func (g gradCheck) write(op string, x *Tensor, data []float64) {
	s := x.rec.core.newScope(nil, x.Runtime(), op, []Mode{NoGrad}, site.Here(3))
	defer s.Close()
	x.In(s).Copy_(FromSliceWith(s, data, append(Shape{}, x.shape...)))
}
