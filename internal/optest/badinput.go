package optest

import (
	"errors"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
)

// BadInput gives operands that no operation takes: a typed error of the right
// kind, and nothing held afterwards.
func (tb *Table) BadInput(t *testing.T) {
	tb.each(t, BadInput, func(t *testing.T, c *Case) {
		if len(c.In) == 0 {
			return
		}
		rt := newRuntime(t)
		st := rt.NewStore("operands")
		defer st.Close()
		sd := c.storeLeaves(st)
		for i := range c.In {
			c.released(t, sd, st, i)
			if len(c.In) > 1 {
				c.foreign(t, sd, i)
			}
		}
		c.storesAlone(t, sd)
		c.closedScope(t, sd)
		c.closedRuntime(t)
	})
}

// expect runs f, which must fail with kind and leave rt's ledger as it was.
func expect(t *testing.T, what string, rt *ebb.Runtime, kind ebb.ErrorKind, f func()) {
	t.Helper()
	before := ledgerOf(rt)
	e := catch(f)
	switch {
	case e == nil:
		t.Errorf("%s: no error, want %v", what, kind)
		return
	case !errors.Is(e, kind):
		t.Errorf("%s: %v, want %v", what, e, kind)
	case e.Op == "":
		t.Errorf("%s: the error names no operation: %v", what, e)
	}
	if d := ledgerOf(rt).diff(before); d != "" {
		t.Errorf("after %s: %s", what, d)
	}
}

// use uses results that may be an operand itself.
func use(outs []*ebb.Tensor) {
	for _, out := range outs {
		floats(out)
	}
}

func (c *Case) released(t *testing.T, sd *stored, st *ebb.Store, i int) {
	gone := st.NewStore("released")
	x := c.In[i].leaf(gone, i, c.In[i].DType, c.In[i].Layout)
	s := sd.rt.NewScope("results")
	defer s.Close()
	tr := sd.in(s)
	tr.in[i] = x.In(s)
	gone.Close()
	expect(t, "operand "+letter(i)+" is released", sd.rt, ebb.ErrReleased, func() { use(tr.run(s)) })
}

func (c *Case) foreign(t *testing.T, sd *stored, i int) {
	other := newRuntime(t)
	ost := other.NewStore("other")
	defer ost.Close()
	x := c.In[i].leaf(ost, i, c.In[i].DType, c.In[i].Layout)
	os := other.NewScope("other")
	defer os.Close()
	before := ledgerOf(other)
	s := sd.rt.NewScope("results")
	defer s.Close()
	tr := sd.in(s)
	tr.in[i] = x.In(os)
	expect(t, "operand "+letter(i)+" is another runtime's", sd.rt, ebb.ErrRuntime, func() { tr.run(s) })
	if d := ledgerOf(other).diff(before); d != "" {
		t.Errorf("in the other runtime: %s", d)
	}
}

// aliases reports whether the results need no memory of their own.
func aliases(outs, in []*ebb.Tensor) bool {
	return !slices.ContainsFunc(outs, func(out *ebb.Tensor) bool {
		return !slices.ContainsFunc(in, out.SharesStorage)
	})
}

func (c *Case) storesAlone(t *testing.T, sd *stored) {
	if c.InPlace {
		return // fits a store
	}
	s := sd.rt.NewScope("unused")
	defer s.Close()
	before := ledgerOf(sd.rt)
	var outs []*ebb.Tensor
	e := catch(func() { outs = (&trial{c: c, rt: sd.rt, in: sd.in0, call: sd.call}).run(s) })
	switch {
	case e == nil && !aliases(outs, sd.in0):
		t.Error("operands of a store alone: no error, want no scope")
	case e != nil && !errors.Is(e, ebb.ErrNoScope):
		t.Errorf("operands of a store alone: %v, want no scope", e)
	}
	if d := ledgerOf(sd.rt).diff(before); d != "" {
		t.Errorf("after operands of a store alone: %s", d)
	}
}

func (c *Case) closedScope(t *testing.T, sd *stored) {
	s := sd.rt.NewScope("results")
	if c.InPlace {
		s.Close()
		return // the operand is released then
	}
	tr := sd.in(s)
	s.Close()
	before := ledgerOf(sd.rt)
	var outs []*ebb.Tensor
	e := catch(func() { outs = tr.run(s) })
	switch {
	case e == nil && !aliases(outs, sd.in0):
		t.Error("the scope is closed: no error, want closed")
	case e != nil && !errors.Is(e, ebb.ErrClosed):
		t.Errorf("the scope is closed: %v, want closed", e)
	}
	if d := ledgerOf(sd.rt).diff(before); d != "" {
		t.Errorf("after a closed scope: %s", d)
	}
}

func (c *Case) closedRuntime(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("operands")
	sd := c.storeLeaves(st)
	s := rt.NewScope("results")
	tr := sd.in(s)
	if err := rt.Close(); !errors.Is(err, ebb.ErrLeak) {
		t.Fatalf("Close: %v, want a leak", err)
	}
	e := catch(func() { use(tr.run(s)) })
	if e == nil || !errors.Is(e, ebb.ErrRuntime) && !errors.Is(e, ebb.ErrReleased) {
		t.Errorf("the runtime is closed: %v, want runtime or released", e)
	}
}
