package ebb

import (
	"errors"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/loss"
)

// Reduction says how a loss's elements become its result.
type Reduction uint8

// The reductions of PyTorch's losses.
const (
	ReduceMean Reduction = iota
	ReduceSum
	ReduceNone
)

// CrossEntropyOptions are those of torch.nn.functional.cross_entropy.
type CrossEntropyOptions struct {
	Weight         *Tensor // [C], one per class; nil: all 1
	IgnoreIndex    int     // class-index targets of this value count nothing; PyTorch's default is -100
	LabelSmoothing float64 // from 0 to 1
	Reduction      Reduction
}

// crossEntropyAttrs is what the kernels need beside the operands.
type crossEntropyAttrs struct {
	opt    loss.Options // without the weight
	weight int          // which operand the weight is; 0: none
}

// options returns the kernel's options with the weight's memory.
func (a crossEntropyAttrs) options(c *call) loss.Options {
	o := a.opt
	if a.weight > 0 {
		w := c.src(a.weight)
		o.Weight = &w
	}
	return o
}

// targetError turns a bad target into an *Error.
func targetError(err error) *Error {
	if err == nil {
		return nil
	}
	var t *loss.TargetError
	if !errors.As(err, &t) {
		return nil
	}
	return &Error{Kind: ErrIndex, Given: t.Error(), Advice: "classes count from 0; IgnoreIndex leaves rows out"}
}

// opCrossEntropy: operands logits, target, and weight if any. The gradient
// needs the logits and, hidden, each row's log-sum-exp in Float64.
var opCrossEntropy = &opdef{name: "cross_entropy", kernel: func(c *call) *Error {
	a := c.attrs.(crossEntropyAttrs)
	var lse cpu.Array
	if c.nhidden > 0 {
		lse = c.dst(1)
	} else {
		lse = layoutOf(Float64, rowShape(c.in[0].shape)).array(c.workspace())
	}
	return targetError(loss.CrossEntropy(c.dst(0), lse, c.src(0), c.src(1), a.options(c)))
}}

// opCrossEntropyBackward: operands gradient, logits, log-sum-exp, target,
// weight if any. opCrossEntropyTarget is the same without target, for targets
// that are probabilities.
var (
	opCrossEntropyBackward = &opdef{name: "cross_entropy_backward", kernel: func(c *call) *Error {
		return targetError(loss.CrossEntropyBackward(c.dst(0), c.src(0), c.src(1), c.src(2), c.src(3), c.attrs.(crossEntropyAttrs).options(c)))
	}}
	opCrossEntropyTarget = &opdef{name: "cross_entropy_backward", kernel: func(c *call) *Error {
		loss.CrossEntropyTargetBackward(c.dst(0), c.src(0), c.src(1), c.src(2), c.attrs.(crossEntropyAttrs).options(c))
		return nil
	}}
	opTargets = &opdef{name: "cross_entropy_targets", constant: true, kernel: func(c *call) *Error {
		return targetError(loss.Targets(c.dst(0), c.src(0), c.attrs.(crossEntropyAttrs).options(c)))
	}}
)

func init() {
	opCrossEntropy.save = func(c *call) {
		c.saveIn(0)
		c.saveIn(1)
		if len(c.in) == 3 {
			c.saveIn(2)
		}
		c.hidden(Float64, rowShape(c.in[0].shape))
	}
	opCrossEntropy.grad = func(b *backward) {
		if !b.e.scope.NoGrad() {
			crossEntropyGraph(b)
			return
		}
		a := b.n.attrs.(crossEntropyAttrs)
		g, logits := b.grad(), b.in(0)
		var weight []*Tensor
		if a.weight > 0 {
			weight = []*Tensor{b.in(2)}
		}
		b.giveIf(0, func() *Tensor {
			if a.weight > 0 {
				a.weight = 4
			}
			return apply(opCrossEntropyBackward, a, logits.dtype, logits.shape, append([]*Tensor{g, logits, b.out(1), b.in(1)}, weight...)...)
		})
		b.giveIf(1, func() *Tensor {
			if a.weight > 0 {
				a.weight = 3
			}
			return apply(opCrossEntropyTarget, a, logits.dtype, logits.shape, append([]*Tensor{g, logits, b.out(1)}, weight...)...)
		})
	}
}

// crossEntropyGraph is the gradient in operations that have gradients
// themselves: with t what the targets ask of each class, the loss of a row is
// -sum(t * log_softmax(logits)).
func crossEntropyGraph(b *backward) {
	a := b.n.attrs.(crossEntropyAttrs)
	g, logits, target := b.grad(), b.in(0).In(b.e.scope), b.in(1)
	var weight *Tensor
	if a.weight > 0 {
		shape := make([]int, len(logits.shape)-1)
		for i := range shape {
			shape[i] = 1
		}
		shape[0] = logits.shape[1]
		weight = b.in(2).In(b.e.scope).View(shape...)
	}
	var t *Tensor
	keep := 1.0 // what a probability's own gradient is scaled by
	if target.dtype.IsFloat() {
		keep = 1 - a.opt.LabelSmoothing
		t = target.In(b.e.scope)
		if s := a.opt.LabelSmoothing; s > 0 {
			t = times(t, keep).Add(t.NewFull(nil, s/float64(logits.shape[1])))
		}
		if weight != nil {
			t = t.Mul(weight)
		}
		if a.opt.Reduction == loss.Mean {
			n := float64(size(rowShape(logits.shape)))
			t, keep = times(t, 1/n), keep/n
		}
	} else {
		in := []*Tensor{target.In(b.e.scope)}
		if weight != nil {
			a.weight = 1
			in = append(in, b.in(2))
		}
		t = apply(opTargets, a, logits.dtype, logits.shape, in...)
	}
	if a.opt.Reduction == loss.None {
		g = g.Unsqueeze(1)
	}
	b.giveIf(0, func() *Tensor { return logits.Softmax(1).Mul(t.SumKeep(1)).Sub(t).Mul(g) })
	b.giveIf(1, func() *Tensor {
		d := times(logits.LogSoftmax(1), -keep)
		if weight != nil {
			d = d.Mul(weight)
		}
		return d.Mul(g)
	})
}

// times returns x * v.
func times(x *Tensor, v float64) *Tensor { return x.MulScalar(v) }

// layoutOf returns a contiguous layout.
func layoutOf(dtype DType, shape []int) *layout {
	return &layout{dtype: dtype, shape: shape, strides: contiguousStrides(shape)}
}

// rowShape is the shape of logits [N, C, d1, ...] without the classes.
func rowShape(logits []int) []int {
	return append([]int{logits[0]}, logits[2:]...)
}

// CrossEntropy returns the cross entropy of logits [C], [N, C] or
// [N, C, d1, ...] (Float32 or Float64) and target: class indices (Int64, Int32
// or Uint8, of the logits' shape without C) or probabilities of the logits'
// shape and type. The result is a single number, or with ReduceNone one per
// target. A class index out of range is an [ErrIndex] panic. With ReduceMean
// and nothing to average the result is NaN.
//
// It is torch.nn.functional.cross_entropy. For the gradient it keeps the
// logits and one Float64 per row.
func CrossEntropy(logits, target *Tensor, opt CrossEntropyOptions) *Tensor {
	operands := []*Tensor{logits, target}
	if logits == nil || target == nil {
		panic(newError(ErrValue, "cross_entropy", nil, "an operand is nil"))
	}
	if !logits.dtype.IsFloat() {
		panic(newError(ErrDType, "cross_entropy", operands, "logits are floating-point numbers").advise("convert with To"))
	}
	if opt.LabelSmoothing < 0 || opt.LabelSmoothing > 1 || opt.LabelSmoothing != opt.LabelSmoothing {
		panic(newError(ErrValue, "cross_entropy", operands, "label smoothing %v, expected from 0 to 1", opt.LabelSmoothing))
	}
	if opt.Reduction > ReduceNone {
		panic(newError(ErrValue, "cross_entropy", operands, "reduction %d is none of ReduceMean, ReduceSum, ReduceNone", opt.Reduction))
	}
	probabilities := target.dtype.IsFloat()
	if len(logits.shape) == 1 {
		x, t := logits.Unsqueeze(0), target.Unsqueeze(0)
		l := CrossEntropy(x, t, opt)
		if opt.Reduction == ReduceNone {
			return l.Squeeze(0)
		}
		return l
	}
	if len(logits.shape) == 0 {
		panic(newError(ErrShape, "cross_entropy", operands, "logits [C], [N, C] or [N, C, d1, ...] expected"))
	}
	rows := rowShape(logits.shape)
	switch {
	case probabilities && (target.dtype != logits.dtype || !sameShape(target.shape, logits.shape)):
		panic(newError(ErrShape, "cross_entropy", operands, "probabilities of the logits' shape and type expected").advise("class indices are integers"))
	case target.dtype == Bool:
		panic(newError(ErrDType, "cross_entropy", operands, "targets are class indices or probabilities, not bool"))
	case !probabilities && !sameShape(target.shape, rows):
		panic(newError(ErrShape, "cross_entropy", operands, "class indices of shape %s expected", shapeString(rows)))
	}
	index := target
	if target.dtype == Uint8 {
		index = target.To(Int64)
		defer dropTemporary(index, target)
	}
	a := crossEntropyAttrs{opt: loss.Options{IgnoreIndex: int64(opt.IgnoreIndex), LabelSmoothing: opt.LabelSmoothing, Reduction: loss.Reduction(opt.Reduction)}}
	in := []*Tensor{logits, index}
	if w := opt.Weight; w != nil {
		if w.dtype != logits.dtype || !sameShape(w.shape, logits.shape[1:2]) {
			panic(newError(ErrShape, "cross_entropy", []*Tensor{logits, target, w}, "a weight of shape [%d] and the logits' type expected", logits.shape[1]))
		}
		if w.RequiresGrad() {
			panic(newError(ErrGraph, "cross_entropy", []*Tensor{logits, target, w}, "the weight of the classes has no gradient").advise("Detach it"))
		}
		a.weight = 2
		in = append(in, w)
	}
	shape := []int{}
	if opt.Reduction == ReduceNone {
		shape = rows
	}
	c := newCall(opCrossEntropy, a, in...).result(logits.dtype, shape)
	c.work = 8 * size(rows)
	return c.do()
}

var opMSE = &opdef{name: "mse_loss", kernel: func(c *call) *Error {
	loss.MSE(c.dst(0), c.src(0), c.src(1), c.attrs.(loss.Reduction))
	return nil
}}

// opMSEBackward: operands gradient, x, y.
var opMSEBackward = &opdef{name: "mse_loss_backward", kernel: func(c *call) *Error {
	loss.MSEBackward(c.dst(0), c.src(0), c.src(1), c.src(2), c.attrs.(loss.Reduction))
	return nil
}}

func init() {
	opMSE.save = func(c *call) {
		c.saveIn(0)
		c.saveIn(1)
	}
	opMSE.grad = func(b *backward) {
		g, x, y := b.grad(), b.in(0), b.in(1)
		r := b.n.attrs.(loss.Reduction)
		of := func(x, y *Tensor) func() *Tensor {
			if b.e.scope.NoGrad() {
				return func() *Tensor { return apply(opMSEBackward, r, x.dtype, x.shape, g, x, y) }
			}
			norm := 2.0
			if r == loss.Mean {
				norm /= float64(size(x.shape))
			}
			return func() *Tensor { return times(x.In(b.e.scope).Sub(y), norm).Mul(g) }
		}
		b.giveIf(0, of(x, y))
		b.giveIf(1, of(y, x))
	}
}

// MSELoss returns the squared differences of x and y, which broadcast and have
// one floating-point type: their mean, their sum, or with ReduceNone each. It is
// torch.nn.functional.mse_loss.
func MSELoss(x, y *Tensor, reduction Reduction) *Tensor {
	operands := []*Tensor{x, y}
	if x == nil || y == nil {
		panic(newError(ErrValue, "mse_loss", nil, "an operand is nil"))
	}
	if !x.dtype.IsFloat() || x.dtype != y.dtype {
		panic(newError(ErrDType, "mse_loss", operands, "operands of one floating-point type expected").advise("convert with To"))
	}
	if reduction > ReduceNone {
		panic(newError(ErrValue, "mse_loss", operands, "reduction %d is none of ReduceMean, ReduceSum, ReduceNone", reduction))
	}
	shape := jointShape("mse_loss", x, y)
	result := []int{}
	if reduction == ReduceNone {
		result = shape
	}
	return apply(opMSE, loss.Reduction(reduction), x.dtype, result, x.broadcastTo(shape), y.broadcastTo(shape))
}
