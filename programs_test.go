package ebb_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// program is a random sequence of operations, views and changes in place on
// tensors, each made from those before it.
type program struct {
	shapes [][]int // of the inputs
	steps  []step
}

// step appends a tensor, made from those at a and b, which broadcast.
type step struct {
	name string
	f    func(a, b *ebb.Tensor) *ebb.Tensor
	a, b int
}

// randomProgram draws a program. It follows the shapes, so that every step is
// possible; whether autograd takes it is for the engine to say.
func randomProgram(r *rand.Rand) program {
	var p program
	for range 1 + r.IntN(3) {
		p.shapes = append(p.shapes, []int{2, 3})
	}
	shapes := append([][]int{}, p.shapes...)
	for range 3 + r.IntN(8) {
		a := r.IntN(len(shapes))
		var s step
		shape := shapes[a]
		same := []int{}
		for i, sh := range shapes {
			if fmt.Sprint(sh) == fmt.Sprint(shape) {
				same = append(same, i)
			}
		}
		b := same[r.IntN(len(same))]
		switch k := r.IntN(16); {
		case k == 0:
			s = step{name: "add", f: (*ebb.Tensor).Add}
		case k == 1:
			s = step{name: "mul", f: (*ebb.Tensor).Mul}
		case k == 2:
			s = step{name: "sin", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Sin() }}
		case k == 3:
			s = step{name: "clone", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Clone() }}
		case k == 4:
			s = step{name: "expand", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Expand(append([]int{2}, a.Shape()...)...) }}
			shape = append([]int{2}, shape...)
		case k == 5:
			s = step{name: "exp", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.MulScalar(0.3).Exp() }}
		case k <= 7 && len(shape) == 2:
			s = step{name: "t", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.T() }}
			shape = []int{shape[1], shape[0]}
		case k == 8 && len(shape) > 0:
			d := r.IntN(len(shape))
			i := r.IntN(shape[d])
			s = step{name: fmt.Sprintf("select %d %d", d, i), f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Select(d, i) }}
			shape = append(append([]int{}, shape[:d]...), shape[d+1:]...)
		case k == 9 && len(shape) > 0 && shape[0] > 1:
			s = step{name: "narrow", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Narrow(0, 1, a.Size(0)-1) }}
			shape = append([]int{shape[0] - 1}, shape[1:]...)
		case k == 10 && len(shape) == 2:
			s = step{name: "reshape", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Reshape(-1) }}
			shape = []int{shape[0] * shape[1]}
		case k == 11:
			s = step{name: "add_", f: (*ebb.Tensor).Add_}
		case k == 12:
			s = step{name: "mul_", f: (*ebb.Tensor).Mul_}
		case k == 13:
			s = step{name: "copy_", f: (*ebb.Tensor).Copy_}
		case k == 14:
			s = step{name: "sin_", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Sin_() }}
		case k == 15:
			s = step{name: "zero_", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Zero_() }}
		default:
			s = step{name: "neg", f: func(a, _ *ebb.Tensor) *ebb.Tensor { return a.Neg() }}
		}
		s.a, s.b = a, b
		p.steps = append(p.steps, s)
		shapes = append(shapes, shape)
	}
	return p
}

func (p program) String() string {
	var b strings.Builder
	for i, s := range p.steps {
		fmt.Fprintf(&b, "\n\tx%d = %s(x%d, x%d)", len(p.shapes)+i, s.name, s.a, s.b)
	}
	return b.String()
}

// run runs the program and returns its last tensors, which reach most others.
// Inputs are cloned, so that they can be changed in place.
func (p program) run(in []*ebb.Tensor) []*ebb.Tensor {
	var xs []*ebb.Tensor
	for _, x := range in {
		xs = append(xs, x.Clone())
	}
	for _, s := range p.steps {
		xs = append(xs, s.f(xs[s.a], xs[s.b]))
	}
	total := xs[len(xs)-1].Mul(xs[len(xs)-1]).Sum()
	for i, x := range xs[:len(xs)-1] {
		total = total.Add(x.Sin().MulScalar(0.5 + float64(i)).Sum())
	}
	return []*ebb.Tensor{total}
}

// tame reports whether the result is small enough for differences.
func (p program) tame(rt *ebb.Runtime, in []*ebb.Tensor) bool {
	total := 0.0
	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		var xs []*ebb.Tensor
		for _, x := range in {
			xs = append(xs, x.In(s))
		}
		total = p.run(xs)[0].Item()
		return nil
	})
	return err != nil || math.Abs(total) < 1e4
}

// failing runs the program and Backward with the nth allocation failing, for
// every n, in a scope of its own. Each leaves nothing.
func (p program) failing(t *testing.T, seed int, rt *ebb.Runtime, in []*ebb.Tensor) {
	before := rt.Stats()
	for n := 1; n < 1000; n++ {
		rt.FailNthAllocation(n)
		err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			s.Call(ebb.Region{Name: "call"}, in, p.run)[0].Backward()
			return nil
		})
		rt.FailNthAllocation(0)
		if err == nil {
			for _, x := range in {
				x.ZeroGrad()
			}
		} else if !errors.Is(err, ebb.ErrOutOfMemory) {
			t.Errorf("seed %d: allocation %d failed: %v%v", seed, n, err, p)
		}
		after := rt.Stats()
		if after.Live.Current != before.Live.Current || after.Tensors != before.Tensors || after.Nodes != before.Nodes || after.Owners != before.Owners || after.Leases != 0 {
			t.Errorf("seed %d: after allocation %d failed: %d bytes, %d tensors, %d nodes, %d owners left%v", seed, n,
				after.Live.Current-before.Live.Current, after.Tensors-before.Tensors, after.Nodes-before.Nodes, after.Owners-before.Owners, p)
		}
		if err == nil {
			return
		}
	}
}

// TestRandomPrograms compares the gradients of random programs of views and
// changes in place with finite differences. Autograd may refuse a program, as
// PyTorch's does, but not give a wrong gradient, and it must leave nothing.
func TestRandomPrograms(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 50
	}
	refused := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		p := randomProgram(r)
		rt := ebb.NewRuntime()
		st := rt.NewStore("inputs")
		var in []*ebb.Tensor
		for _, shape := range p.shapes {
			data := make([]float64, shape[0]*shape[1])
			for i := range data {
				data[i] = r.NormFloat64()
			}
			in = append(in, ebb.FromSliceWith(st, data, shape, ebb.RequiresGrad))
		}
		if !p.tame(rt, in) {
			st.Close()
			continue
		}
		before := rt.Stats()
		err := ebb.GradCheck(p.run, in, ebb.GradCheckTolerance(1e-5, 1e-4))
		if err == nil && seed%4 == 0 {
			err = ebb.GradGradCheck(p.run, in, ebb.GradCheckTolerance(1e-4, 1e-3))
		}
		switch {
		case err == nil:
		case errors.Is(err, ebb.ErrModified), errors.Is(err, ebb.ErrValue), refusedGraph(err):
			refused++
		default:
			t.Errorf("seed %d: %v%v", seed, err, p)
		}
		after := rt.Stats()
		if after.Live.Current != before.Live.Current || after.Tensors != before.Tensors || after.Nodes != before.Nodes || after.Owners != before.Owners {
			t.Errorf("seed %d: %d bytes, %d tensors, %d nodes, %d owners left%v", seed, after.Live.Current-before.Live.Current, after.Tensors-before.Tensors, after.Nodes-before.Nodes, after.Owners-before.Owners, p)
		}
		if err == nil && seed%4 == 1 {
			p.failing(t, seed, rt, in)
		}
		st.Close()
		if err := rt.Close(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if refused > n/2 {
		t.Errorf("%d of %d programs were refused", refused, n)
	}
	t.Logf("%d of %d refused", refused, n)
}

// refusedGraph reports whether err refuses a detached tensor's change, not a
// wrong gradient.
func refusedGraph(err error) bool {
	var e *ebb.Error
	return errors.As(err, &e) && e.Kind == ebb.ErrGraph && e.Op != "gradcheck" && e.Op != "gradgradcheck"
}
