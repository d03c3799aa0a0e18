package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory"
)

// A program's step gets a scope of its own, that closes, and a store that stays.
type program func(i int, s *ebb.Scope, kept *ebb.Store)

func TestGrowth(t *testing.T) {
	tensor := ebb.Shape{100} // 400 bytes
	var window []*ebb.Store
	var list *ebb.Tensor
	cases := []struct {
		name  string
		steps int
		step  program
		grows float64 // bytes a step
		once  int64
	}{
		{"nothing", 10, func(_ int, s *ebb.Scope, _ *ebb.Store) { ebb.Ones(s, tensor) }, 0, 0},
		{"each step", 10, func(_ int, _ *ebb.Scope, k *ebb.Store) { ebb.Ones(k, tensor) }, 400, 0},
		{"each step, three are enough", 3, func(_ int, _ *ebb.Scope, k *ebb.Store) { ebb.Ones(k, tensor) }, 400, 0},
		{"first step", 10, func(i int, _ *ebb.Scope, k *ebb.Store) {
			if i == 0 {
				ebb.Ones(k, tensor)
			}
		}, 0, 400},
		{"first two steps", 10, func(i int, _ *ebb.Scope, k *ebb.Store) {
			if i < 2 {
				ebb.Ones(k, tensor)
			}
		}, 0, 800},
		{"every tenth step", 30, func(i int, _ *ebb.Scope, k *ebb.Store) {
			if i%10 == 0 {
				ebb.Ones(k, tensor)
			}
		}, 40, 0},
		{"after a while", 20, func(i int, _ *ebb.Scope, k *ebb.Store) {
			if i > 15 {
				ebb.Ones(k, tensor)
			}
		}, 80, 0},
		{"a window of five", 20, func(i int, _ *ebb.Scope, k *ebb.Store) {
			w := k.NewStore("window")
			ebb.Ones(w, tensor)
			if window = append(window, w); len(window) > 5 {
				window[0].Close()
				window = window[1:]
			}
		}, 0, 2000},
		{"a longer list each step", 10, func(i int, _ *ebb.Scope, k *ebb.Store) {
			w := k.NewStore("list")
			longer := ebb.Ones(w, ebb.Shape{100 * (i + 1)})
			if list != nil {
				list.Store().Close()
			}
			list = longer
		}, 400, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rt := ebb.NewRuntime()
			defer rt.Close()
			window, list = nil, nil
			kept := rt.NewStore("kept")
			defer kept.Close()
			r, err := memory.Growth(rt, c.steps, func(i int) error {
				return rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
					c.step(i, s, kept)
					return nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			var grows float64
			var once int64
			for _, l := range r.Grows {
				grows += l.PerStep()
				if !strings.Contains(l.Site.String(), "growth_test.go") {
					t.Errorf("site %v", l.Site)
				}
			}
			for _, l := range r.Once {
				once += l.Bytes
			}
			if grows != c.grows || once != c.once || r.Steps != c.steps {
				t.Errorf("grows %v a step, %d once, want %v and %d:\n%s", grows, once, c.grows, c.once, r)
			}
			if said := strings.Contains(r.String(), "nothing grows"); said != (c.grows == 0) {
				t.Error(r)
			}
		})
	}
}

// Two leaks at two lines and state made on first use are told apart.
func TestGrowthNamesTheLine(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	kept := rt.NewStore("kept")
	defer kept.Close()
	var state *ebb.Tensor
	r, err := memory.Growth(rt, 10, func(i int) error {
		if state == nil {
			state = ebb.Ones(kept, ebb.Shape{1000}, ebb.OptimizerState)
		}
		ebb.Ones(kept, ebb.Shape{10})
		ebb.Ones(kept, ebb.Shape{20}, ebb.Input)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Grows) != 2 || r.Grows[0].Kind != ebb.Input || r.Grows[1].PerStep() != 40 || r.Grows[0].Site == r.Grows[1].Site {
		t.Errorf("grows:\n%s", r)
	}
	if len(r.Once) != 1 || r.Once[0].Kind != ebb.OptimizerState || r.Once[0].Bytes != 4000 {
		t.Errorf("once:\n%s", r)
	}
	for _, want := range []string{"80 B a step (800 B in all): 10 more input", "in kept", "grew once", "3.91 KiB: 1 more optimizer state"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("report lacks %q:\n%s", want, r)
		}
	}
}

func TestGrowthEndsOnError(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	full := errors.New("full")
	r, err := memory.Growth(rt, 10, func(i int) error {
		if i == 4 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || r.Steps != 4 || len(r.After) != 4 {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err := memory.Growth(rt, 2, nil); !errors.Is(err, ebb.ErrValue) {
		t.Errorf("two steps: %v", err)
	}
}

func TestSurvivors(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	kept := rt.NewStore("kept")
	defer kept.Close()
	for range 3 {
		ebb.Ones(kept, ebb.Shape{2, 50}, ebb.Parameter).SetName("fc1")
	}
	ebb.Ones(kept, ebb.Shape{10})
	s := memory.Survivors(rt)
	if len(s) != 2 || s[0].Count != 3 || s[0].Bytes != 1200 || s[0].Owner != "kept" || s[0].Module != "fc1" || s[0].Kind != ebb.Parameter ||
		fmt.Sprint(s[0].Shape) != "[2 50]" || s[0].Oldest < s[0].Newest || len(s[0].Site.PCs()) == 0 {
		t.Errorf("survivors %v", s)
	}
	if text := s[0].String(); !strings.Contains(text, "1.17 KiB in 3 x parameter float32[2 50] in kept, fc1, ") || !strings.Contains(text, "growth_test.go") {
		t.Error(text)
	}
}

// Ages are right to the last opening of a scope, and numbers count allocations.
func TestAge(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	for _, recorded := range []bool{false, true} {
		if recorded {
			memory.RecordHistory(rt, 0)
		}
		const pause = 30 * time.Millisecond
		old := rt.NewStore("old")
		ebb.Ones(old, ebb.Shape{1})
		time.Sleep(pause)
		young := rt.NewScope("young")
		made := time.Now()
		ebb.Ones(young, ebb.Shape{2})
		hs := rt.Holdings()
		if len(hs) != 2 || hs[0].Age < pause || hs[1].Age > time.Since(made)+pause/2 || hs[1].Number <= hs[0].Number {
			t.Errorf("recorded %v: ages %v and %v, numbers %d and %d", recorded, hs[0].Age, hs[1].Age, hs[0].Number, hs[1].Number)
		}
		young.Close()
		old.Close()
	}
}
