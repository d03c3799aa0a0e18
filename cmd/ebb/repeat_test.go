package main

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ebb-ml/ebb/internal/process"
)

// A process that runs a program again and again ends where it was after ten runs:
// in memory, goroutines and descriptors. Each run proves its own memory freed.
func TestRepeat(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 60
	}
	s := linear.defaults
	s.metrics = filepath.Join(t.TempDir(), "m.jsonl")
	repeat(t, linear, s, runs)
}

// The same of the first 200 steps of mnist, with workers.
func TestRepeatMNIST(t *testing.T) {
	s := mnist.defaults
	s.data, s.steps, s.workers = unpackedMNIST(t), 200, 2
	runs := 100
	if testing.Short() {
		runs, s.steps = 12, 20
	}
	repeat(t, mnist, s, runs)
}

func repeat(t *testing.T, p *program, s settings, runs int) {
	dir := t.TempDir()
	type state struct {
		anon                    int64
		goroutines, descriptors int
		records                 int
	}
	var tenth, last state
	for i := 1; i <= runs; i++ {
		s.report, s.html = "", ""
		if i%10 == 0 { // these wait for the disk
			s.report, s.html = filepath.Join(dir, "r.json"), filepath.Join(dir, "p.html")
		}
		j := newJob(p, s, io.Discard)
		if err := j.do(context.Background()); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		if i != 10 && i != runs {
			continue
		}
		f, err := process.Read()
		if err != nil {
			t.Fatal(err)
		}
		d, err := process.Descriptors()
		if err != nil {
			t.Fatal(err)
		}
		r := j.life.Report()
		last = state{r.States[len(r.States)-1].RSSAnon, runtime.NumGoroutine(), d, j.rt.Stats().Tensors}
		if !f.Split || raceEnabled {
			last.anon = 0
		}
		if i == 10 {
			tenth = last
		}
	}
	t.Logf("RssAnon %d after run 10, %d after run %d", tenth.anon, last.anon, runs)
	if last.anon > tenth.anon+1<<20 {
		t.Errorf("RssAnon %d after run 10, %d after run %d", tenth.anon, last.anon, runs)
	}
	tenth.anon, last.anon = 0, 0
	if last != tenth {
		t.Errorf("after run 10 %+v, after run %d %+v", tenth, runs, last)
	}
}
