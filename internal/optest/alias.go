package optest

import (
	"errors"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
)

// sharing is one way to give two operands the same memory.
type sharing struct {
	name string
	fits func(shape []int) bool
	// make returns both operands as views of the one tensor, and what the
	// second then holds in terms of the first's elements.
	second func(x *ebb.Tensor) *ebb.Tensor
}

var sharings = []sharing{
	{"the same tensor", func([]int) bool { return true }, func(x *ebb.Tensor) *ebb.Tensor { return x }},
	{"a view of all of it", func([]int) bool { return true }, func(x *ebb.Tensor) *ebb.Tensor { return x.View(x.Shape()...) }},
	{"its transpose", func(s []int) bool { return len(s) == 2 && s[0] == s[1] }, func(x *ebb.Tensor) *ebb.Tensor { return x.Transpose(0, 1) }},
	{"a part of it, expanded", func(s []int) bool { return len(s) > 0 && s[0] > 1 }, func(x *ebb.Tensor) *ebb.Tensor {
		return x.Narrow(0, 1, 1).Expand(x.Shape()...)
	}},
}

// Alias gives every two operands of one shape and type the same memory: the
// results and gradients are those of copies. In place, operands that overlap
// in part may be refused.
func (tb *Table) Alias(t *testing.T) {
	tb.each(t, Alias, func(t *testing.T, c *Case) {
		for i := range c.In {
			for j := range c.In {
				a, b := c.In[i], c.In[j]
				if i == j || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
					continue
				}
				for _, sh := range sharings {
					if sh.fits(a.Shape) {
						c.alias(t, i, j, sh)
					}
				}
			}
		}
	})
}

// alias gives operand j the memory of operand i.
func (c *Case) alias(t *testing.T, i, j int, sh sharing) {
	rt := newRuntime(t)
	run := func(copied bool) (o outcome, err error) {
		st := rt.NewStore("parameters")
		defer st.Close()
		err = rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			tr := c.prepare(s, st, s, setup{})
			in := c.In[i]
			in.Grad = in.Grad || c.In[j].Grad
			leaf := in.leaf(s, i, in.DType, in.Layout)
			tr.leaves = []*ebb.Tensor{}
			if in.Grad {
				tr.leaves = []*ebb.Tensor{leaf}
			}
			x := leaf
			if c.InPlace {
				x = leaf.Clone()
			}
			tr.in[i], tr.in[j] = x, sh.second(x)
			if copied {
				tr.in[j] = tr.in[j].Clone()
			}
			o = tr.compute(s)
			return nil
		})
		return o, err
	}
	want, err := run(true)
	if err != nil {
		t.Fatalf("operand %s a copy of %s of operand %s: %v", letter(j), sh.name, letter(i), err)
	}
	got, err := run(false)
	if c.InPlace && errors.Is(err, ebb.ErrValue) && sh.name != "the same tensor" && sh.name != "a view of all of it" {
		return
	}
	if err != nil {
		t.Errorf("operand %s is %s of operand %s: %v", letter(j), sh.name, letter(i), err)
		return
	}
	compare(t, "operand "+letter(j)+" is "+sh.name+" of operand "+letter(i), got, want, c.tolerance)
}

// Layouts gives each operand, and all of them, other layouts: results and
// gradients are those of contiguous operands.
func (tb *Table) Layouts(t *testing.T) {
	tb.each(t, Layouts, func(t *testing.T, c *Case) {
		if len(c.In) == 0 {
			return
		}
		rt := newRuntime(t)
		want, err := c.compute(rt, setup{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layouts {
			all := make([]Layout, len(c.In))
			for i := range all {
				all[i] = l
				one := make([]Layout, len(c.In))
				one[i] = l
				if len(c.In) > 1 {
					c.layout(t, rt, one, want)
				}
			}
			c.layout(t, rt, all, want)
		}
	})
}

func (c *Case) layout(t *testing.T, rt *ebb.Runtime, ls []Layout, want outcome) {
	what := ""
	for _, l := range ls {
		what += l.String() + " "
	}
	got, err := c.compute(rt, setup{layouts: ls})
	if err != nil {
		t.Errorf("%soperands: %v", what, err)
		return
	}
	compare(t, what+"operands", got, want, c.tolerance)
}
