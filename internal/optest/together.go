package optest

import (
	"runtime"
	"slices"
	"sync"
	"testing"
)

// Together runs all rows at the same time in one runtime, several times over:
// the bits are those each row has alone, and nothing is left. Rows that draw
// random numbers are left out, since they share the runtime's stream.
func (tb *Table) Together(t *testing.T) {
	type job struct {
		c    *Case
		want outcome
	}
	var jobs []job
	for _, c := range tb.cases {
		if c.Skip[Together] != "" || c.Module != nil {
			continue
		}
		rt := newRuntime(t)
		alone, err := c.compute(rt, setup{})
		if err != nil {
			t.Errorf("%s: %v", c.id(), err)
			continue
		}
		other, err := c.compute(rt, setup{seed: 1})
		if err != nil {
			t.Errorf("%s: %v", c.id(), err)
			continue
		}
		if slices.Equal(printed(alone), printed(other)) {
			jobs = append(jobs, job{c, alone})
		}
	}
	rt := newRuntime(t)
	todo := make(chan job)
	var workers sync.WaitGroup
	for range max(4, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for j := range todo {
				got, err := j.c.compute(rt, setup{})
				if err != nil {
					t.Errorf("%s, together with others: %v", j.c.id(), err)
					continue
				}
				compare(t, j.c.id()+", together with others", got, j.want, exactly)
			}
		})
	}
	for range 3 {
		for _, j := range jobs {
			todo <- j
		}
	}
	close(todo)
	workers.Wait()
	if d := ledgerOf(rt).diff(emptyLedger()); d != "" {
		t.Errorf("afterwards: %s", d)
	}
}

// printed returns o with NaN, which differs from itself, as text.
func printed(o outcome) []string {
	var out []string
	for _, v := range append(o.outs, o.grads...) {
		if v == nil {
			out = append(out, "none")
		} else {
			for _, x := range v.data {
				out = append(out, formatFloat(x))
			}
		}
	}
	return out
}
