package lifecycle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/google/go-cmp/cmp"
)

// live runs a program that keeps 1 MiB in a store and touches 8 MiB in a scope.
func live(t *testing.T, rt *ebb.Runtime) *lifecycle.Life {
	t.Helper()
	rt.ManualSeed(7)
	life := lifecycle.Start(rt, "test")
	model := rt.NewStore("model")
	ebb.Ones(model, ebb.Shape{256, 1024}, ebb.Parameter)
	life.Enter(lifecycle.ModelCreated)
	life.Enter(lifecycle.DataPrepared)
	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		ebb.Ones(s, ebb.Shape{2048, 1024})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	life.Enter(lifecycle.ModelRun)
	model.Close()
	life.Mark("model released")
	life.Enter(lifecycle.VariablesCleared)
	return life
}

func TestFreed(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := live(t, rt)
	if err := life.Free(); err != nil {
		t.Fatal(err)
	}
	r := life.Report()
	if !r.Freed || len(r.Survivors) != 0 || r.Program != "test" || r.Seed != 7 {
		t.Errorf("report %+v", r)
	}
	var states []string
	for _, s := range r.States {
		states = append(states, s.State.String())
	}
	want := []string{"InitialState", "ModelCreated", "DataPrepared", "ModelRun", "VariablesCleared", "MemoryFreed"}
	if d := cmp.Diff(want, states); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
	const mib = 1 << 20
	for i, want := range []int64{0, mib, mib, mib, 0, 0} {
		if got := r.States[i].Live; got != want {
			t.Errorf("%s: live %d, want %d", states[i], got, want)
		}
	}
	if got := r.States[3].PeakLive; got != 9*mib {
		t.Errorf("peak live %d, want %d", got, 9*mib)
	}
	if r.States[3].Mapped < 9*mib || r.States[0].Mapped != 0 || r.States[5].Mapped != 0 {
		t.Errorf("mapped %d, %d, %d", r.States[0].Mapped, r.States[3].Mapped, r.States[5].Mapped)
	}
	for i := 1; i < len(r.States); i++ {
		if r.States[i].Elapsed < r.States[i-1].Elapsed {
			t.Errorf("time runs backward at %s", states[i])
		}
	}
	if len(r.Marks) != 1 || r.Marks[0].Name != "model released" || r.Marks[0].State != lifecycle.ModelRun || r.Marks[0].Live != 0 {
		t.Errorf("marks %+v", r.Marks)
	}
	if err := life.Free(); err != nil {
		t.Errorf("second Free: %v", err)
	}
}

func TestSurvivor(t *testing.T) {
	rt := ebb.NewRuntime()
	life := lifecycle.Start(rt, "test")
	kept := rt.NewStore("kept")
	_, _, line, _ := runtime.Caller(0)
	x := ebb.Zeros(kept, ebb.Shape{32, 32})
	site := fmt.Sprintf("lifecycle_test.go:%d", line+1)
	err := life.Free()
	var e *ebb.Error
	if !errors.Is(err, ebb.ErrLeak) || !errors.As(err, &e) || len(e.Leaks) != 1 {
		t.Fatalf("Free: %v", err)
	}
	if x.Released() {
		t.Error("Free released what the program holds")
	}
	for _, want := range []string{"1 survivor of 4.00 KiB", "buffer float32[32, 32]", "in kept", site} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	r := life.Report()
	if r.Freed || len(r.Survivors) != 1 {
		t.Fatalf("report %+v", r)
	}
	s := r.Survivors[0]
	if s.Kind != "buffer" || s.DType != "float32" || !cmp.Equal(s.Shape, []int{32, 32}) || s.Bytes != 4096 || s.Owner != "kept" ||
		!strings.Contains(s.Site, site) {
		t.Errorf("survivor %+v", s)
	}
	if last := r.States[len(r.States)-1]; last.State != lifecycle.InitialState {
		t.Errorf("last state %s", last.State)
	}
	if m := r.Marks[len(r.Marks)-1]; m.Name != "memory survived" || m.Live != 4096 {
		t.Errorf("last mark %+v", m)
	}
	if err2 := life.Free(); err2 != err {
		t.Errorf("second Free: %v", err2)
	}
	if err := rt.Close(); err != nil {
		t.Errorf("Close reports again: %v", err)
	}
}

// An empty store that is still open holds no memory.
func TestEmptyStore(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := lifecycle.Start(rt, "test")
	st := rt.NewStore("empty")
	defer st.Close()
	if err := life.Free(); err != nil {
		t.Error(err)
	}
}

// A store that was dropped instead of closed is reported, whether the collector
// has found it yet or not.
func TestForgottenStore(t *testing.T) {
	for _, collected := range []bool{false, true} {
		rt := ebb.NewRuntime(ebb.OnLeak(nil))
		life := lifecycle.Start(rt, "test")
		func() { ebb.Zeros(rt.NewStore("forgotten"), ebb.Shape{1024}) }()
		if collected {
			for end := time.Now().Add(5 * time.Second); len(rt.Leaks()) == 0 && time.Now().Before(end); {
				runtime.GC()
				time.Sleep(time.Millisecond)
			}
		}
		err := life.Free()
		if !errors.Is(err, ebb.ErrLeak) || !strings.Contains(err.Error(), "forgotten") || !strings.Contains(err.Error(), "lifecycle_test.go") {
			t.Errorf("collected %v: %v", collected, err)
		}
		if r := life.Report(); r.Freed || len(r.Survivors) != 1 || r.Survivors[0].Bytes != 4096 {
			t.Errorf("collected %v: %+v", collected, r)
		}
		rt.Close()
	}
}

// What an earlier program in the runtime left to the collector is not this one's.
func TestEarlierLeak(t *testing.T) {
	rt := ebb.NewRuntime(ebb.OnLeak(nil))
	func() { ebb.Zeros(rt.NewStore("forgotten"), ebb.Shape{1024}) }()
	for end := time.Now().Add(5 * time.Second); len(rt.Leaks()) == 0 && time.Now().Before(end); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	life := lifecycle.Start(rt, "test")
	if err := life.Free(); err != nil {
		t.Error(err)
	}
	rt.Close()
}

// Free waits for an operation that runs on memory whose owner has closed.
func TestFreeWaits(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := lifecycle.Start(rt, "test")
	st := rt.NewStore("data")
	x := ebb.Zeros(st, ebb.Shape{1024})
	reading, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		x.Read(func([]float32) {
			close(reading)
			time.Sleep(20 * time.Millisecond)
		})
	}()
	<-reading
	st.Close()
	if err := life.Free(); err != nil {
		t.Error(err)
	}
	<-done
}

func TestOrder(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := lifecycle.Start(rt, "test")
	life.Enter(lifecycle.ModelCreated)
	wrong := func(name string, f func()) {
		t.Helper()
		var err error
		func() {
			defer ebb.Catch(&err)
			f()
		}()
		if !errors.Is(err, ebb.ErrValue) || !strings.Contains(err.Error(), "lifecycle_test.go") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []lifecycle.State{lifecycle.InitialState, lifecycle.ModelCreated, lifecycle.ModelRun, lifecycle.MemoryFreed, 200} {
		wrong("enter "+s.String(), func() { life.Enter(s) })
	}
	life.Enter(lifecycle.DataPrepared)
	if err := life.Free(); err != nil {
		t.Fatal(err)
	}
	wrong("enter after Free", func() { life.Enter(lifecycle.ModelRun) })
	wrong("mark after Free", func() { life.Mark("late") })
}

func TestReportJSON(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := live(t, rt)
	if err := life.Free(); err != nil {
		t.Fatal(err)
	}
	r := life.Report()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"program":"test","seed":7,"states":[{"state":"InitialState","live_bytes":0,"mapped_bytes":0,"go_bytes":`; !strings.HasPrefix(string(text), want) {
		t.Errorf("report begins %.200s\nwant %s", text, want)
	}
	if want := `,"freed":true,"survivors":[]}`; !strings.HasSuffix(string(text), want) {
		t.Errorf("report ends with %s", text)
	}
	var back lifecycle.Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, &back); d != "" {
		t.Errorf("read back (-written +read):\n%s", d)
	}
	var se *lifecycle.StateError
	if err := json.Unmarshal([]byte(`{"states":[{"state":"Dreaming"}]}`), &back); !errors.As(err, &se) || se.Text != "Dreaming" {
		t.Errorf("unknown state: %v", err)
	}
}

func TestReportTable(t *testing.T) {
	r := lifecycle.Report{
		Program: "p",
		States: []lifecycle.Reading{
			{State: lifecycle.InitialState, Figures: lifecycle.Figures{Go: 3 << 20, RSSAnon: 2 << 20, Elapsed: 1.25}},
			{State: lifecycle.ModelCreated, Figures: lifecycle.Figures{Live: 44, Mapped: 2 << 20, Go: 3 << 20, RSSAnon: 2<<20 + 4096, PeakLive: 44, Elapsed: 1.5}},
		},
		Marks: []lifecycle.Mark{{Name: "checked", Reading: lifecycle.Reading{State: lifecycle.InitialState, Figures: lifecycle.Figures{Elapsed: 1.4}}}},
		Survivors: []lifecycle.Survivor{
			{Kind: "activation", DType: "float32", Shape: []int{2, 3}, Bytes: 24, Owner: "run", Module: "fc1", Site: "main.go:7 main"},
		},
	}
	want := strings.Join([]string{
		"state         live    mapped        Go   RssAnon  peak live  elapsed",
		"InitialState   0 B       0 B  3.00 MiB  2.00 MiB        0 B   1.2 ms",
		"  checked      0 B       0 B       0 B       0 B        0 B   1.4 ms",
		"ModelCreated  44 B  2.00 MiB  3.00 MiB  2.00 MiB       44 B   1.5 ms",
		"not freed: 1 survivor",
		"  activation float32[2, 3], 24 B, in run, fc1, made at main.go:7 main",
		"",
	}, "\n")
	if d := cmp.Diff(want, r.String()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
	// What nobody is known to hold shows in the figures after the last state.
	r.Survivors = nil
	r.Marks = append(r.Marks, lifecycle.Mark{Name: "memory survived", Reading: lifecycle.Reading{State: lifecycle.ModelCreated,
		Figures: lifecycle.Figures{Go: 4 << 20, RSSAnon: 12 << 20}}})
	if want, got := "not freed: live 0 B, mapped 0 B, RssAnon +10.00 MiB from InitialState (Go's share +1.00 MiB)", r.Verdict(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
