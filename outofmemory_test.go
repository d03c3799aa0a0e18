package ebb_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// says checks that a text has the given words, in order.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	rest := text
	for _, w := range words {
		i := strings.Index(rest, w)
		if i < 0 {
			t.Errorf("%q is missing, or not in its place, in:\n%s", w, text)
			return
		}
		rest = rest[i+len(w):]
	}
}

func TestOutOfMemoryExhausted(t *testing.T) {
	rt := newRuntime(t, ebb.Limit(8<<20))
	model := rt.NewStore("model")
	w := ebb.Ones(model, ebb.Shape{1 << 18}, ebb.Parameter).SetName("fc1")
	s := rt.NewScope("batch")
	for range 2 {
		ebb.Ones(s, ebb.Shape{1 << 18})
	}
	var e *ebb.Error
	x := w.Reshape(1<<18, 1)
	e = caught(t, func() { x.In(s).MatMul(ebb.Ones(s, ebb.Shape{1, 8})) })
	m := e.Memory
	if m == nil || m.Asked != 8<<20 || m.Rounded != 8<<20 || m.Live != 3<<20+64 && m.Live < 3<<20 || m.Fragmented() || m.Refusal != "" {
		t.Fatalf("%+v", m)
	}
	if want := 8<<20 - m.Free - (8<<20 - m.Mapped); m.Missing() != want || want <= 0 {
		t.Errorf("missing %d, want %d", m.Missing(), want)
	}
	text := e.Error()
	says(t, text, "ebb: matmul: out of memory (operands float32[262144, 1], float32[1, 8])", "at ", "outofmemory_test.go",
		"asked for float32[262144, 8]: 8.00 MiB, 8.00 MiB with rounding; mapped ", "of limit 8.00 MiB; up to ", "would have fit",
		"live 3.00 MiB: parameter 1.00 MiB, activation 2.00 MiB", "exhausted: largest hole", "free, and", "left to map;", "are missing",
		"the largest holders:", "2.00 MiB in 2 x activation, made at ", "1.00 MiB in 1 x parameter, fc1, made at ", "raise ebb.Limit, or release some of the largest holders")
	if n := strings.Count(text, "out of memory"); n != 1 {
		t.Errorf("says %d times that memory is out:\n%s", n, text)
	}
	if strings.Contains(text, "batch of") || strings.Contains(text, "held open") {
		t.Errorf("advice that is not true:\n%s", text)
	}
	// What would have fit does, and no more.
	ebb.Empty(s, ebb.Shape{int(m.Fits)}, ebb.Uint8)
	s.Close()
	s = rt.NewScope("again")
	for range 2 {
		ebb.Ones(s, ebb.Shape{1 << 18})
	}
	caught(t, func() { ebb.Empty(s, ebb.Shape{int(m.Fits) + 1<<20}, ebb.Uint8) })
}

func TestOutOfMemoryFragmented(t *testing.T) {
	rt := newRuntime(t, ebb.Limit(9<<20))
	s := rt.NewScope("batch")
	large := rt.NewScope("large")
	ebb.Empty(large, ebb.Shape{8 << 20}, ebb.Uint8)
	large.Close() // its segment stays, and is cut up
	var scopes []*ebb.Scope
	for range 6 {
		scopes = append(scopes, s.NewScope("piece"))
		ebb.Empty(scopes[len(scopes)-1], ebb.Shape{5 << 18}, ebb.Uint8)
	}
	for i := 0; i < 6; i += 2 {
		scopes[i].Close()
	}
	e := caught(t, func() { ebb.Empty(s, ebb.Shape{3 << 20}, ebb.Uint8) })
	m := e.Memory
	if !m.Fragmented() || m.Missing() != 0 || len(m.Pins) != 1 || m.Pins[0].Count != 3 || m.Pins[0].Bytes != 15<<18 {
		t.Fatalf("%+v", m)
	}
	says(t, e.Error(), "fragmented: largest hole 1.2" /* more with guard pages */, "; the holes are held open by", "3.75 MiB in 3 x activation, made at ",
		"release what holds the holes open")
	if strings.Contains(e.Error(), "exhausted") || strings.Contains(e.Error(), "raise") {
		t.Error(e)
	}
}

// forward is a network of four layers without gradients, written one operation a
// line. It counts the operations that are done.
func forward(s *ebb.Scope, w *ebb.Tensor, batch int, done *int) {
	x := ebb.Ones(s, ebb.Shape{batch, 256}, ebb.Input)
	*done = 1
	for range 4 {
		x = x.MatMul(w.T())
		*done++
		x = x.ReLU()
		*done++
	}
}

// A batch of the size that is said to fit comes further, and one not much larger
// does not.
func TestOutOfMemorySaysWhichBatchFits(t *testing.T) {
	derived := 0
	for _, limit := range []int64{6 << 20, 10 << 20} {
		try := func(batch int) (done int, e *ebb.Error) {
			rt := newRuntime(t, ebb.Limit(limit))
			model := rt.NewStore("model")
			defer model.Close()
			w := ebb.Ones(model, ebb.Shape{256, 256}, ebb.Parameter)
			err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
				forward(s, w, batch, &done)
				return nil
			})
			errors.As(err, &e)
			return done, e
		}
		for _, batch := range []int{2000, 3000, 8000} {
			done, e := try(batch)
			if e == nil || done == 0 { // it fits, or the input itself does not: nothing says that it is a batch
				continue
			}
			m := e.Memory
			if m.Batch != batch || m.BatchFits == 0 || m.BatchFits >= batch {
				t.Errorf("limit %d, batch %d: %d is said to fit:\n%v", limit, batch, m.BatchFits, e)
				continue
			}
			derived++
			says(t, e.Error(), "a batch of", "would have fit here")
			if further, e := try(m.BatchFits); e != nil && further <= done {
				t.Errorf("limit %d, batch %d: %d does not fit either:\n%v", limit, batch, m.BatchFits, e)
			}
			if further, _ := try(m.BatchFits*3/2 + 1); further > done && m.BatchFits*3/2 < batch {
				t.Errorf("limit %d, batch %d: only %d is said to fit, but half as many more do", limit, batch, m.BatchFits)
			}
		}
	}
	if derived < 3 {
		t.Errorf("only %d batches derived", derived)
	}
}

func TestOutOfMemoryOfTheSystem(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("batch")
	ebb.Ones(s, ebb.Shape{1 << 18})
	rt.FailNthAllocation(1)
	e := caught(t, func() { ebb.Ones(s, ebb.Shape{10}) })
	if e.Memory.Refusal == "" || e.Memory.Fits != 0 || e.Err == nil {
		t.Errorf("%+v", e.Memory)
	}
	says(t, e.Error(), "the system refused more: ", "release some of the largest holders first")
	if strings.Contains(e.Error(), "Limit") || strings.Contains(e.Error(), "missing") {
		t.Error(e)
	}
	// A request over the limit by itself: releasing would not help.
	over := newRuntime(t, ebb.Limit(1<<20))
	e = caught(t, func() { ebb.Ones(over.NewScope("s"), ebb.Shape{1 << 20}) })
	says(t, e.Error(), "the request alone is over the limit")
	if strings.Contains(e.Error(), "release") {
		t.Error(e)
	}
}

// Results that no gradient needs are told from those it needs.
func TestOutOfMemoryIdle(t *testing.T) {
	for _, mode := range []ebb.Mode{ebb.NoGrad, ebb.EnableGrad} {
		rt := newRuntime(t, ebb.Limit(6<<20))
		w := ebb.Ones(rt.NewStore("model"), ebb.Shape{1 << 18}, ebb.Parameter).SetRequiresGrad(true)
		err := rt.Run(mode, func(s *ebb.Scope) error {
			x := w.In(s)
			for range 10 {
				x = x.Sigmoid() // saves its result
			}
			return nil
		})
		var e *ebb.Error
		if !errors.As(err, &e) || e.Memory == nil {
			t.Fatal(err)
		}
		if idle := e.Memory.Idle; mode == ebb.NoGrad != (idle >= 3<<20) || mode == ebb.EnableGrad && idle != 0 {
			t.Errorf("mode %v: %d bytes idle", mode, idle)
		}
		if said := strings.Contains(e.Error(), "needed by no gradient"); said != (mode == ebb.NoGrad) {
			t.Error(e)
		}
	}
}

func TestOnOutOfMemory(t *testing.T) {
	calls := 0
	rt := newRuntime(t, ebb.Limit(1<<20), ebb.OnOutOfMemory(func(rt *ebb.Runtime, e *ebb.Error) {
		calls++
		if rt.Stats().Live.Current != 400 {
			t.Errorf("%d bytes live", rt.Stats().Live.Current)
		}
		if err := rt.WriteSnapshot(io.Discard); err != nil {
			t.Error(err)
		}
		e.Memory.Files = append(e.Memory.Files, "mem.pickle")
	}))
	s := rt.NewScope("batch")
	ebb.Ones(s, ebb.Shape{100})
	e := caught(t, func() { ebb.Ones(s, ebb.Shape{1 << 20}) })
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	says(t, e.Error(), "written: mem.pickle")
	caught(t, func() { ebb.Ones(s, ebb.Shape{1 << 20}).Add(ebb.Ones(s, ebb.Shape{3})) })
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}
