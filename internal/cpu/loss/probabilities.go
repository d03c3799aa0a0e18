package loss

import "github.com/ebb-ml/ebb/internal/cpu"

// smoothed is the weight that a class has in its row's loss: its probability,
// smoothed, times the class's weight.
func (p *problem[T]) smoothed(target cpu.Array, at, c int) float64 {
	t := load[T](target.Data, at+c*target.Strides[1])
	if eps := p.opt.LabelSmoothing; eps > 0 {
		t = float64(t*(1-eps)) + eps/float64(p.classes)
	}
	return float64(t * p.weight(c))
}

// probabilities is the forward pass for targets that are probabilities.
func (p *problem[T]) probabilities(loss, logSumExp, target cpu.Array) {
	logits := p.logits
	total := p.eachRow(func(r int) float64 {
		at, from := p.at(&logits, r), p.at(&target, r)
		greatest, logSum := p.logSumExp(at)
		setFloat64(&logSumExp, r, greatest+logSum)
		l := 0.0
		for c := range p.classes {
			logp := load[T](logits.Data, at+c*logits.Strides[1]) - greatest - logSum
			l -= float64(p.smoothed(target, from, c) * logp)
		}
		if p.opt.Reduction == None {
			store[T](loss.Data, single(&loss, r), l)
		}
		return l
	})
	p.finish(loss, total, float64(p.rows))
}

func (p *problem[T]) probabilitiesBackward(grad, gradLoss, logSumExp, target cpu.Array) {
	logits := p.logits
	p.eachRow(func(r int) float64 {
		at, from, out := p.at(&logits, r), p.at(&target, r), p.at(&grad, r)
		g := p.upstream(&gradLoss, r, float64(p.rows))
		lse := getFloat64(&logSumExp, r)
		all := 0.0
		for c := range p.classes {
			all += p.smoothed(target, from, c)
		}
		for c := range p.classes {
			prob := p.exp(load[T](logits.Data, at+c*logits.Strides[1]) - lse)
			store[T](grad.Data, out+c*grad.Strides[1], g*(float64(prob*all)-p.smoothed(target, from, c)))
		}
		return 0
	})
}

// CrossEntropyTargetBackward sets gradTarget, of the logits' shape and dtype,
// to the gradient of CrossEntropy with respect to targets that are class
// probabilities. The other arguments are as for CrossEntropyBackward; the
// targets themselves are not needed.
func CrossEntropyTargetBackward(gradTarget, gradLoss, logits, logSumExp cpu.Array, opt Options) {
	if logits.DType == cpu.Float32 {
		targetBackward[float32](gradTarget, gradLoss, logits, logSumExp, opt)
	} else {
		targetBackward[float64](gradTarget, gradLoss, logits, logSumExp, opt)
	}
}

func targetBackward[T float](gradTarget, gradLoss, logits, logSumExp cpu.Array, opt Options) {
	p := newProblem[T](logits, opt)
	p.eachRow(func(r int) float64 {
		at, out := p.at(&logits, r), p.at(&gradTarget, r)
		g := p.upstream(&gradLoss, r, float64(p.rows)) * (1 - opt.LabelSmoothing)
		lse := getFloat64(&logSumExp, r)
		for c := range p.classes {
			logp := load[T](logits.Data, at+c*logits.Strides[1]) - lse
			store[T](gradTarget.Data, out+c*gradTarget.Strides[1], -g*float64(p.weight(c)*logp))
		}
		return 0
	})
}
