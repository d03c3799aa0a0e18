package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/lifecycle"
)

// job is one run of a program.
type job struct {
	settings
	program *program
	out     io.Writer

	rt       *ebb.Runtime
	life     *lifecycle.Life
	metrics  *metrics
	progress *progress
	curve    *curve
	recorder *recorder // nil if there is no picture to draw
}

func newJob(p *program, s settings, out io.Writer) *job {
	if s.quiet {
		out = io.Discard
	}
	return &job{settings: s, program: p, out: out, curve: new(curve)}
}

// do runs the program to its end: the proof that memory is freed, whatever went
// wrong before, and the files that tell of it. The error is a [*failure].
func (j *job) do(ctx context.Context) error {
	if err := j.prepare(); err != nil {
		return fail(err)
	}
	profiles, err := startProfiles(j.cpuprofile, j.trace)
	if err != nil {
		return fail(errors.Join(err, j.metrics.close()))
	}
	opts := []ebb.RuntimeOption{ebb.OnLeak(nil)} // Free tells of what was forgotten
	if j.limit > 0 {
		opts = append(opts, ebb.Limit(j.limit))
	}
	j.rt = ebb.NewRuntime(opts...)
	j.rt.ManualSeed(j.seed)
	if j.snapshot != "" {
		j.rt.RecordHistory(ebb.DefaultHistory)
	}
	j.life = lifecycle.Start(j.rt, j.program.name)
	if j.html != "" {
		j.recorder = startRecorder(j.rt)
	}
	if !j.quiet {
		j.progress = newProgress(j.rt, j.out)
	}

	err = guarded(func() error { return j.program.run(ctx, j) })
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // what a signal ended is no error
	}
	j.progress.end()
	err = errors.Join(err, profiles.stop()) // before the proof, which is not to count their memory
	freed := j.life.Free()
	j.recorder.stop(freed == nil)
	err = errors.Join(err, j.writeSnapshot(), j.metrics.close(), j.rt.Close(), j.tell())
	return outcome(ctx, err, freed)
}

// prepare opens what grows during the run, and finds out whether what is written
// at the end can be.
func (j *job) prepare() error {
	if j.threads > 0 {
		cpu.SetNumThreads(j.threads)
	}
	for _, path := range []string{j.report, j.html, j.snapshot} {
		if err := probe(path); err != nil {
			return err
		}
	}
	var err error
	j.metrics, err = openMetrics(j.settings.metrics)
	return err
}

// guarded calls f and turns a panic into an error: the user sees a few lines,
// never a Go stack.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(err, fmt.Errorf("internal error: %v", r))
		}
	}()
	defer ebb.Catch(&err)
	return f()
}

// enter enters a state of the program's life.
func (j *job) enter(s lifecycle.State) {
	j.life.Enter(s)
	j.recorder.note(s.String(), true)
	j.rt.Mark(s.String())
}

// mark notes something that was released between states.
func (j *job) mark(name string) {
	j.life.Mark(name)
	j.recorder.note(name, false)
	j.rt.Mark(name)
}

// markStep notes in the history that a step begins.
func (j *job) markStep(n int) {
	if j.snapshot != "" {
		j.rt.Mark(fmt.Sprint("step ", n))
	}
}

// writeSnapshot writes the whole history, with what survived.
func (j *job) writeSnapshot() error {
	if j.snapshot == "" {
		return nil
	}
	return writeStream(j.snapshot, j.rt.WriteSnapshot)
}

// tell prints the report and writes it where the flags say.
func (j *job) tell() error {
	r := j.life.Report()
	fmt.Fprint(j.out, r)
	var errs []error
	if j.report != "" {
		var text []byte
		var err error
		if strings.EqualFold(filepath.Ext(j.report), ".md") {
			text = markdown(j.settings, r, j.curve)
		} else {
			text, err = json.Marshal(r)
			text = append(text, '\n')
		}
		errs = append(errs, err, write(j.report, text))
	}
	if j.html != "" {
		errs = append(errs, write(j.html, page(j.settings, r, j.curve, j.recorder)))
	}
	return errors.Join(errs...)
}
