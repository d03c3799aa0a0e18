package ebb_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
)

// steps is the length of the long loops, shorter under -short.
func steps(n int) int {
	if testing.Short() {
		return n / 100
	}
	return n
}

// A running total of losses is what most often keeps every step's graph alive:
// here it stays flat, and the two ways to get it wrong are errors.
func TestRunningTotal(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.FromSlice(st, []float32{1, 2, 3}).SetRequiresGrad(true)
	total := ebb.Zeros(st, nil)
	loss := func(s *ebb.Scope) *ebb.Tensor { return w.In(s).Mul(w).Sum() }

	var first, last flat
	var mallocs [2]uint64
	n := steps(100_000)
	for i := range n {
		run(t, rt, func(s *ebb.Scope) { total.Add_(loss(s).Detach()) })
		var m runtime.MemStats
		switch i {
		case n / 10:
			runtime.ReadMemStats(&m)
			first, mallocs[0] = flatOf(rt), m.Mallocs
		case n / 10 * 2:
			runtime.ReadMemStats(&m)
			mallocs[0] = m.Mallocs - mallocs[0]
		case n - n/10 - 1:
			runtime.ReadMemStats(&m)
			mallocs[1] = m.Mallocs
		case n - 1:
			runtime.ReadMemStats(&m)
			last, mallocs[1] = flatOf(rt), m.Mallocs-mallocs[1]
		}
	}
	if first != last {
		t.Errorf("after %d steps %+v, after a tenth %+v", n, last, first)
	}
	// Go's own allocations per step stay as they were.
	if early, late := float64(mallocs[0]), float64(mallocs[1]); late > 1.02*early+100 && !raceDetector {
		t.Errorf("%v Go allocations in a late tenth, %v in an early one", late, early)
	}

	run(t, rt, func(s *ebb.Scope) {
		wantError(t, ebb.ErrOutward, "Detach", func() { total.Add_(loss(s)) })
	})
	sum := total
	run(t, rt, func(s *ebb.Scope) { sum = sum.Add(loss(s)) })
	run(t, rt, func(s *ebb.Scope) {
		wantError(t, ebb.ErrReleased, "total.Add_(x.Detach())", func() { sum = sum.Add(loss(s)) })
	})
}

// A loop that carries state frees what it does not carry.
func TestRecycleBoundsALoop(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		h := ebb.Ones(s, ebb.Shape{1000})
		rt.ResetPeak()
		for range steps(10_000) {
			h = h.Add(h.Mul(h)).Sub(h)
			s.Recycle(h)
		}
		if live := rt.Stats().Live; live.Current != 4000 || live.Peak > 4*4000 {
			t.Errorf("%d bytes live at the end and %d at the peak of a state of 4000", live.Current, live.Peak)
		}
	})
}

// A view of a parameter adds nothing anywhere, however often it is made.
func TestViewsAddNothing(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.Ones(st, ebb.Shape{2, 3}, ebb.RequiresGrad)
	before := flatOf(rt)
	for range steps(100_000) {
		w.T().Narrow(0, 0, 2).Unsqueeze(0).Detach()
	}
	if after := flatOf(rt); after != before {
		t.Errorf("after views %+v, before %+v", after, before)
	}
}

// Everything in a scope dies with it, and says so.
func TestScopeClose(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("batch")
	inner := s.NewScope("inner")
	x := ebb.Ones(s, ebb.Shape{4})
	y := x.In(inner).Add(x)
	view := y.View(2, 2)
	s.Close()
	s.Close()
	inner.Close()
	for name, z := range map[string]*ebb.Tensor{"a tensor": x, "one of a scope below": y, "a view": view} {
		if !z.Released() {
			t.Errorf("%s was not released", name)
		}
		e := caught(t, func() { z.Float32s() })
		if e.Kind != ebb.ErrReleased || !strings.Contains(e.Released.String(), "lifetimes_test.go") || !strings.Contains(e.Allocated.String(), "lifetimes_test.go") {
			t.Errorf("%s: %v", name, e)
		}
	}
	if got := flatOf(rt); got != (flat{}) {
		t.Errorf("after Close: %+v", got)
	}
	wantError(t, ebb.ErrClosed, "batch", func() { s.NewScope("late") })
	wantError(t, ebb.ErrClosed, "batch", func() { ebb.Ones(s, ebb.Shape{1}) })
}

func TestErrorsAndPanicsCloseTheScope(t *testing.T) {
	rt := newRuntime(t)
	for range 3 {
		err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			ebb.Ones(s, ebb.Shape{2}).Add(ebb.Ones(s, ebb.Shape{3}))
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "broadcast") {
			t.Errorf("a wrong shape gave %v", err)
		}
		func() {
			defer func() {
				if r := recover(); r != "the user's own" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
				ebb.Ones(s, ebb.Shape{2})
				panic("the user's own")
			})
		}()
		if got := flatOf(rt); got != (flat{}) {
			t.Fatalf("after an error: %+v", got)
		}
	}
	run(t, rt, func(s *ebb.Scope) { wantValues(t, ebb.Ones(s, ebb.Shape{2}).Add(ebb.Ones(s, ebb.Shape{2})), 2, 2) })
}

// Where results land: the youngest scope among the operands'.
func TestResultsLandInTheYoungestScope(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	w := ebb.Ones(st, ebb.Shape{1})
	old, young := rt.NewScope("old"), rt.NewScope("young")
	defer old.Close()
	defer young.Close()
	x, y := ebb.Ones(old, ebb.Shape{1}), ebb.Ones(young, ebb.Shape{1})
	for name, c := range map[string]struct {
		got  *ebb.Tensor
		want *ebb.Scope
	}{
		"scope and store":        {x.Add(w), old},
		"two scopes":             {x.Add(y), young},
		"two scopes, reversed":   {y.Add(x), young},
		"In a younger":           {x.In(young).Add(w), young},
		"store In":               {w.In(old).Add(w), old},
		"a view of an In":        {x.In(young).View(1).Add(w), young},
		"the result of a result": {x.Add(w).Add(y), young},
	} {
		if s := c.got.Scope(); s.Name() != c.want.Name() {
			t.Errorf("%s: landed in %s, want %s", name, s.Name(), c.want.Name())
		}
	}
	wantError(t, ebb.ErrOutward, "MoveTo", func() { y.In(old) })
	wantError(t, ebb.ErrNoScope, "x.In(scope)", func() { w.Add(w) })
	other := newRuntime(t)
	s2 := other.NewScope("other")
	defer s2.Close()
	wantError(t, ebb.ErrRuntime, "two runtimes", func() { x.Add(ebb.Ones(s2, ebb.Shape{1})) })
	wantError(t, ebb.ErrRuntime, "two runtimes", func() { x.In(s2) })
}

func TestMoveTo(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("kept")
	w := ebb.FromSlice(st, []float32{1, 2, 3, 4}).SetRequiresGrad(true)
	var whole, half, part *ebb.Tensor
	run(t, rt, func(s *ebb.Scope) {
		y := w.In(s).Mul(w)
		whole, half, part = y.MoveTo(st), y.Narrow(0, 2, 2).MoveTo(st), y.Narrow(0, 3, 1).MoveTo(st)
		if !whole.SharesStorage(y) || !half.SharesStorage(y) {
			t.Error("a tensor that covers half of its storage was copied")
		}
		if part.SharesStorage(y) {
			t.Error("a tensor that covers less than half of its storage keeps all of it")
		}
		if whole.RequiresGrad() || part.RequiresGrad() {
			t.Error("a graph left its scope")
		}
		y.Sum().Backward() // x stays valid
	})
	wantValues(t, whole, 1, 4, 9, 16)
	wantValues(t, half, 9, 16)
	wantValues(t, part, 16)
	if live := rt.Stats().Live.Current; live != 16+16+16+4 { // w, its gradient, y, part
		t.Errorf("%d bytes live, want 52", live)
	}
}

// A store that the user forgot is reported with its line and reclaimed; a
// model in use is not, though nobody holds its store.
func TestForgottenStore(t *testing.T) {
	leaks := make(chan ebb.Leak, 10)
	rt := newRuntime(t, ebb.OnLeak(func(l ebb.Leak) { leaks <- l }))
	used := ebb.Ones(rt.NewStore("in use"), ebb.Shape{10})
	ebb.Ones(rt.NewStore("forgotten"), ebb.Shape{1000})
	for range 100 {
		runtime.GC()
		select {
		case l := <-leaks:
			if l.Owner != "forgotten" || l.Bytes != 4000 || !strings.Contains(l.Site.String(), "lifetimes_test.go") {
				t.Errorf("leak %v", l)
			}
			if live := rt.Stats().Live.Current; live != 40 {
				t.Errorf("%d bytes live, want the 40 in use", live)
			}
			wantValues(t, used.Narrow(0, 0, 1), 1)
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
	t.Error("no leak was reported")
}

// A model that only a graph still needs is in use: Backward does not fail
// because the collector came first. When the graph is gone, it is forgotten.
func TestGraphKeepsItsLeaves(t *testing.T) {
	leaks := make(chan ebb.Leak, 10)
	rt := newRuntime(t, ebb.OnLeak(func(l ebb.Leak) { leaks <- l }))
	run(t, rt, func(s *ebb.Scope) {
		loss := func() *ebb.Tensor {
			w := ebb.Ones(rt.NewStore("model"), ebb.Shape{10}, ebb.RequiresGrad)
			return w.T().In(s).Mul(ebb.Ones(s, ebb.Shape{10})).Sum()
		}()
		for range 5 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		loss.Backward()
	})
	for range 1000 {
		runtime.GC()
		select {
		case l := <-leaks:
			if l.Owner != "model" {
				t.Errorf("leak %v", l)
			}
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
	t.Error("the forgotten model was not found")
}

func TestCloseReportsWhatWasOpen(t *testing.T) {
	rt := ebb.NewRuntime()
	x := ebb.Ones(rt.NewStore("left open"), ebb.Shape{5}).SetName("mine")
	err := rt.Close()
	if err == nil || !strings.Contains(err.Error(), "left open") || !strings.Contains(err.Error(), "mine") || !strings.Contains(err.Error(), "lifetimes_test.go") {
		t.Errorf("Close returned %v", err)
	}
	if !x.Released() || rt.Stats().Mapped != 0 {
		t.Error("Close left memory")
	}
	wantError(t, ebb.ErrRuntime, "closed", func() { rt.NewStore("late") })
	if err := rt.Close(); err != nil {
		t.Errorf("a second Close returned %v", err)
	}

	rt = ebb.NewRuntime()
	st := rt.NewStore("left open by an error")
	_ = rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error { ebb.Ones(st, ebb.Shape{-1}); return nil })
	ebb.Ones(st, ebb.Shape{1})
	if err := rt.Close(); err != nil {
		t.Errorf("after another error Close reported its consequence: %v", err)
	}
}

// Read's closure holds a lease: closing meanwhile is safe and does not wait.
func TestCloseDuringRead(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("batch")
	x := ebb.Ones(s, ebb.Shape{100})
	x.Read(func(data []float32) {
		s.Close()
		rt.EmptyCache()
		for _, v := range data {
			if v != 1 {
				t.Fatal("the memory changed under a lease")
			}
		}
		if st := rt.Stats(); st.Live.Current != 400 || st.Leases != 1 {
			t.Errorf("%d bytes and %d leases during the lease", st.Live.Current, st.Leases)
		}
	})
	if live := rt.Stats().Live.Current; live != 0 {
		t.Errorf("%d bytes live after the lease", live)
	}
}

func TestLimit(t *testing.T) {
	rt := newRuntime(t, ebb.Limit(10<<20))
	run(t, rt, func(s *ebb.Scope) {
		x := ebb.Ones(s, ebb.Shape{1 << 20})
		e := caught(t, func() { ebb.Ones(s, ebb.Shape{1 << 20}).Add(x) })
		if e.Kind != ebb.ErrOutOfMemory || e.Memory == nil || e.Memory.Limit != 10<<20 || e.Memory.Asked != 4<<20 || e.Memory.ByKind[ebb.Activation] != 8<<20 {
			t.Errorf("%v", e)
		}
		if len(e.Memory.Holders) != 2 || !strings.Contains(e.Memory.Holders[0].Site.String(), "lifetimes_test.go") {
			t.Errorf("holders %v", e.Memory.Holders)
		}
		s.Recycle()
		ebb.Ones(s, ebb.Shape{1 << 20}) // fits again
	})
	if peak := rt.Stats().MappedPeak; peak > 10<<20 {
		t.Errorf("%d bytes were mapped past the limit", peak)
	}
}

// What a tensor has while it lives becomes another's when it is released. The
// handles that are left still know what happened, and never touch the other.
func TestReleasedTensorsStayReleased(t *testing.T) {
	rt := newRuntime(t)
	w := ebb.FromSlice(rt.NewStore("model"), []float32{1, 2, 3, 4}, 2, 2).SetRequiresGrad(true)
	s := rt.NewScope("loop")
	defer s.Close()
	var old []*ebb.Tensor
	for range 20 {
		a := w.In(s).MulScalar(2)
		old = append(old, a, a.T(), a.Detach(), a.In(s))
		s.Recycle()
	}
	y := w.In(s).MulScalar(3)
	for i, x := range old {
		if !x.Released() || x.Kind() != 0 || x.Version() != 0 || x.HasGrad() || x.Grad() != nil || x.SharesStorage(y) {
			t.Fatalf("tensor %d is not released", i)
		}
		x.SetName("old")
		x.ZeroGrad()
		s.Recycle(x, y)
		for _, f := range []func(){
			func() { x.Add(w) }, func() { w.In(s).Add_(x) }, func() { x.Float32s() }, func() { x.In(s) }, func() { x.MoveTo(s) }, func() { x.Scope() },
		} {
			e := caught(t, f)
			if e.Kind != ebb.ErrReleased && e.Kind != ebb.ErrGraph {
				t.Fatalf("tensor %d: %v", i, e)
			}
			if e.Kind == ebb.ErrReleased && (!strings.Contains(e.Allocated.String(), "lifetimes_test.go") || !strings.Contains(e.Released.String(), "lifetimes_test.go")) {
				t.Fatalf("tensor %d was made at %v and released at %v", i, e.Allocated, e.Released)
			}
		}
	}
	if y.Released() || y.Float32s()[3] != 12 || len(rt.Holdings()) != 2 {
		t.Errorf("the tensor that lives is %v; live are %v", y, rt.Holdings())
	}
	for _, h := range rt.Holdings() {
		if h.Module != "" {
			t.Errorf("%v was renamed", h)
		}
	}
	y.Sum().Backward()
	if g := w.Grad(); g == nil || g.Float32s()[0] != 3 {
		t.Errorf("gradient %v", g)
	}
}
