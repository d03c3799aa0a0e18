package optim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/optim"
)

// newRuntime returns a runtime that the test closes.
func newRuntime(t *testing.T) *ebb.Runtime {
	rt := ebb.NewRuntime()
	t.Cleanup(func() {
		rt.MarkFailed() // the test leaves its parameters
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// flat is what a loop must leave as it found it.
type flat struct {
	live, count            int64
	owners, tensors, nodes int
}

func flatOf(rt *ebb.Runtime) flat {
	s := rt.Stats()
	return flat{s.Live.Current, s.Live.Count, s.Owners, s.Tensors, s.Nodes}
}

// caught returns the *ebb.Error that f panics with.
func caught(t *testing.T, f func()) *ebb.Error {
	t.Helper()
	var err error
	func() {
		defer ebb.Catch(&err)
		f()
	}()
	var e *ebb.Error
	if !errors.As(err, &e) {
		t.Fatalf("no *ebb.Error, but %v", err)
	}
	return e
}

func tensorOf(o ebb.Owner, values []float64, dtype ebb.DType) *ebb.Tensor {
	if dtype == ebb.Float64 {
		return ebb.FromSliceWith(o, values, nil, ebb.Parameter)
	}
	single := make([]float32, len(values))
	for i, v := range values {
		single[i] = float32(v)
	}
	return ebb.FromSliceWith(o, single, nil, ebb.Parameter)
}

type trajectories struct {
	Start [][]float64
	Grads [][][]float64
	Cases []struct {
		Momentum, Dampening float64
		WeightDecay         float64 `json:"weight_decay"`
		Nesterov, Maximize  bool
		DType               string
		Steps               [][][]float64
	}
}

// Every combination of options gives PyTorch's bits, step by step.
func TestSGDFollowsPyTorch(t *testing.T) {
	raw, err := os.ReadFile("testdata/sgd.json")
	if err != nil {
		t.Fatal(err)
	}
	var want trajectories
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Cases) != 40 {
		t.Fatalf("%d cases, want 40", len(want.Cases))
	}
	for _, c := range want.Cases {
		name := fmt.Sprintf("momentum %v dampening %v decay %v nesterov %v maximize %v %s", c.Momentum, c.Dampening, c.WeightDecay, c.Nesterov, c.Maximize, c.DType)
		t.Run(name, func(t *testing.T) {
			rt := newRuntime(t)
			st := rt.NewStore("model")
			dtype := ebb.Float32
			if c.DType == "float64" {
				dtype = ebb.Float64
			}
			var params []*ebb.Tensor
			for _, p := range want.Start {
				params = append(params, tensorOf(st, p, dtype).SetRequiresGrad(true))
			}
			opts := []optim.Option{optim.LR(0.1), optim.Momentum(c.Momentum), optim.Dampening(c.Dampening), optim.WeightDecay(c.WeightDecay)}
			if c.Nesterov {
				opts = append(opts, optim.Nesterov())
			}
			if c.Maximize {
				opts = append(opts, optim.Maximize())
			}
			opt := optim.NewSGD(params, opts...)
			for i, grads := range want.Grads {
				opt.ZeroGrad()
				for j, g := range grads {
					if g == nil {
						continue
					}
					if err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
						params[j].SetGrad(tensorOf(s, g, dtype))
						return nil
					}); err != nil {
						t.Fatal(err)
					}
				}
				opt.Step()
				for j, p := range params {
					for k, want := range c.Steps[i][j] {
						got := p.Select(0, k).Item()
						if got != want {
							t.Fatalf("step %d, parameter %d[%d]: %v, PyTorch has %v", i, j, k, got, want)
						}
					}
				}
			}
		})
	}
}

// model is a small net of parameters in one store.
func model(rt *ebb.Runtime) (*ebb.Store, []*ebb.Tensor) {
	st := rt.NewStore("model")
	return st, []*ebb.Tensor{
		ebb.Full(st, ebb.Shape{4, 3}, 0.5, ebb.Parameter, ebb.RequiresGrad),
		ebb.Full(st, ebb.Shape{4}, 0.25, ebb.Parameter, ebb.RequiresGrad),
	}
}

// step computes gradients with an L2 penalty and clips them, both on
// parameters and gradients alone.
func step(rt *ebb.Runtime, params []*ebb.Tensor) error {
	return rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		loss := ebb.Linear(ebb.Ones(s, ebb.Shape{2, 3}), params[0], params[1]).Sum()
		for _, p := range params {
			loss = loss.Add(p.In(s).Mul(p).Sum())
		}
		loss.Backward()
		norm := ebb.Zeros(s, nil)
		for _, p := range params {
			g := p.Grad().In(s)
			norm = norm.Add(g.Mul(g).Sum())
		}
		for _, p := range params {
			p.Grad().Div_(norm)
		}
		return nil
	})
}

// Trainers made and closed over one model leave nothing.
func TestManyOptimizersOverOneModel(t *testing.T) {
	rt := newRuntime(t)
	_, params := model(rt)
	var first flat
	for i := range 100 {
		opt := optim.NewSGD(params, optim.LR(0.01), optim.Momentum(0.9))
		for range 3 {
			opt.ZeroGrad()
			if err := step(rt, params); err != nil {
				t.Fatal(err)
			}
			opt.Step()
		}
		opt.ZeroGrad()
		opt.Close()
		opt.Close()
		if i == 0 {
			first = flatOf(rt)
		}
	}
	if got := flatOf(rt); got != first {
		t.Errorf("after 100 optimizers %+v, after one %+v", got, first)
	}
	if got := rt.Stats().ByKind[ebb.OptimizerState].Current; got != 0 {
		t.Errorf("%d bytes of optimizer state left", got)
	}
}

// Closing the model closes the state of its optimizers.
func TestStateLivesBelowItsParameters(t *testing.T) {
	rt := newRuntime(t)
	st, params := model(rt)
	opt := optim.NewSGD(params, optim.Momentum(0.9))
	if err := step(rt, params); err != nil {
		t.Fatal(err)
	}
	opt.Step()
	if got := rt.Stats().ByKind[ebb.OptimizerState].Current; got != 4*(12+4) {
		t.Errorf("%d bytes of optimizer state, want 64", got)
	}
	st.Close()
	if got := flatOf(rt); got != (flat{}) {
		t.Errorf("after Close: %+v", got)
	}
	opt.ZeroGrad()
	opt.Step() // nothing has a gradient
	opt.Close()
}

// If the state cannot be allocated no weight has changed, and the next step
// works.
func TestStepMakesStateFirst(t *testing.T) {
	rt := newRuntime(t)
	_, params := model(rt)
	opt := optim.NewSGD(params, optim.LR(0.5), optim.Momentum(0.9))
	if err := step(rt, params); err != nil {
		t.Fatal(err)
	}
	before := flatOf(rt)
	for n := 1; n <= 2; n++ {
		rt.FailNthAllocation(n)
		if e := caught(t, opt.Step); e.Kind != ebb.ErrOutOfMemory {
			t.Errorf("allocation %d: %v", n, e)
		}
		if got := flatOf(rt); got != before {
			t.Errorf("allocation %d left %+v, want %+v", n, got, before)
		}
		if v := params[0].Float32s()[0]; v != 0.5 {
			t.Errorf("a weight changed to %v", v)
		}
	}
	rt.FailNthAllocation(0)
	opt.Step()
	if params[0].Float32s()[0] == 0.5 {
		t.Error("the step did nothing")
	}
}

func TestStateDict(t *testing.T) {
	rt := newRuntime(t)
	_, params := model(rt)
	opt := optim.NewSGD(params[:1], optim.LR(0.1), optim.Momentum(0.9))
	opt.AddGroup(params[1:], optim.LR(0.2))
	if err := step(rt, params); err != nil {
		t.Fatal(err)
	}
	opt.Step()
	d := opt.StateDict()
	if len(d.Groups) != 2 || d.Groups[1].LR != 0.2 || d.Groups[1].Momentum != 0.9 || d.Groups[1].Params[0] != 1 || len(d.State) != 2 {
		t.Fatalf("state %+v", d)
	}
	other := optim.NewSGD(params[:1])
	other.AddGroup(params[1:])
	if err := other.LoadStateDict(d); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		a, b := d.State[n]["momentum_buffer"], other.StateDict().State[n]["momentum_buffer"]
		for i, v := range a.Float32s() {
			if b.Float32s()[i] != v {
				t.Errorf("buffer %d differs", n)
			}
		}
	}
	before := flatOf(rt)
	for range 10_000 {
		if err := other.LoadStateDict(d); err != nil {
			t.Fatal(err)
		}
	}
	if got := flatOf(rt); got != before {
		t.Errorf("after 10,000 loads %+v, before %+v", got, before)
	}
	for n := 1; n <= 2; n++ {
		rt.FailNthAllocation(n)
		if err := other.LoadStateDict(d); !errors.Is(err, ebb.ErrOutOfMemory) {
			t.Errorf("allocation %d: %v", n, err)
		}
		if got := flatOf(rt); got != before {
			t.Errorf("a failed load left %+v, want %+v", got, before)
		}
	}

	bad, negative := opt.StateDict(), opt.StateDict()
	bad.Groups = bad.Groups[:1]
	negative.Groups[0].LR = -1
	wrong := []optim.StateDict{bad, negative, {State: map[int]map[string]*ebb.Tensor{7: {"momentum_buffer": params[0]}}, Groups: d.Groups},
		{State: map[int]map[string]*ebb.Tensor{0: {"exp_avg": params[0]}}, Groups: d.Groups},
		{State: map[int]map[string]*ebb.Tensor{0: {"momentum_buffer": params[1]}}, Groups: d.Groups},
		{State: map[int]map[string]*ebb.Tensor{0: {"momentum_buffer": nil}}, Groups: d.Groups}}
	for i, s := range wrong {
		if err := other.LoadStateDict(s); !errors.Is(err, ebb.ErrValue) {
			t.Errorf("wrong state %d: %v", i, err)
		}
	}
}

func TestBadOptions(t *testing.T) {
	rt := newRuntime(t)
	_, params := model(rt)
	for name, f := range map[string]func(){
		"learning rate": func() { optim.NewSGD(params, optim.LR(-1)) },
		"NaN":           func() { optim.NewSGD(params, optim.LR(math.NaN())) },
		"momentum":      func() { optim.NewSGD(params, optim.Momentum(-0.1)) },
		"weight decay":  func() { optim.NewSGD(params, optim.WeightDecay(-0.1)) },
		"Nesterov":      func() { optim.NewSGD(params, optim.Nesterov()) },
		"dampening":     func() { optim.NewSGD(params, optim.Nesterov(), optim.Momentum(0.9), optim.Dampening(0.1)) },
		"no parameters": func() { optim.NewSGD(nil) },
		"twice":         func() { optim.NewSGD(append(params, params[0])) },
		"nil":           func() { optim.NewSGD([]*ebb.Tensor{nil}) },
		"set":           func() { optim.NewSGD(params).Groups()[0].SetLR(-1) },
		"computed": func() {
			s := rt.NewScope("s")
			defer s.Close()
			optim.NewSGD([]*ebb.Tensor{params[0].In(s).Add(params[0])})
		},
	} {
		if e := caught(t, f); e.Kind != ebb.ErrValue {
			t.Errorf("%s: %v", name, e)
		}
	}
	opt := optim.NewSGD(params)
	opt.Close()
	if e := caught(t, opt.Step); e.Kind != ebb.ErrClosed {
		t.Errorf("a step of a closed optimizer: %v", e)
	}
}

// A step while another or a Backward runs on the same parameters is refused,
// and says where the other is.
func TestOneStepAtATime(t *testing.T) {
	rt := newRuntime(t)
	_, params := model(rt)
	opt := optim.NewSGD(params)
	if err := step(rt, params); err != nil {
		t.Fatal(err)
	}
	release := ebb.Claim("another step", params)
	e := caught(t, opt.Step)
	if e.Kind != ebb.ErrBusy || !strings.Contains(e.Released.String(), "sgd_test.go") {
		t.Errorf("%v", e)
	}
	release()
	opt.Step()
}

// Frozen parameters and parameters without a gradient are left alone.
func TestFrozenParameters(t *testing.T) {
	rt := newRuntime(t)
	_, params := model(rt)
	params[1].SetRequiresGrad(false)
	opt := optim.NewSGD(params, optim.LR(0.1))
	if err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		ebb.Linear(ebb.Ones(s, ebb.Shape{2, 3}), params[0], params[1]).Sum().Backward()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	opt.Step()
	if params[1].Float32s()[0] != 0.25 || params[0].Float32s()[0] == 0.5 {
		t.Errorf("frozen %v, training %v", params[1].Float32s()[0], params[0].Float32s()[0])
	}
}
