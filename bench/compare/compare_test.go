package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
)

// A test is also the command that rows of whole processes start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "program" {
		main()
		return
	}
	os.Exit(m.Run())
}

// brief is an effort that shows that a row works, not how fast.
var brief = effort{0, 100 * time.Microsecond, 0, [2]int{1, 1}, [2]int{1, 1}, 100}

// Every row gives figures of Ebb's, from work that leaves nothing behind.
func TestRows(t *testing.T) {
	s, err := newSession(t.Context(), brief, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.noTorch = "not asked for"
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			if testing.Short() && large(r) {
				t.Skip("large")
			}
			for _, f := range r.figures(s) {
				if strings.HasPrefix(f.Failed, "no MNIST") {
					t.Skip(f.Failed)
				}
				if f.Failed != "" {
					t.Fatalf("%s: %s", f.Row, f.Failed)
				}
				if f.Unit == "s" && f.Ebb.Median <= 0 {
					t.Errorf("%s: %v s", f.Row, f.Ebb.Median)
				}
				if len(f.Ebb.Results) == 0 && f.Row != "a step after 100 steps" { // which PyTorch has no part in
					t.Errorf("%s: no results to compare", f.Row)
				}
				for _, v := range f.Ebb.Results {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Errorf("%s: results %v", f.Row, f.Ebb.Results)
					}
				}
			}
		})
	}
}

// large reports whether a row takes long where there are no vector kernels.
func large(r row) bool {
	n := 0
	if r.timed != nil {
		n, _ = r.timed.args["n"].(int)
	}
	return n > 1e5 || strings.HasPrefix(r.name, "program 2") || strings.Contains(r.name, "1024") || strings.Contains(r.name, "2048")
}

// Without PyTorch Ebb's figures remain, and the table says why.
func TestWithoutTorch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	var out strings.Builder
	err := compare(t.Context(), []string{"--rows", "^add of 1e3$", "--python", filepath.Join(t.TempDir(), "python3"), "--json", file}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "no PyTorch: ") || !strings.Contains(out.String(), "\nadd of 1e3 ") {
		t.Errorf("table:\n%s", &out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 1 || r.Figures[0].Row != "add of 1e3" || r.Figures[0].Ebb.Median <= 0 || r.Figures[0].NoTorch == "" {
		t.Errorf("figures %+v", r.Figures)
	}
}

// With PyTorch both sides get the same numbers.
func TestWithTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	s, err := newSession(t.Context(), usual, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.findPython("")
	if s.python == "" {
		t.Skip(s.noTorch)
	}
	w, err := s.worker(variant{threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows() {
		if r.timed == nil || large(r) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			theirs, err := w.make(r.timed.kind, r.timed.args)
			if err != nil {
				t.Fatal(err)
			}
			rt := ebb.NewRuntime()
			rt.ManualSeed(0)
			ours, err := r.timed.make(rt)
			if err != nil {
				t.Fatal(err)
			}
			if got := ours.first(); !agree(got, theirs, tolerance) {
				t.Errorf("Ebb got %v, PyTorch %v", got, theirs)
			}
			ours.close()
			_ = rt.Close()
		})
	}
}

func TestQuartiles(t *testing.T) {
	for _, c := range []struct {
		values            []float64
		low, median, high float64
	}{
		{[]float64{7}, 7, 7, 7},
		{[]float64{3, 1}, 1.5, 2, 2.5},
		{[]float64{5, 1, 4, 2, 3}, 2, 3, 4},
	} {
		if low, median, high := quartiles(c.values); low != c.low || median != c.median || high != c.high {
			t.Errorf("quartiles of %v: %v, %v, %v, want %v, %v, %v", c.values, low, median, high, c.low, c.median, c.high)
		}
	}
}

// The fastest way to run PyTorch is what Ebb is compared with, sample by
// sample.
func TestDecide(t *testing.T) {
	var f figure
	f.decide([]*contestant{
		{variant: variant{threads: 2}, wall: []float64{1, 2, 3}, cpu: []float64{1, 2, 3}},
		{variant: variant{threads: 1}, wall: []float64{4, 5, 4}, cpu: []float64{4, 4, 4}},
		{variant: variant{threads: 2, told: "SkylakeX"}, wall: []float64{2, 8, 3}, cpu: []float64{4, 16, 6}},
	})
	if f.Torch.Threads != 2 || f.Torch.Told == "" || f.Ratio != 0.5 || f.CPURatio != 0.25 || f.Installed != 0.4 || len(f.Others) != 1 {
		t.Errorf("%d threads, told %q, ratio %v, of CPU time %v, as installed %v, %d others; want 2, SkylakeX, 0.5, 0.25, 0.4, 1",
			f.Torch.Threads, f.Torch.Told, f.Ratio, f.CPURatio, f.Installed, len(f.Others))
	}
}

func TestAgree(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want bool
	}{
		{[]float64{1, 100}, []float64{1, 100.001}, true},
		{[]float64{1, 100}, []float64{1, 100.01}, false},
		{[]float64{1}, []float64{1, 1}, false},
		{[]float64{math.NaN()}, []float64{math.NaN()}, false},
		{[]float64{0}, []float64{1e-8}, true},
	} {
		if got := agree(c.a, c.b, tolerance); got != c.want {
			t.Errorf("agree(%v, %v) = %v", c.a, c.b, got)
		}
	}
}

// The programs end with their memory freed, or they end with an error.
func TestProgram(t *testing.T) {
	var out strings.Builder
	if err := runProgram("linear", nil, &out); err != nil {
		t.Fatal(err)
	}
	var got told
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	const torch = 0.6172405481338501 // linear.py's
	if len(got.Results) != 2 || got.Results[0] != 100 || math.Abs(got.Results[1]-torch) > 1e-5 {
		t.Errorf("steps and loss %v, want 100, %v", got.Results, torch)
	}
	if err := runProgram("linear", []string{"x"}, io.Discard); err == nil {
		t.Error("no error for an argument too many")
	}
}
