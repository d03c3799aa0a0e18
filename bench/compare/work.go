package main

import (
	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/bench"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
)

// scoped is work whose results lie in a scope that each step empties.
type scoped struct {
	store *ebb.Store
	scope *ebb.Scope
	op    func() *ebb.Tensor
}

func newScoped(rt *ebb.Runtime, mode ebb.Mode) *scoped {
	return &scoped{store: rt.NewStore("operands"), scope: rt.NewScope("step", mode)}
}

func (w *scoped) first() []float64 {
	defer w.scope.Recycle()
	return summary(w.op().Float32s())
}

func (w *scoped) step() {
	w.op()
	w.scope.Recycle()
}

func (w *scoped) close() {
	w.scope.Close()
	w.store.Close()
}

// product is a matrix product of [m, k] and [k, n], each read transposed or not.
type product struct {
	m, k, n int
	tx, ty  bool
}

func (p product) args() args {
	return args{"m": p.m, "k": p.k, "n": p.n, "tx": p.tx, "ty": p.ty}
}

func (p product) flops() float64 { return 2 * float64(p.m) * float64(p.k) * float64(p.n) }

func (p product) make(rt *ebb.Runtime) (work, error) {
	w := newScoped(rt, ebb.NoGrad)
	operand := func(rows, cols int, transposed bool) *ebb.Tensor {
		if transposed {
			return ebb.Rand(w.store, ebb.Shape{cols, rows}).In(w.scope).T()
		}
		return ebb.Rand(w.store, ebb.Shape{rows, cols}).In(w.scope)
	}
	x := operand(p.m, p.k, p.tx)
	y := operand(p.k, p.n, p.ty)
	w.op = func() *ebb.Tensor { return x.MatMul(y) }
	return w, nil
}

// operation is an operation on n elements.
type operation struct {
	name  string
	bytes int // moved for each element: operands and result, once each
	n     int
}

func (o operation) args() args { return args{"op": o.name, "n": o.n} }

func (o operation) make(rt *ebb.Runtime) (work, error) {
	w := newScoped(rt, ebb.NoGrad)
	shape := ebb.Shape{o.n}
	if o.name == "softmax" {
		shape = ebb.Shape{o.n / 1000, 1000}
	}
	x := ebb.Rand(w.store, shape).In(w.scope)
	var y *ebb.Tensor
	switch o.name {
	case "relu", "exp", "softmax":
		x.SubScalar_(0.5)
	case "add", "mul":
		y = ebb.Rand(w.store, shape).In(w.scope)
	}
	w.op = map[string]func() *ebb.Tensor{
		"add":     func() *ebb.Tensor { return x.Add(y) },
		"mul":     func() *ebb.Tensor { return x.Mul(y) },
		"relu":    func() *ebb.Tensor { return x.ReLU() },
		"exp":     func() *ebb.Tensor { return x.Exp() },
		"sum":     func() *ebb.Tensor { return x.Sum() },
		"softmax": func() *ebb.Tensor { return x.Softmax(1) },
	}[o.name]
	return w, nil
}

// crossEntropy is the loss of n samples, with or without its gradient.
type crossEntropy struct {
	*scoped
	x        *ebb.Tensor
	gradient bool
}

func newCrossEntropy(rt *ebb.Runtime, n, classes int, gradient bool) *crossEntropy {
	mode := ebb.NoGrad
	if gradient {
		mode = ebb.EnableGrad
	}
	w := &crossEntropy{scoped: newScoped(rt, mode), gradient: gradient}
	w.x = ebb.Rand(w.store, ebb.Shape{n, classes}, ebb.Parameter).SetRequiresGrad(gradient)
	y := ebb.Randint(w.store, 0, classes, ebb.Shape{n})
	w.op = func() *ebb.Tensor {
		w.x.ZeroGrad()
		loss := nn.CrossEntropyLoss(w.x.In(w.scope), y)
		if gradient {
			loss.Backward()
		}
		return loss
	}
	return w
}

func (w *crossEntropy) first() []float64 {
	defer w.scope.Recycle()
	r := []float64{w.op().Item()}
	if w.gradient {
		r = append(r, summary(w.x.Grad().Float32s())...)
	}
	return r
}

// updates is an optimizer's step on the parameters of the larger network.
type updates struct {
	store  *ebb.Store
	params []*ebb.Tensor
	opt    *optim.SGD
}

func newUpdates(rt *ebb.Runtime, momentum float64) *updates {
	w := &updates{store: rt.NewStore("model")}
	for _, shape := range []ebb.Shape{{1024, 784}, {1024}, {10, 1024}, {10}} {
		p := ebb.Rand(w.store, shape, ebb.Parameter).SetRequiresGrad(true)
		p.SetGrad(ebb.Rand(w.store, shape, ebb.Gradient))
		w.params = append(w.params, p)
	}
	w.opt = optim.NewSGD(w.params, optim.LR(1e-6), optim.Momentum(momentum))
	return w
}

func (w *updates) first() []float64 {
	for range 3 {
		w.opt.Step()
	}
	return append(summary(w.params[0].Float32s()), summary(w.params[3].Float32s())...)
}

func (w *updates) step() { w.opt.Step() }

func (w *updates) close() {
	w.opt.Close()
	w.store.Close()
}

// training is the training of MNIST's network on one batch in memory.
type training struct{ *bench.MLP }

func (w training) first() []float64 {
	var losses []float64
	for range 20 {
		losses = append(losses, w.Loss())
	}
	return losses
}

func (w training) step()  { w.Step() }
func (w training) close() { w.Close() }
