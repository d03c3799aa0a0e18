package optest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// setup is how a trial makes its operands.
type setup struct {
	float64s bool // Float64 in the place of Float32
	layouts  []Layout
	seed     uint64 // of the random stream
}

// trial is a row made ready in a runtime: its operands and parameters.
type trial struct {
	c      *Case
	rt     *ebb.Runtime
	in     []*ebb.Tensor // operands as the operation gets them; one changed in place is a copy
	leaves []*ebb.Tensor // those of in that have a gradient, and parameters
	call   Func
	seed   uint64
}

// newRuntime returns a runtime that is closed, without a leak, when t ends.
func newRuntime(t *testing.T) *ebb.Runtime {
	t.Helper()
	rt := ebb.NewRuntime()
	t.Cleanup(func() {
		if err := rt.Close(); err != nil && !t.Failed() {
			t.Errorf("Close: %v", err)
		}
		if s := rt.Stats(); !t.Failed() && (s.Live.Current != 0 || s.Mapped != 0) {
			t.Errorf("%d bytes live and %d mapped after Close", s.Live.Current, s.Mapped)
		}
	})
	return rt
}

// catch calls f and returns what it panics with if that is an *ebb.Error. It
// does not mark the runtime as failed, so that leaks are still reported.
func catch(f func()) (err *ebb.Error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ebb.Error:
			err = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// leaf makes operand i in o.
func (in Input) leaf(o ebb.Owner, i int, dtype ebb.DType, l Layout) *ebb.Tensor {
	x := laid(o, dtype, in.data(i), in.Shape, l)
	if in.Grad {
		x.SetRequiresGrad(true)
	}
	return x
}

func (su setup) dtype(in Input) ebb.DType {
	if su.float64s && in.DType == ebb.Float32 {
		return ebb.Float64
	}
	return in.DType
}

func (su setup) layout(in Input, i int) Layout {
	if i < len(su.layouts) && in.Layout == Contiguous {
		return su.layouts[i]
	}
	return in.Layout
}

// prepare makes the row's operands: leaves in o, directed to s, and parameters
// in st.
func (c *Case) prepare(o ebb.Owner, st *ebb.Store, s *ebb.Scope, su setup) *trial {
	tr := &trial{c: c, rt: s.Runtime(), call: c.Call, seed: su.seed}
	for i, in := range c.In {
		l := su.layout(in, i)
		if c.InPlace && i == 0 {
			x := in.leaf(o, i, su.dtype(in), Contiguous)
			if in.Grad {
				tr.leaves = append(tr.leaves, x)
			}
			tr.in = append(tr.in, copyOf(x.In(s), l))
			continue
		}
		x := in.leaf(o, i, su.dtype(in), l)
		if in.Grad {
			tr.leaves = append(tr.leaves, x)
		}
		tr.in = append(tr.in, x.In(s))
	}
	if c.Module != nil {
		tr.rt.ManualSeed(0)
		dtype := ebb.Float32
		if su.float64s {
			dtype = ebb.Float64
		}
		params, forward := c.Module(st, dtype)
		tr.leaves = append(tr.leaves, params...)
		tr.call = forward
	}
	return tr
}

// copyOf returns a copy of x in the given layout, which x's gradient flows
// through, to be changed in place.
func copyOf(x *ebb.Tensor, l Layout) *ebb.Tensor {
	if l == Contiguous {
		return x.Clone()
	}
	base, view := frame(x.Shape(), l)
	around := math.NaN()
	if !x.DType().IsFloat() {
		around = 99
	}
	return view(x.NewFull(base, around)).Copy_(x)
}

// run calls the operation on the operands. The random stream starts anew.
func (tr *trial) run(s *ebb.Scope) []*ebb.Tensor {
	tr.rt.ManualSeed(tr.seed)
	outs := tr.call(s, tr.in)
	for i, out := range outs {
		if out == nil {
			panic(fmt.Sprintf("%s: result %d is nil", tr.c.id(), i))
		}
	}
	return outs
}

// weight is the gradient of element i of any result.
func weight(i int) float64 { return float64((i*5+3)%11-5)/4 + 0.125 }

// seeds returns, of outs, those with a gradient, and what flows into them.
func seeds(s *ebb.Scope, outs []*ebb.Tensor) (roots, grads []*ebb.Tensor) {
	for _, out := range outs {
		if out.RequiresGrad() {
			w := make([]float64, out.Numel())
			for i := range w {
				w[i] = weight(i)
			}
			roots = append(roots, out)
			grads = append(grads, fromFloats(s, out.DType(), w, out.Shape()))
		}
	}
	return roots, grads
}

// grads returns the leaves' gradients from outs, nil where there is none.
func (tr *trial) grads(s *ebb.Scope, outs []*ebb.Tensor) []*ebb.Tensor {
	roots, gs := seeds(s, outs)
	if len(roots) == 0 || len(tr.leaves) == 0 {
		return make([]*ebb.Tensor, len(tr.leaves))
	}
	return ebb.Grad(roots, tr.leaves, ebb.WithGradient(gs...), ebb.AllowUnused)
}

// backward is grads by Backward where that is possible.
func (tr *trial) backward(s *ebb.Scope, outs []*ebb.Tensor) {
	if roots, gs := seeds(s, outs); len(roots) == 1 {
		roots[0].Backward(ebb.WithGradient(gs...))
	} else {
		tr.grads(s, outs)
	}
}

// value is a tensor's contents.
type value struct {
	dtype ebb.DType
	shape []int
	data  []float64
}

func valueOf(x *ebb.Tensor) *value {
	if x == nil {
		return nil
	}
	return &value{x.DType(), slices.Clone(x.Shape()), floats(x)}
}

func valuesOf(xs []*ebb.Tensor) []*value {
	out := make([]*value, len(xs))
	for i, x := range xs {
		out[i] = valueOf(x)
	}
	return out
}

// outcome is what a row computes.
type outcome struct {
	outs, grads []*value
}

// compute runs the row in a scope of its own and returns its values.
func (c *Case) compute(rt *ebb.Runtime, su setup) (o outcome, err error) {
	st := rt.NewStore("parameters")
	defer st.Close()
	err = rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		tr := c.prepare(s, st, s, su)
		o = tr.compute(s)
		return nil
	})
	return o, err
}

// compute runs the operation and its gradient.
func (tr *trial) compute(s *ebb.Scope) outcome {
	outs := tr.run(s)
	return outcome{valuesOf(outs), valuesOf(tr.grads(s, outs))}
}

// tolerance returns the row's for a type.
func (c *Case) tolerance(dtype ebb.DType) float64 {
	switch {
	case !dtype.IsFloat():
		return 0
	case c.Tol != 0:
		return c.Tol
	case dtype == ebb.Float64:
		return 1e-12
	}
	return 1e-6
}

// diff says how got differs from want, or "". A missing gradient is zero.
func diff(got, want *value, tol float64) string {
	switch {
	case got == nil && want == nil:
		return ""
	case got == nil:
		got = &value{want.dtype, want.shape, make([]float64, len(want.data))}
	case want == nil:
		want = &value{got.dtype, got.shape, make([]float64, len(got.data))}
	}
	if got.dtype != want.dtype {
		return fmt.Sprintf("type %s, want %s", got.dtype, want.dtype)
	}
	if !slices.Equal(got.shape, want.shape) {
		return fmt.Sprintf("shape %v, want %v", got.shape, want.shape)
	}
	if len(got.data) != len(want.data) {
		return fmt.Sprintf("%d elements, want %d", len(got.data), len(want.data))
	}
	for i, w := range want.data {
		if g := got.data[i]; !near(g, w, tol) {
			return fmt.Sprintf("element %d is %v, want %v (off by %g, tolerance %g)\n\tgot  %v\n\twant %v", i, g, w, g-w, tol, short(got.data), short(want.data))
		}
	}
	return ""
}

func near(g, w, tol float64) bool {
	if math.IsNaN(w) || math.IsNaN(g) {
		return math.IsNaN(w) && math.IsNaN(g)
	}
	if g == w {
		return true
	}
	return math.Abs(g-w) <= tol+tol*math.Abs(w) && !math.IsInf(g, 0) && !math.IsInf(w, 0)
}

func short(v []float64) string {
	if len(v) > 40 {
		return strings.TrimSuffix(fmt.Sprint(v[:40]), "]") + " ...]"
	}
	return fmt.Sprint(v)
}

// compare reports where got differs from want, by tol or by what c allows.
func compare(t *testing.T, what string, got, want outcome, tol func(ebb.DType) float64) {
	t.Helper()
	one := func(kind string, got, want []*value) {
		t.Helper()
		if len(got) != len(want) {
			t.Errorf("%s: %d %ss, want %d", what, len(got), kind, len(want))
			return
		}
		for i := range got {
			dtype := ebb.Float32
			if want[i] != nil {
				dtype = want[i].dtype
			}
			if d := diff(got[i], want[i], tol(dtype)); d != "" {
				t.Errorf("%s: %s %d: %s", what, kind, i, d)
			}
		}
	}
	one("result", got.outs, want.outs)
	one("gradient", got.grads, want.grads)
}

// exactly is the tolerance of values that must be the same bits.
func exactly(ebb.DType) float64 { return 0 }

// ledger is what must be the same before and after.
type ledger struct {
	Live, Count            int64
	ByKind                 map[ebb.Kind]int64
	InUse                  int64
	Owners, Tensors, Nodes int
	Leases                 int
}

func ledgerOf(rt *ebb.Runtime) ledger {
	s := rt.Stats()
	l := ledger{Live: s.Live.Current, Count: s.Live.Count, ByKind: map[ebb.Kind]int64{}, InUse: s.InUse, Owners: s.Owners, Tensors: s.Tensors, Nodes: s.Nodes, Leases: s.Leases}
	for k, v := range s.ByKind {
		l.ByKind[k] = v.Current
	}
	return l
}

// emptyLedger is that of a runtime without tensors.
func emptyLedger() ledger {
	l := ledger{ByKind: map[ebb.Kind]int64{}}
	for _, k := range ebb.Kinds {
		l.ByKind[k] = 0
	}
	return l
}

// diff says where the ledger is not as want, or "".
func (l ledger) diff(want ledger) string {
	if a, b := fmt.Sprintf("%+v", l), fmt.Sprintf("%+v", want); a != b {
		return fmt.Sprintf("\n\tgot  %s\n\twant %s", a, b)
	}
	return ""
}
