package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/datasets"
	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/ebb-ml/ebb/memory"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
	"github.com/ebb-ml/ebb/transforms"
)

//go:embed torch/linear.py
var linearSource string

//go:embed torch/mnist.py
var mnistSource string

// told is what a program prints at its end.
type told struct {
	Results []float64 `json:"results"` // the steps taken and the last loss
	Before  float64   `json:"before"`  // anonymous memory of the process in bytes, before its work
	After   float64   `json:"after"`   // and after it
}

// runProgram is this command as one of the programs.
func runProgram(name string, args []string, out io.Writer) (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(20) // as ebb train does
	}
	var t told
	switch {
	case name == "linear" && len(args) == 0:
		t, err = trainLinear(context.Background())
	case name == "mnist" && len(args) == 1:
		t, err = trainMNIST(context.Background(), args[0])
	default:
		err = fmt.Errorf("no program %q of %d arguments", name, len(args))
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(t)
}

// simpleModel is linear regression.
type simpleModel struct{ Fc *nn.Linear }

func (m *simpleModel) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Call(m.Fc, x) }

// trainLinear is linear.py.
func trainLinear(ctx context.Context) (t told, err error) {
	rt := ebb.NewRuntime()
	defer func() { err = errors.Join(err, rt.Close()) }()
	defer ebb.Catch(&err)
	rt.ManualSeed(0)
	life := lifecycle.Start(rt, "linear")

	model := &simpleModel{nn.NewLinear(rt.NewStore("model"), 10, 1)}
	life.Enter(lifecycle.ModelCreated)
	samples := rt.NewStore("data")
	set := data.NewTensorDataset(ebb.Randn(samples, ebb.Shape{100, 10}), ebb.Randn(samples, ebb.Shape{100, 1}))
	loader := data.NewLoader(set, data.BatchSize(10))
	life.Enter(lifecycle.DataPrepared)

	opt := optim.NewSGD(nn.Parameters(model), optim.LR(0.01))
	results, err := epochs(ctx, 10, loader, func(b data.Batch) *ebb.Tensor {
		opt.ZeroGrad()
		loss := nn.MSELoss(nn.Call(model, b.Input), b.Target)
		loss.Backward()
		opt.Step()
		return loss
	})
	if err != nil {
		return t, err
	}
	life.Enter(lifecycle.ModelRun)

	loader.Close()
	set.Close()
	opt.Close()
	nn.Release(model)
	life.Enter(lifecycle.VariablesCleared)
	return tell(life, results)
}

// simpleNN is MNIST's network.
type simpleNN struct{ Fc1, Fc2 *nn.Linear }

func (m *simpleNN) Forward(x *ebb.Tensor) *ebb.Tensor {
	return nn.Chain(x.View(-1, 28*28), m.Fc1, &nn.ReLU{}, m.Fc2)
}

// trainMNIST is mnist.py.
func trainMNIST(ctx context.Context, folder string) (t told, err error) {
	rt := ebb.NewRuntime()
	defer func() { err = errors.Join(err, rt.Close()) }()
	defer ebb.Catch(&err)
	life := lifecycle.Start(rt, "mnist")
	rt.ManualSeed(0)

	weights := rt.NewStore("model")
	model := &simpleNN{nn.NewLinear(weights, 28*28, 128), nn.NewLinear(weights, 128, 10)}
	life.Enter(lifecycle.ModelCreated)
	train, err := datasets.MNIST(ctx, rt.NewStore("data"), datasets.Train, transforms.ToTensor(), datasets.Dir(folder))
	if err != nil {
		return t, err
	}
	loader := data.NewLoader(train, data.BatchSize(64), data.Shuffle())
	life.Enter(lifecycle.DataPrepared)

	opt := optim.NewSGD(nn.Parameters(model), optim.LR(0.01))
	results, err := epochs(ctx, 2, loader, func(b data.Batch) *ebb.Tensor {
		opt.ZeroGrad()
		loss := nn.CrossEntropyLoss(nn.Call(model, b.Input), b.Target)
		loss.Backward()
		opt.Step()
		return loss
	})
	if err != nil {
		return t, err
	}
	life.Enter(lifecycle.ModelRun)

	loader.Close()
	train.Close()
	memory.EmptyCache(rt)
	opt.Close()
	nn.Release(model)
	life.Enter(lifecycle.VariablesCleared)
	return tell(life, results)
}

// epochs trains on all batches and returns the steps taken and the last loss.
func epochs(ctx context.Context, n int, loader *data.Loader[data.Batch], step func(b data.Batch) *ebb.Tensor) (results []float64, err error) {
	steps, last := 0, 0.0
	for range n {
		for b, err := range loader.Batches(ctx) {
			if err != nil {
				return nil, err
			}
			last = step(b).Item()
			steps++
		}
	}
	return []float64{float64(steps), last}, nil
}

// tell frees the memory, proves it, and says how the program ended.
func tell(life *lifecycle.Life, results []float64) (told, error) {
	if err := life.Free(); err != nil {
		return told{}, err
	}
	states := life.Report().States
	return told{
		Results: results,
		Before:  float64(states[0].RSSAnon),
		After:   float64(states[len(states)-1].RSSAnon),
	}, nil
}

// process is a program as a process of its own.
type process struct {
	contestant
	told told // by the last run
}

// newProcess is a contestant that runs a command each time.
func newProcess(s *session, v variant, env []string, command ...string) *process {
	p := &process{contestant: contestant{variant: v, steps: 1}}
	p.run = func(int, int) (cost, error) {
		cmd := exec.CommandContext(s.ctx, command[0], command[1:]...)
		cmd.Env = env
		var out, message bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &message
		start := time.Now()
		err := cmd.Run()
		wall := time.Since(start).Seconds()
		if err != nil {
			return cost{}, fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, message.Bytes())
		}
		if err := json.Unmarshal(out.Bytes(), &p.told); err != nil {
			return cost{}, fmt.Errorf("%s printed %q: %w", filepath.Base(command[0]), out.Bytes(), err)
		}
		p.results = p.told.Results
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return cost{wall, used.Seconds()}, nil
	}
	return p
}

// wholeProcess runs a program in Ebb and in PyTorch, from the start of the
// process to its end, in turns. The last two are the processes that count.
func wholeProcess(s *session, f figure, rounds int, name, source string, args ...string) (figure, *process, *process) {
	f.Unit, f.tolerance = "s", tolerance
	self, err := os.Executable()
	if err != nil {
		f.Failed = err.Error()
		return f, nil, nil
	}
	ours := newProcess(s, variant{}, os.Environ(), append([]string{self, "program", name}, args...)...)
	processes := []*process{ours}
	all := []*contestant{&ours.contestant}
	if s.python == "" {
		f.NoTorch = s.noTorch
	} else {
		script := filepath.Join(s.folder, name+".py")
		if err := os.WriteFile(script, []byte(source), 0o600); err != nil {
			f.Failed = err.Error()
			return f, nil, nil
		}
		for _, v := range s.variants(0, true) {
			if v.told != s.told {
				continue // a minute for what is known to be slower
			}
			p := newProcess(s, v, v.environment(), append([]string{s.python, script}, args...)...)
			processes = append(processes, p)
			all = append(all, &p.contestant)
		}
	}
	failing, err := takeTurns(all, rounds)
	if err != nil && failing != all[0] {
		f.NoTorch = err.Error()
		all = all[:1]
		_, err = takeTurns(all, rounds)
	}
	if err != nil {
		f.Failed = err.Error()
		return f, nil, nil
	}
	best := f.decide(all)
	for _, p := range processes {
		if &p.contestant == best {
			return f, ours, p
		}
	}
	return f, ours, nil
}

// takeTurns runs each so many times, and returns which failed and how.
func takeTurns(all []*contestant, rounds int) (*contestant, error) {
	for _, c := range all {
		c.wall, c.cpu = nil, nil
	}
	for i := range rounds {
		for j := range all {
			c := all[(i+j)%len(all)]
			took, err := c.run(0, 1)
			if err != nil {
				return c, err
			}
			c.wall, c.cpu = append(c.wall, took.wall), append(c.cpu, took.cpu)
		}
	}
	return nil, nil
}

func firstProgram(s *session) figure {
	f, _, _ := wholeProcess(s, figure{Row: "program 1, whole process", Goal: goalFirst}, s.effort.programs[0], "linear", linearSource)
	return f
}

// secondProgram is the time of the program, and what it leaves in the process.
func secondProgram(s *session) []figure {
	f := figure{Row: "program 2, whole process", Goal: goalSecond}
	folder, err := s.mnist()
	if err != nil {
		f.Failed = err.Error()
		return []figure{f}
	}
	f, ours, theirs := wholeProcess(s, f, s.effort.programs[1], "mnist", mnistSource, folder)
	if ours == nil || ours.told.Before == 0 { // the system does not tell
		return []figure{f}
	}
	left := figure{Row: "program 2, memory left in the process", Unit: "B", Most: goalLeft}
	one := summarize([]float64{ours.told.After - ours.told.Before})
	one.Results = ours.told.Results
	left.Ebb = &one
	if theirs != nil {
		other := summarize([]float64{theirs.told.After - theirs.told.Before})
		other.Threads, other.Told = theirs.threads, theirs.variant.told
		other.Results = theirs.told.Results
		left.Torch = &other
		left.Ratio = one.Median / other.Median
		left.tolerance = tolerance
	}
	return []figure{f, left}
}
