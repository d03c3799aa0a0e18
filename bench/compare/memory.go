package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/bench"
	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/memory"
)

//go:embed torch/peak.c
var peakSource string

// peakOf is what a training step allocates above what lives before it. Workspace
// that products copy their operands into is left out and told beside it: PyTorch's
// libraries take theirs where it cannot be counted.
func peakOf(s *session, batch, hidden int) figure {
	f := figure{Row: fmt.Sprintf("live peak without workspace, step %d x 784-%d-10", batch, hidden), Unit: "B", tolerance: tolerance}
	err := guard(func() error {
		rt := ebb.NewRuntime()
		defer rt.Close()
		rt.ManualSeed(0)
		m := training{bench.NewMLP(rt, batch, hidden)}
		defer m.close()
		results := m.first()
		var peaks []float64
		whole := int64(0)
		for range 3 {
			m.ZeroGrad()
			live := rt.Stats().Live.Current
			memory.ResetPeak(rt)
			memory.RecordHistory(rt, 1<<12)
			m.Step()
			highest, err := peakWithout(rt, ebb.Workspace)
			memory.StopHistory(rt)
			if err != nil {
				return err
			}
			peaks = append(peaks, float64(highest))
			whole = max(whole, rt.Stats().Live.Peak-live)
		}
		ours := summarize(peaks)
		ours.Results = results
		f.Ebb = &ours
		f.Note = fmt.Sprintf("the goal is PyTorch's and the logits; with the workspace of matrix products, which PyTorch's figure has not, Ebb's is %s", ebb.FormatBytes(whole))
		return nil
	})
	if err != nil {
		f.Failed = err.Error()
		return f
	}
	theirs, results, err := torchPeak(s, batch, hidden)
	if err != nil {
		f.NoTorch = err.Error()
		return f
	}
	f.Torch = &side{Median: theirs, Low: theirs, High: theirs, Samples: 1, Threads: 1, Results: results}
	f.Ratio = f.Ebb.Median / theirs
	f.RatioLow, f.RatioHigh = f.Ratio, f.Ratio
	f.Goal = (theirs + float64(4*10*batch)) / theirs // the logits, which are still there for the caller
	return f
}

// peakWithout is the most that was live in the recorded history above what was
// there at its beginning, one kind of memory left out.
func peakWithout(rt *ebb.Runtime, kind ebb.Kind) (peak int64, err error) {
	var text bytes.Buffer
	if err := rt.WriteSnapshot(&text); err != nil {
		return 0, err
	}
	s, err := snapshot.Read(&text)
	if err != nil {
		return 0, err
	}
	live := int64(0)
	for _, e := range s.Devices[0].Trace.All() {
		c := s.Class(e.Class)
		if s.String(c.Category) == kind.String() {
			continue
		}
		switch c.Action {
		case snapshot.Alloc:
			live += int64(e.Size)
		case snapshot.FreeCompleted:
			live -= int64(e.Size)
		}
		peak = max(peak, live)
	}
	return peak, nil
}

// torchPeak asks a PyTorch whose allocations are counted, and also returns the
// losses of its first steps.
func torchPeak(s *session, batch, hidden int) (peak float64, results []float64, err error) {
	if runtime.GOOS != "linux" {
		return 0, nil, errors.New("PyTorch's allocations are counted on Linux only")
	}
	if s.python == "" {
		return 0, nil, errors.New(s.noTorch)
	}
	library := filepath.Join(s.folder, "peak.so")
	if _, err := os.Stat(library); err != nil {
		compiler, err := exec.LookPath("cc")
		if err != nil {
			return 0, nil, errors.New("no C compiler, which counting PyTorch's allocations needs")
		}
		source := filepath.Join(s.folder, "peak.c")
		if err := os.WriteFile(source, []byte(peakSource), 0o600); err != nil {
			return 0, nil, err
		}
		out, err := exec.CommandContext(s.ctx, compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread").CombinedOutput()
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %s", err, out)
		}
	}
	w, err := s.startWorker(variant{threads: 1}, "LD_PRELOAD="+library)
	if err != nil {
		return 0, nil, err
	}
	defer w.close()
	if results, err = w.make("mlp", args{"batch": batch, "hidden": hidden}); err != nil {
		return 0, nil, err
	}
	peak, err = w.peak()
	return peak, results, err
}

// lasting compares steps of a training that has gone on for long with the first
// hundred of one that begins, in turns. PyTorch has no part in it.
func lasting(s *session) figure {
	const part = 100
	steps := s.effort.steps
	f := figure{Row: fmt.Sprintf("a step after %d steps", steps), Unit: "s", Note: "against the first hundred of another training, not PyTorch"}
	// train is a training in a runtime of its own, and what closes it.
	train := func() (*bench.MLP, func()) {
		rt := ebb.NewRuntime()
		rt.ManualSeed(0)
		m := bench.NewMLP(rt, 64, 128)
		return m, func() {
			m.Close()
			_ = rt.Close()
		}
	}
	err := guard(func() error {
		old, closeOld := train()
		defer closeOld()
		for i := range steps {
			if i%part == 0 && s.ctx.Err() != nil {
				return s.ctx.Err()
			}
			old.Step()
		}
		var late, early []float64
		for range s.effort.rounds[1] {
			young, closeYoung := train()
			early = append(early, eachStep(young, part)...)
			late = append(late, eachStep(old, part)...)
			closeYoung()
		}
		ours := summarize(late)
		f.Ebb = &ours
		_, first, _ := quartiles(early)
		f.Ratio = ours.Median / first
		f.Goal = goalLasting
		return nil
	})
	if err != nil {
		f.Failed = err.Error()
	}
	return f
}

// eachStep returns what each of some steps took.
func eachStep(m *bench.MLP, steps int) []float64 {
	var took []float64
	for range steps {
		start := time.Now()
		m.Step()
		took = append(took, time.Since(start).Seconds())
	}
	return took
}
