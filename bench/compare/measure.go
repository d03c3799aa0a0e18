package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/bench/machine"
)

// work is what a row measures, on Ebb's side.
type work interface {
	first() []float64 // does the first steps and returns numbers PyTorch must get too
	step()
	close()
}

// timed is a row whose work takes steps in a process that goes on: Ebb's here,
// PyTorch's in workers.
type timed struct {
	kind    string // of torch/worker.py's
	args    args
	threads int // 0: Ebb with all cores, PyTorch with the better number
	make    func(rt *ebb.Runtime) (work, error)
}

// contestant is one of those that take turns.
type contestant struct {
	variant
	run     func(warm, steps int) (cost, error) // the cost is that of steps, after so many to get going
	results []float64
	steps   int // of a sample
	warm    int // before it
	wall    []float64
	cpu     []float64
}

// figure measures the row.
func (t *timed) figure(s *session, f figure, l limit) figure {
	f.Unit = "s"
	rt := ebb.NewRuntime()
	rt.ManualSeed(0)
	ours := &contestant{variant: variant{threads: t.threads}}
	if t.threads == 0 {
		ours.threads = cores()
	}
	ebb.SetNumThreads(ours.threads)
	defer ebb.SetNumThreads(cores())
	err := guard(func() error {
		w, err := t.make(rt)
		if err != nil {
			return err
		}
		defer w.close()
		ours.results = w.first()
		ours.run = func(warm, steps int) (cost, error) { return runSteps(w, warm, steps) }
		all := []*contestant{ours}
		theirs, err := t.opponents(s)
		if err != nil {
			f.NoTorch = err.Error()
		}
		all = append(all, theirs...)
		return l(func(load *machine.Load) error {
			turns := all
			var most *contestant
			if load != nil {
				most = newLimit(load)
				turns = append(turns, most)
			}
			if err := alternate(s, turns); err != nil {
				return err
			}
			best := f.decide(all)
			if most != nil {
				f.Ebb.Share = shareOf(load, most, f.Work, ours)
				if best != nil {
					f.Torch.Share = shareOf(load, most, f.Work, best)
				}
			}
			return nil
		})
	})
	if err = errors.Join(err, rt.Close()); err != nil {
		f.Failed = err.Error()
	}
	for _, w := range s.workers {
		_ = w.drop()
	}
	return f
}

// opponents are PyTorch's workers with the row's work made.
func (t *timed) opponents(s *session) ([]*contestant, error) {
	var all []*contestant
	for _, v := range s.variants(t.threads, t.kind == "matmul" || t.kind == "mlp") {
		w, err := s.worker(v)
		if err != nil {
			return nil, err
		}
		results, err := w.make(t.kind, t.args)
		if err != nil {
			return nil, err
		}
		all = append(all, &contestant{variant: v, run: w.run, results: results})
	}
	return all, nil
}

// newLimit is a contestant whose steps are a load's units.
func newLimit(load *machine.Load) *contestant {
	return &contestant{run: func(warm, steps int) (cost, error) {
		load.Run(warm)
		return cost{wall: load.Run(steps).Seconds()}, nil
	}}
}

// shareOf is the share of what the machine could do in turns with c that c did,
// work of the load's kind in each step.
func shareOf(load *machine.Load, most *contestant, work float64, c *contestant) float64 {
	_, faster, _ := quartiles(ratios(most.wall, c.wall)) // of one load's unit on each core, than one step
	return work / load.Rate(1, time.Second) * faster
}

// guard calls f and turns an operation's panic into an error.
func guard(f func() error) (err error) {
	defer ebb.Catch(&err)
	return f()
}

func runSteps(w work, warm, steps int) (c cost, err error) {
	defer ebb.Catch(&err)
	for range warm {
		w.step()
	}
	cpu, wall := cpuSeconds(), time.Now()
	for range steps {
		w.step()
	}
	return cost{time.Since(wall).Seconds(), cpuSeconds() - cpu}, nil
}

// alternate takes samples of all in turns, beginning with another one each round.
func alternate(s *session, all []*contestant) error {
	round := 0.0
	for _, c := range all {
		took, err := c.calibrate(s.effort.sample)
		if err != nil {
			return err
		}
		round += took
	}
	for i := range s.rounds(time.Duration(round * 1e9)) {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		for j := range all {
			c := all[(i+j)%len(all)]
			took, err := c.run(c.warm, c.steps)
			if err != nil {
				return err
			}
			c.wall = append(c.wall, took.wall/float64(c.steps))
			c.cpu = append(c.cpu, took.cpu/float64(c.steps))
		}
	}
	return nil
}

// warmUp is how long each works before its sample begins: after a pause the
// system takes a while to spread threads over the cores.
const warmUp = 30 * time.Millisecond

// calibrate sets how many steps a sample takes, and those before it, and returns how many
// seconds that is.
func (c *contestant) calibrate(sample time.Duration) (float64, error) {
	for c.steps = 1; ; {
		took, err := c.run(0, c.steps)
		if err != nil {
			return 0, err
		}
		if took.wall >= sample.Seconds()/2 {
			c.warm = int(float64(c.steps)*warmUp.Seconds()/took.wall) + 1
			return took.wall * float64(c.warm+c.steps) / float64(c.steps), nil
		}
		c.steps = max(2*c.steps, min(10*c.steps, int(float64(c.steps)*sample.Seconds()/(took.wall+1e-9))))
	}
}

// decide fills in the figure: Ebb is the first of all, of the others the fastest
// counts, which is returned; nil if there is none.
func (f *figure) decide(all []*contestant) *contestant {
	sides := make([]side, len(all))
	best, installed := 0, 0
	for i, c := range all {
		sides[i] = summarize(c.wall)
		_, sides[i].CPU, _ = quartiles(c.cpu)
		sides[i].Threads, sides[i].Told = c.threads, c.told
		sides[i].Results = c.results
		if i > 0 && (best == 0 || sides[i].Median < sides[best].Median) {
			best = i
		}
		if i > 0 && c.told == "" && (installed == 0 || sides[i].Median < sides[installed].Median) {
			installed = i
		}
	}
	f.Ebb = &sides[0]
	if best == 0 {
		return nil
	}
	f.Torch = &sides[best]
	for i := 1; i < len(all); i++ {
		if i != best {
			f.Others = append(f.Others, sides[i])
		}
	}
	f.RatioLow, f.Ratio, f.RatioHigh = quartiles(ratios(all[0].wall, all[best].wall))
	if r := ratios(all[0].cpu, all[best].cpu); len(r) > 0 {
		_, f.CPURatio, _ = quartiles(r)
	}
	if installed > 0 && slices.ContainsFunc(all, func(c *contestant) bool { return c.told != "" }) {
		_, f.Installed, _ = quartiles(ratios(all[0].wall, all[installed].wall))
	}
	return all[best]
}

// seconds prints a time with a unit that suits it.
func seconds(x float64) string {
	switch {
	case x >= 1:
		return fmt.Sprintf("%.3g s", x)
	case x >= 1e-3:
		return fmt.Sprintf("%.3g ms", x*1e3)
	}
	return fmt.Sprintf("%.3g us", x*1e6)
}
