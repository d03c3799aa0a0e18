package optest

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// GradChecks compares the gradients of every row, in Float64, with finite
// differences, and the gradients of the gradients.
func (tb *Table) GradChecks(t *testing.T) {
	tb.each(t, GradCheck, func(t *testing.T, c *Case) {
		c.gradCheck(t, ebb.GradCheck)
	})
}

// GradGradChecks is GradChecks for gradients of gradients.
func (tb *Table) GradGradChecks(t *testing.T) {
	tb.each(t, GradGrad, func(t *testing.T, c *Case) {
		c.gradCheck(t, ebb.GradGradCheck)
	})
}

func (c *Case) gradCheck(t *testing.T, check func(func([]*ebb.Tensor) []*ebb.Tensor, []*ebb.Tensor, ...ebb.GradCheckOption) error) {
	if !finite(c.In) {
		return
	}
	rt := newRuntime(t)
	st := rt.NewStore("operands")
	defer st.Close()
	inputs := make([]*ebb.Tensor, 0, len(c.In))
	for i, in := range c.In {
		inputs = append(inputs, in.leaf(st, i, setup{float64s: true}.dtype(in), in.Layout))
	}
	call, nin := Func(c.Call), len(inputs)
	if c.Module != nil {
		rt.ManualSeed(0)
		params, forward := c.Module(st, ebb.Float64)
		inputs, call = append(inputs, params...), forward
	}
	differentiable := false
	f := func(in []*ebb.Tensor) []*ebb.Tensor {
		s := in[0].Scope()
		in = append([]*ebb.Tensor{}, in[:nin]...)
		if c.InPlace {
			in[0] = in[0].Clone()
		}
		rt.ManualSeed(0)
		outs := call(s, in)
		for _, out := range outs {
			differentiable = differentiable || out.RequiresGrad()
		}
		return outs
	}
	if nin == 0 || !c.anyGrad(inputs) {
		return
	}
	if err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		in := make([]*ebb.Tensor, len(inputs))
		for i, x := range inputs {
			in[i] = x.In(s)
		}
		f(in)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !differentiable {
		return
	}
	before := ledgerOf(rt)
	if err := check(f, inputs); err != nil {
		t.Error(err)
	}
	if d := ledgerOf(rt).diff(before); d != "" {
		t.Errorf("after the check: %s", d)
	}
}

func (c *Case) anyGrad(inputs []*ebb.Tensor) bool {
	for _, x := range inputs {
		if x.RequiresGrad() {
			return true
		}
	}
	return false
}
