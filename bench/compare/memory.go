package main

import (
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
	"github.com/ebb-ml/ebb/memory"
)

//go:embed torch/peak.c
var peakSource string

// peakOf is what a training step allocates above what lives before it.
func peakOf(s *session, batch, hidden int) figure {
	f := figure{Row: fmt.Sprintf("live peak, step %d x 784-%d-10", batch, hidden), Unit: "B"}
	err := guard(func() error {
		rt := ebb.NewRuntime()
		defer rt.Close()
		rt.ManualSeed(0)
		m := bench.NewMLP(rt, batch, hidden)
		defer m.Close()
		var peaks []float64
		for range 3 {
			m.ZeroGrad()
			live := rt.Stats().Live.Current
			memory.ResetPeak(rt)
			m.Step()
			peaks = append(peaks, float64(rt.Stats().Live.Peak-live))
		}
		ours := summarize(peaks)
		f.Ebb = &ours
		f.Note = fmt.Sprintf("at most PyTorch's and the logits; Ebb's has up to %s of workspace, PyTorch's none of its libraries' own",
			ebb.FormatBytes(rt.Stats().ByKind[ebb.Workspace].Peak))
		return nil
	})
	if err != nil {
		f.Failed = err.Error()
		return f
	}
	theirs, err := torchPeak(s, batch, hidden)
	if err != nil {
		f.NoTorch = err.Error()
		return f
	}
	f.Torch = &side{Median: theirs, Low: theirs, High: theirs, Samples: 1, Threads: 1}
	f.Ratio = f.Ebb.Median / theirs
	f.RatioLow, f.RatioHigh = f.Ratio, f.Ratio
	f.Goal = (theirs + float64(4*10*batch)) / theirs // the logits, which are still there for the caller
	return f
}

// torchPeak asks a PyTorch whose allocations are counted.
func torchPeak(s *session, batch, hidden int) (float64, error) {
	if runtime.GOOS != "linux" {
		return 0, errors.New("PyTorch's allocations are counted on Linux only")
	}
	if s.python == "" {
		return 0, errors.New(s.noTorch)
	}
	library := filepath.Join(s.folder, "peak.so")
	if _, err := os.Stat(library); err != nil {
		compiler, err := exec.LookPath("cc")
		if err != nil {
			return 0, errors.New("no C compiler, which counting PyTorch's allocations needs")
		}
		source := filepath.Join(s.folder, "peak.c")
		if err := os.WriteFile(source, []byte(peakSource), 0o600); err != nil {
			return 0, err
		}
		out, err := exec.CommandContext(s.ctx, compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread").CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("%w: %s", err, out)
		}
	}
	w, err := s.startWorker(1, "LD_PRELOAD="+library)
	if err != nil {
		return 0, err
	}
	defer w.close()
	if _, err := w.make("mlp", args{"batch": batch, "hidden": hidden}); err != nil {
		return 0, err
	}
	return w.peak()
}

// lasting compares steps of a training that has gone on for long with the first
// hundred of one that begins, in turns. PyTorch has no part in it.
func lasting(s *session) figure {
	const part = 100
	steps := 10_000
	if s.long {
		steps = 100_000
	}
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
		for range 15 {
			young, closeYoung := train()
			early = append(early, eachStep(young, part)...)
			late = append(late, eachStep(old, part)...)
			closeYoung()
		}
		ours := summarize(late)
		f.Ebb = &ours
		_, first, _ := quartiles(early)
		f.Ratio = ours.Median / first
		f.Goal = 1.05 // what two medians of the same thing differ by
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
