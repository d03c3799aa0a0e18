package main

import (
	"fmt"
	"math"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/bench"
)

// row is a piece of work to measure. It may give several figures.
type row struct {
	name    string
	timed   *timed // nil: a row of another kind
	figures func(s *session) []figure
}

// The most that Ebb may need of PyTorch's time.
const (
	goalMatMul    = 1.15 // of any shape; the mean is to be 1
	goalStep      = 0.4
	goalLargeStep = 0.5
	goalLoader    = 1.0 / 30
	goalFirst     = 1.0 / 50
	goalSecond    = 1.0 / 12
	goalOdd       = 1.15 // of n = 512, for a FLOP of n = 511 and 513
	goalLasting   = 1.05 // of the time of the first hundred steps
	tolerance     = 2e-5 // of results: float32 sums in another order
	groupMatMul   = "matmul"
	groupElements = "elementwise and updates"
)

// The least that Ebb may do of what the machine can.
const (
	goalOneCore  = 0.85 // of multiply-adds, in products of 512 and more
	goalAllCores = 0.80
	goalMemory   = 0.80 // of the traffic, in operations on a million elements and more
)

// goalLeft is what program 2 may leave in the process at most, in bytes.
const goalLeft = 2 << 20

// groupGoals are the most that the geometric mean of a group's ratios may be.
var groupGoals = map[string]float64{groupMatMul: 1, groupElements: 0.9}

// rows are all there are, in the order in which they run.
func rows() []row {
	all := []row{
		{name: "program 1, whole process", figures: func(s *session) []figure { return []figure{firstProgram(s)} }},
		{name: "program 2, whole process", figures: secondProgram},
		step(64, 128, goalStep),
		step(512, 1024, goalLargeStep),
	}
	for _, n := range []int{64, 128, 256, 511, 512, 513, 1024, 2048} {
		all = append(all, matmul("", product{m: n, k: n, n: n}, 0))
	}
	for _, n := range []int{511, 512, 513, 1024, 2048} {
		all = append(all, matmul(", one core", product{m: n, k: n, n: n}, 1))
	}
	all = append(all,
		matmul(" x W'", product{m: 64, k: 784, n: 128, ty: true}, 0),
		matmul(" g W", product{m: 64, k: 128, n: 784}, 0),
		matmul(" g' x", product{m: 128, k: 64, n: 784, tx: true}, 0),
		matmul(" x W'", product{m: 64, k: 128, n: 10, ty: true}, 0),
		matmul(" x W'", product{m: 512, k: 784, n: 1024, ty: true}, 0),
		matmul(" x W'", product{m: 128, k: 768, n: 3072, ty: true}, 0),
	)
	for _, o := range []operation{{"add", 12, 0}, {"mul", 12, 0}, {"relu", 8, 0}, {"exp", 8, 0}, {"sum", 4, 0}, {"softmax", 8, 0}} {
		for _, n := range []float64{1e3, 1e4, 1e5, 1e6, 1e7} {
			o.n = int(n)
			all = append(all, elements(o))
		}
	}
	return append(all,
		lossRow(false), lossRow(true),
		update("SGD", 0, 3), update("SGD with momentum", 0.9, 5),
		loader(),
		row{name: "live peak, step 64 x 784-128-10", figures: func(s *session) []figure { return []figure{peakOf(s, 64, 128)} }},
		row{name: "live peak, step 512 x 784-1024-10", figures: func(s *session) []figure { return []figure{peakOf(s, 512, 1024)} }},
		row{name: "a step after many", figures: func(s *session) []figure { return []figure{lasting(s)} }},
	)
}

// timedRow is a row of one figure that t measures.
func timedRow(f figure, t timed, l limit) row {
	return row{f.Row, &t, func(s *session) []figure {
		if f.tolerance == 0 {
			f.tolerance = tolerance
		}
		return []figure{t.figure(s, f, l)}
	}}
}

// mlpFlops counts the products of a training step and of its gradients; the
// images need none.
func mlpFlops(batch, hidden int) float64 { return float64(batch*hidden) * (4*784 + 6*10) }

func step(batch, hidden int, goal float64) row {
	f := figure{
		Row:  fmt.Sprintf("step %d x 784-%d-10", batch, hidden),
		Goal: goal, Work: mlpFlops(batch, hidden), WorkUnit: "FLOP", LimitOf: "multiply-adds",
	}
	t := timed{kind: "mlp", args: args{"batch": batch, "hidden": hidden}, make: func(rt *ebb.Runtime) (work, error) {
		return training{bench.NewMLP(rt, batch, hidden)}, nil
	}}
	return timedRow(f, t, multiplies(cores()))
}

func matmul(suffix string, p product, threads int) row {
	f := figure{
		Row:  fmt.Sprintf("matmul %dx%dx%d%s", p.m, p.k, p.n, suffix),
		Goal: goalMatMul, Work: p.flops(), WorkUnit: "FLOP", LimitOf: "multiply-adds",
	}
	n := threads
	if threads == 0 {
		f.Group = groupMatMul
		n = cores()
	}
	if square := p.m == p.k && p.k == p.n; square && p.n >= 512 && p.n%512 == 0 {
		if f.ShareGoal = goalAllCores; n == 1 {
			f.ShareGoal = goalOneCore
		}
	}
	t := timed{kind: "matmul", args: p.args(), threads: threads, make: p.make}
	return timedRow(f, t, multiplies(n))
}

func elements(o operation) row {
	f := figure{
		Row:   fmt.Sprintf("%s of 1e%d", o.name, int(math.Round(math.Log10(float64(o.n))))),
		Group: groupElements, Work: float64(o.bytes * o.n), WorkUnit: "B", LimitOf: "memory",
	}
	if o.n >= 1e6 {
		f.ShareGoal = goalMemory
	}
	t := timed{kind: "elementwise", args: o.args(), make: o.make}
	return timedRow(f, t, moves(o.bytes/4, o.n, coresFor(o.n)))
}

func lossRow(gradient bool) row {
	const n, classes = 512, 1000
	f := figure{
		Row:   "cross entropy 512x1000",
		Group: groupElements, Work: 4 * n * classes, WorkUnit: "B", LimitOf: "memory",
	}
	arrays := 1
	if gradient {
		f.Row += " with gradient"
		f.Work *= 3 // read for the loss, read and written for the gradient
		arrays = 2
	}
	t := timed{kind: "crossentropy", args: args{"n": n, "classes": classes, "gradient": gradient}, make: func(rt *ebb.Runtime) (work, error) {
		return newCrossEntropy(rt, n, classes, gradient), nil
	}}
	return timedRow(f, t, moves(arrays, n*classes, cores()))
}

func update(name string, momentum float64, arrays int) row {
	const elements = 1024*784 + 1024 + 10*1024 + 10
	f := figure{
		Row:   name + ", 784-1024-10",
		Group: groupElements, Work: float64(4 * arrays * elements), WorkUnit: "B", LimitOf: "memory",
	}
	t := timed{kind: "sgd", args: args{"momentum": momentum}, make: func(rt *ebb.Runtime) (work, error) {
		return newUpdates(rt, momentum), nil
	}}
	return timedRow(f, t, moves(3, elements, cores()))
}

func loader() row {
	const batch = 64
	f := figure{Row: "loader, MNIST shuffled, a batch of 64", Goal: goalLoader, Work: batch, WorkUnit: "samples", tolerance: tolerance}
	return row{name: f.Row, figures: func(s *session) []figure {
		folder, err := s.mnist()
		if err != nil {
			f.Failed = err.Error()
			return []figure{f}
		}
		t := timed{kind: "loader", args: args{"folder": folder, "batch": batch}, make: func(rt *ebb.Runtime) (work, error) {
			return newLoading(s.ctx, rt, folder, batch)
		}}
		return []figure{t.figure(s, f, noLimit)}
	}}
}
