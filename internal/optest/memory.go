package optest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// Leaks checks that an operation allocates its results and what the row
// declares saved, and nothing else; that Backward uses that up, that closing
// gives everything back, that operands are not changed, and that the bits are
// the same with and without a graph and from one run to the next.
func (tb *Table) Leaks(t *testing.T) {
	tb.each(t, Leaks, func(t *testing.T, c *Case) {
		plain := c.leaks(t, ebb.NoGrad)
		if t.Failed() {
			return
		}
		graph := c.leaks(t, ebb.EnableGrad)
		compare(t, "with a graph, compared with none", outcome{outs: graph}, outcome{outs: plain}, exactly)
	})
}

// operandScopes makes the row with every operand in an owner of its own.
func (c *Case) operandScopes(rt *ebb.Runtime, st *ebb.Store, mode ebb.Mode) (tr *trial, own []*ebb.Store, s *ebb.Scope) {
	for range c.In {
		own = append(own, rt.NewStore("operand"))
	}
	s = rt.NewScope("results", mode)
	tr = &trial{}
	for i := range c.In {
		one := *c
		one.In = c.In[i : i+1]
		one.Module = nil
		one.InPlace = c.InPlace && i == 0
		x := one.prepare(own[i], st, s, setup{})
		tr.in = append(tr.in, x.in...)
		tr.leaves = append(tr.leaves, x.leaves...)
	}
	base := *c
	base.In = nil
	p := base.prepare(s, st, s, setup{})
	tr.c, tr.rt, tr.call = c, rt, p.call
	tr.leaves = append(tr.leaves, p.leaves...)
	return tr, own, s
}

func (c *Case) leaks(t *testing.T, mode ebb.Mode) []*value {
	rt := newRuntime(t)
	st := rt.NewStore("parameters")
	tr, own, s := c.operandScopes(rt, st, mode)
	graph := ""
	if mode == ebb.NoGrad {
		graph = ", without a graph"
	}
	before := ledgerOf(rt)
	contents, versions := valuesOf(tr.in), make([]int, len(tr.in))
	for i, x := range tr.in {
		versions[i] = x.Version()
	}
	outs := tr.run(s)

	// What came: results, by storage, and what is hidden in the graph.
	var fresh []*ebb.Tensor
	var bytes int64
	anyGraph := false
	for _, out := range outs {
		anyGraph = anyGraph || out.RequiresGrad()
		shared := func(x *ebb.Tensor) bool { return out.SharesStorage(x) }
		if slices.ContainsFunc(tr.in, shared) || slices.ContainsFunc(fresh, shared) || slices.ContainsFunc(tr.leaves, shared) {
			continue
		}
		fresh = append(fresh, out)
		bytes += out.NBytes()
	}
	after := ledgerOf(rt)
	hidden := after.Live - before.Live - bytes
	if got := after.Tensors - before.Tensors; got != len(fresh) {
		t.Errorf("%d tensors were added%s, want %d", got, graph, len(fresh))
	}
	if after.Owners != before.Owners || after.Leases != before.Leases {
		t.Errorf("owners %d, want %d; leases %d, want %d%s", after.Owners, before.Owners, after.Leases, before.Leases, graph)
	}
	if !anyGraph && (hidden != 0 || after.Nodes != before.Nodes) {
		t.Errorf("%d bytes beside the results, %d graph nodes%s", hidden, after.Nodes-before.Nodes, graph)
	}
	if mode == ebb.NoGrad && slices.ContainsFunc(outs, func(x *ebb.Tensor) bool { return !x.IsLeaf() }) {
		t.Error("a result carries a graph in a NoGrad scope")
	}
	results := valuesOf(outs)
	for i, x := range tr.in {
		changed := x.Version() - versions[i]
		switch {
		case c.InPlace && i == 0:
			if changed == 0 {
				t.Errorf("operand a was changed in place, but not its version")
			}
		case tr.in[i].SharesStorage(tr.in[0]) && c.InPlace:
		case changed != 0:
			t.Errorf("the version of operand %s changed by %d", letter(i), changed)
		default:
			if d := diff(valueOf(x), contents[i], 0); d != "" {
				t.Errorf("operand %s was changed: %s", letter(i), d)
			}
		}
	}

	if mode != ebb.NoGrad && anyGraph {
		c.checkBackward(t, tr, s, outs, hidden)
		c.checkSaved(t, rt, own, hidden)
	} else {
		for _, o := range own {
			o.Close()
		}
	}
	s.Close()
	st.Close()
	if d := ledgerOf(rt).diff(emptyLedger()); d != "" {
		t.Errorf("after everything was closed%s: %s", graph, d)
	}
	return results
}

// checkBackward runs the operation twice more with Backward, after which what
// was saved is gone and the leaves hold twice the gradient that Grad gives.
func (c *Case) checkBackward(t *testing.T, tr *trial, s *ebb.Scope, outs []*ebb.Tensor, hidden int64) {
	if c.InPlace || len(tr.leaves) == 0 {
		return
	}
	rt := tr.rt
	before := ledgerOf(rt)
	sub := s.NewScope("again")
	again := *tr
	again.in = nil
	for _, x := range tr.in {
		again.in = append(again.in, x.In(sub))
	}
	first := valuesOf(outs)
	roots, gs := seeds(sub, outs)
	for i := range roots {
		roots[i] = roots[i].In(sub)
	}
	want := valuesOf(ebb.Grad(roots, tr.leaves, ebb.WithGradient(gs...), ebb.AllowUnused, ebb.RetainGraph))
	for range 2 {
		outs := again.run(sub)
		compare(t, "run again", outcome{outs: valuesOf(outs)}, outcome{outs: first}, exactly)
		roots, gs := seeds(sub, outs)
		if len(roots) != 1 {
			break
		}
		start := ledgerOf(rt).Live - gradBytes(tr.leaves)
		roots[0].Backward(ebb.WithGradient(gs...))
		if got := start + gradBytes(tr.leaves) - ledgerOf(rt).Live; got != hidden {
			t.Errorf("Backward gave back %d of %d bytes that the graph held", got, hidden)
		}
	}
	if len(roots) == 1 {
		var got []*value
		for i, x := range tr.leaves {
			got = append(got, valueOf(x.Grad()))
			if want[i] != nil {
				for k := range want[i].data {
					want[i].data[k] *= 2
				}
			}
			x.ZeroGrad()
		}
		compare(t, "two Backwards", outcome{grads: got}, outcome{grads: want}, exactly)
	}
	sub.Close()
	if d := ledgerOf(rt).diff(before); d != "" {
		t.Errorf("after Backward and Close: %s", d)
	}
}

// gradBytes returns the bytes of the leaves' gradients.
func gradBytes(leaves []*ebb.Tensor) (n int64) {
	for _, x := range leaves {
		if g := x.Grad(); g != nil {
			n += g.NBytes()
		}
	}
	return n
}

// checkSaved closes the operands one after another: those the graph saved
// stay. It cannot tell for operands without elements.
func (c *Case) checkSaved(t *testing.T, rt *ebb.Runtime, own []*ebb.Store, hidden int64) {
	var found []string
	for i, o := range own {
		before := ledgerOf(rt).Live
		bytes := int64(numel(c.In[i].Shape)) * int64(c.In[i].DType.Size())
		o.Close()
		if ledgerOf(rt).Live == before && bytes > 0 {
			found = append(found, letter(i))
		}
	}
	if hidden != 0 {
		found = append(found, fmt.Sprintf("%+d", hidden))
	}
	declared := slices.DeleteFunc(strings.Fields(c.Saved), func(f string) bool {
		i := int(f[0] - 'a')
		return i >= 0 && i < len(c.In) && numel(c.In[i].Shape) == 0
	})
	if !slices.Equal(found, declared) {
		t.Errorf("the graph saved %q, the row declares Saved: %q", strings.Join(found, " "), c.Saved)
	}
}

// Failures fails the nth allocation of forward and backward, for every n:
// ErrOutOfMemory, the ledgers as before, and the next try works.
func (tb *Table) Failures(t *testing.T) {
	tb.each(t, Failures, func(t *testing.T, c *Case) {
		rt := newRuntime(t)
		st := rt.NewStore("operands")
		defer st.Close()
		leaves := c.storeLeaves(st)
		try := func() error {
			return rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
				tr := leaves.in(s)
				tr.backward(s, tr.run(s))
				return nil
			})
		}
		clean := func() {
			for _, x := range leaves.leaves {
				x.ZeroGrad()
			}
		}
		before := ledgerOf(rt)
		for n := 1; ; n++ {
			if n > 1000 {
				t.Fatal("more than 1000 allocations")
			}
			rt.FailNthAllocation(n)
			err := try()
			rt.FailNthAllocation(0)
			if err == nil {
				clean()
				break
			}
			if !errors.Is(err, ebb.ErrOutOfMemory) {
				t.Fatalf("allocation %d failed: %v, want ErrOutOfMemory", n, err)
			}
			if d := ledgerOf(rt).diff(before); d != "" {
				t.Fatalf("after allocation %d failed: %s", n, d)
			}
			if err := try(); err != nil {
				t.Fatalf("the try after allocation %d failed: %v", n, err)
			}
			clean()
			if d := ledgerOf(rt).diff(before); d != "" {
				t.Fatalf("after the next try: %s", d)
			}
		}
		if d := ledgerOf(rt).diff(before); d != "" {
			t.Fatalf("after success: %s", d)
		}
	})
}

// stored is a row whose operands lie in a store.
type stored struct {
	c      *Case
	rt     *ebb.Runtime
	leaves []*ebb.Tensor
	in0    []*ebb.Tensor
	call   Func
}

// storeLeaves makes a row's operands in st.
func (c *Case) storeLeaves(st *ebb.Store) *stored {
	sd := &stored{c: c, rt: st.Runtime(), call: c.Call}
	for i, in := range c.In {
		x := in.leaf(st, i, in.DType, in.Layout)
		sd.in0 = append(sd.in0, x)
		if in.Grad {
			sd.leaves = append(sd.leaves, x)
		}
	}
	if c.Module != nil {
		sd.rt.ManualSeed(0)
		params, forward := c.Module(st, ebb.Float32)
		sd.leaves = append(sd.leaves, params...)
		sd.call = forward
	}
	return sd
}

// in directs the operands to s. The one changed in place is a copy.
func (sd *stored) in(s *ebb.Scope) *trial {
	tr := &trial{c: sd.c, rt: sd.rt, leaves: sd.leaves, call: sd.call}
	for i, x := range sd.in0 {
		y := x.In(s)
		if sd.c.InPlace && i == 0 {
			y = y.Clone()
		}
		tr.in = append(tr.in, y)
	}
	return tr
}
