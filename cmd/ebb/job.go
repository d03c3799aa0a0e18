package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/lifecycle"
)

// job is one run of a program.
type job struct {
	settings
	program *program
	out     io.Writer

	rt      *ebb.Runtime
	life    *lifecycle.Life
	metrics *metrics
	curve   *curve
}

func newJob(p *program, s settings, out io.Writer) *job {
	if s.quiet {
		out = io.Discard
	}
	return &job{settings: s, program: p, out: out}
}

// do runs the program to its end: the proof that memory is freed, whatever went
// wrong before, and the files that tell of it. The error is a [*failure].
func (j *job) do(ctx context.Context) error {
	if err := j.prepare(); err != nil {
		return fail(err)
	}
	opts := []ebb.RuntimeOption{ebb.OnLeak(nil)} // Free tells of what was forgotten
	if j.limit > 0 {
		opts = append(opts, ebb.Limit(j.limit))
	}
	j.rt = ebb.NewRuntime(opts...)
	j.rt.ManualSeed(j.seed)
	j.life = lifecycle.Start(j.rt, j.program.name)

	err := guarded(func() error { return j.program.run(ctx, j) })
	freed := j.life.Free()
	err = errors.Join(err, j.metrics.close(), j.rt.Close(), j.tell())
	return outcome(ctx, err, freed)
}

// prepare opens what grows during the run, and finds out whether what is written
// at the end can be.
func (j *job) prepare() error {
	if j.threads > 0 {
		cpu.SetNumThreads(j.threads)
	}
	if j.html != "" {
		j.curve = new(curve)
	}
	for _, path := range []string{j.report, j.html} {
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

// tell prints the report and writes it where the flags say.
func (j *job) tell() error {
	r := j.life.Report()
	fmt.Fprint(j.out, r)
	var errs []error
	if j.report != "" {
		text, err := json.Marshal(r)
		errs = append(errs, err, write(j.report, append(text, '\n')))
	}
	if j.html != "" {
		errs = append(errs, write(j.html, page(j.settings, r, j.curve)))
	}
	return errors.Join(errs...)
}

// train goes through the loader's batches, epoch by epoch: step trains on one and
// returns its loss. A cancelled context ends it between two steps, without an
// error.
func (j *job) train(ctx context.Context, loader *data.Loader[data.Batch], step func(b data.Batch) *ebb.Tensor) error {
	n := 0
	for epoch := range j.epochs {
		sum, first := 0.0, n
		for b, err := range loader.Batches(ctx) {
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			loss := float32(step(b).Item())
			if err := j.metrics.step(epoch, n, loss); err != nil {
				return err
			}
			if j.curve != nil {
				j.curve.add(loss)
			}
			sum += float64(loss)
			if n++; n == j.steps {
				break
			}
		}
		if n == first { // stopped before the first batch, or no data
			return nil
		}
		fmt.Fprintf(j.out, "epoch %d of %d: loss %.6f\n", epoch+1, j.epochs, sum/float64(n-first))
		if n == j.steps || ctx.Err() != nil {
			return nil
		}
	}
	return nil
}
