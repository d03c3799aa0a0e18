package loss

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// CrossEntropy is torch.nn.functional.cross_entropy: the loss of logits
// [N, C] or [N, C, d1, ...] (Float32 or Float64) against target, which is
// either class indices [N, d1, ...] (Int64 or Int32) or class probabilities of
// the logits' shape and dtype.
//
// loss has the logits' dtype and shape [N, d1, ...] with reduction None, else
// one element. logSumExp, Float64 [N, d1, ...], is set to the logarithm of the
// sum of each row's exponentials, for CrossEntropyBackward. All arrays may
// have any strides. A target that is not a class is a *TargetError, found
// before anything is written.
//
// With reduction Mean and nothing to average over the loss is NaN, as in
// PyTorch.
func CrossEntropy(loss, logSumExp, logits, target cpu.Array, opt Options) error {
	if logits.DType == cpu.Float32 {
		return forward[float32](loss, logSumExp, logits, target, opt)
	}
	return forward[float64](loss, logSumExp, logits, target, opt)
}

// CrossEntropyBackward sets grad, of the logits' shape and dtype, to the
// gradient of CrossEntropy with respect to the logits: gradLoss, of the loss's
// shape, is the gradient of the loss; the other arguments are those of the
// forward call. grad may be the memory of logits, laid out the same way.
func CrossEntropyBackward(grad, gradLoss, logits, logSumExp, target cpu.Array, opt Options) error {
	if logits.DType == cpu.Float32 {
		return backward[float32](grad, gradLoss, logits, logSumExp, target, opt)
	}
	return backward[float64](grad, gradLoss, logits, logSumExp, target, opt)
}

func forward[T float](loss, logSumExp, logits, target cpu.Array, opt Options) error {
	if target.DType == cpu.Float32 || target.DType == cpu.Float64 {
		p := newProblem[T](logits, opt)
		p.probabilities(loss, logSumExp, target)
		return nil
	}
	p := newProblem[T](logits, opt)
	denominator, err := p.targetWeight(target)
	if err != nil {
		return err
	}
	k := forwardRow[T]{loss, logSumExp, target}
	total := 0.0
	if p.tasks() > 1 {
		total = inTasks(p, k)
	} else {
		for r := range p.rows {
			total += k.row(&p, r)
		}
	}
	p.finish(loss, total, denominator)
	return nil
}

// forwardRow computes the loss of a row.
type forwardRow[T float] struct{ loss, logSumExp, target cpu.Array }

func (k forwardRow[T]) row(p *problem[T], r int) float64 {
	logits, eps := &p.logits, p.opt.LabelSmoothing
	at := p.at(logits, r)
	greatest, logSum := p.logSumExp(at)
	setFloat64(&k.logSumExp, r, greatest+logSum)
	l := 0.0
	if y := classOf(&k.target, r); y != p.opt.IgnoreIndex {
		c := int(y)
		logp := load[T](logits.Data, at+c*logits.Strides[1]) - greatest - logSum
		l = -float64(p.weight(c) * logp)
		if eps > 0 {
			smooth := 0.0
			for c := range p.classes {
				logp := load[T](logits.Data, at+c*logits.Strides[1]) - greatest - logSum
				smooth -= float64(p.weight(c) * logp)
			}
			l = float64((1-eps)*l) + float64(eps/float64(p.classes)*smooth)
		}
	}
	if p.opt.Reduction == None {
		store[T](k.loss.Data, single(&k.loss, r), l)
	}
	return l
}

func backward[T float](grad, gradLoss, logits, logSumExp, target cpu.Array, opt Options) error {
	if target.DType == cpu.Float32 || target.DType == cpu.Float64 {
		p := newProblem[T](logits, opt)
		p.probabilitiesBackward(grad, gradLoss, logSumExp, target)
		return nil
	}
	p := newProblem[T](logits, opt)
	denominator, err := p.targetWeight(target)
	if err != nil {
		return err
	}
	k := backwardRow[T]{grad: grad, gradLoss: gradLoss, logSumExp: logSumExp, target: target, denominator: denominator}
	for c := range p.classes {
		k.weights += p.weight(c)
	}
	if p.tasks() > 1 {
		inTasks(p, k)
		return nil
	}
	for r := range p.rows {
		k.row(&p, r)
	}
	return nil
}

// backwardRow computes the gradient of a row's logits.
type backwardRow[T float] struct {
	grad, gradLoss, logSumExp, target cpu.Array
	denominator, weights              float64
}

func (k backwardRow[T]) row(p *problem[T], r int) float64 {
	logits, grad, eps := &p.logits, &k.grad, p.opt.LabelSmoothing
	at, out := p.at(logits, r), p.at(grad, r)
	y := classOf(&k.target, r)
	if y == p.opt.IgnoreIndex {
		for c := range p.classes {
			store[T](grad.Data, out+c*grad.Strides[1], 0)
		}
		return 0
	}
	g := p.upstream(&k.gradLoss, r, k.denominator)
	lse := getFloat64(&k.logSumExp, r)
	own, share := (1-eps)*p.weight(int(y)), eps/float64(p.classes)
	scale := own + float64(share*k.weights)
	if eps == 0 && p.vectors && p.opt.Weight == nil && inVectors(*grad) {
		// The target's element is a difference, which needs float64.
		d := p.exp(load[T](logits.Data, at+int(y)*logits.Strides[1])-lse) - 1
		probabilitiesOf(float32At(*grad, out), float32At(*logits, at), p.classes, lse, g)
		store[T](grad.Data, out+int(y)*grad.Strides[1], g*d)
		return 0
	}
	for c := range p.classes {
		d := float64(scale * p.exp(load[T](logits.Data, at+c*logits.Strides[1])-lse))
		if c == int(y) {
			d -= own
		}
		if eps > 0 {
			d -= float64(share * p.weight(c))
		}
		store[T](grad.Data, out+c*grad.Strides[1], g*d)
	}
	return 0
}

// targetWeight checks all targets and returns the sum of their classes'
// weights, ignored ones apart.
func (p *problem[T]) targetWeight(target cpu.Array) (float64, error) {
	sum := 0.0
	for r := range p.rows {
		y := classOf(&target, r)
		if y == p.opt.IgnoreIndex {
			continue
		}
		if y < 0 || y >= int64(p.classes) {
			return 0, &TargetError{Row: r, Target: y, Classes: p.classes}
		}
		sum += p.weight(int(y))
	}
	return sum, nil
}

func classOf(target *cpu.Array, r int) int64 {
	o := single(target, r)
	if target.DType == cpu.Int32 {
		return int64(*(*int32)(unsafe.Add(target.Data, 4*o)))
	}
	return *(*int64)(unsafe.Add(target.Data, 8*o))
}

func getFloat64(a *cpu.Array, r int) float64 { return load[float64](a.Data, single(a, r)) }

func setFloat64(a *cpu.Array, r int, v float64) { store[float64](a.Data, single(a, r), v) }
