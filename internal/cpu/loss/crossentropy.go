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
	p := newProblem[T](logits, opt)
	if target.DType == cpu.Float32 || target.DType == cpu.Float64 {
		p.probabilities(loss, logSumExp, target)
		return nil
	}
	denominator, err := p.targetWeight(target)
	if err != nil {
		return err
	}
	eps := opt.LabelSmoothing
	total := p.eachRow(func(r int) float64 {
		at := p.at(logits, r)
		greatest, logSum := p.logSumExp(at)
		setFloat64(logSumExp, r, greatest+logSum)
		l := 0.0
		if y := classOf(target, r); y != opt.IgnoreIndex {
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
		if opt.Reduction == None {
			store[T](loss.Data, single(loss, r), l)
		}
		return l
	})
	p.finish(loss, total, denominator)
	return nil
}

func backward[T float](grad, gradLoss, logits, logSumExp, target cpu.Array, opt Options) error {
	p := newProblem[T](logits, opt)
	if target.DType == cpu.Float32 || target.DType == cpu.Float64 {
		p.probabilitiesBackward(grad, gradLoss, logSumExp, target)
		return nil
	}
	denominator, err := p.targetWeight(target)
	if err != nil {
		return err
	}
	eps, weights := opt.LabelSmoothing, 0.0
	for c := range p.classes {
		weights += p.weight(c)
	}
	share := eps / float64(p.classes)
	p.eachRow(func(r int) float64 {
		at, out := p.at(logits, r), p.at(grad, r)
		y := classOf(target, r)
		if y == opt.IgnoreIndex {
			for c := range p.classes {
				store[T](grad.Data, out+c*grad.Strides[1], 0)
			}
			return 0
		}
		g := p.upstream(gradLoss, r, denominator)
		lse := getFloat64(logSumExp, r)
		own := (1 - eps) * p.weight(int(y))
		scale := own + float64(share*weights)
		if eps == 0 && p.vectors && p.opt.Weight == nil && inVectors(grad) {
			// The target's element is a difference, which needs float64.
			d := p.exp(load[T](logits.Data, at+int(y)*logits.Strides[1])-lse) - 1
			probabilitiesOf(float32At(grad, out), float32At(logits, at), p.classes, lse, g)
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
	})
	return nil
}

// targetWeight checks all targets and returns the sum of their classes'
// weights, ignored ones apart.
func (p *problem[T]) targetWeight(target cpu.Array) (float64, error) {
	sum := 0.0
	for r := range p.rows {
		y := classOf(target, r)
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

func classOf(target cpu.Array, r int) int64 {
	o := single(target, r)
	if target.DType == cpu.Int32 {
		return int64(*(*int32)(unsafe.Add(target.Data, 4*o)))
	}
	return *(*int64)(unsafe.Add(target.Data, 8*o))
}

func getFloat64(a cpu.Array, r int) float64 { return load[float64](a.Data, single(a, r)) }

func setFloat64(a cpu.Array, r int, v float64) { store[float64](a.Data, single(a, r), v) }
