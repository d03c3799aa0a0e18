package loss

import "github.com/ebb-ml/ebb/internal/cpu"

// Targets sets dst, of the logits' shape and dtype, to what class-index targets
// ask of each class: the row's class weights, smoothed, divided by the
// denominator of reduction Mean. The loss of a row is then minus the sum of
// dst times the log-probabilities, which is how a gradient of the gradient is
// computed. A target that is not a class is a *TargetError.
func Targets(dst, target cpu.Array, opt Options) error {
	if dst.DType == cpu.Float32 {
		return targets[float32](dst, target, opt)
	}
	return targets[float64](dst, target, opt)
}

func targets[T float](dst, target cpu.Array, opt Options) error {
	p := newProblem[T](dst, opt)
	denominator, err := p.targetWeight(target)
	if err != nil {
		return err
	}
	if opt.Reduction != Mean {
		denominator = 1
	}
	p.eachRow(func(r int) float64 {
		at, y := p.at(&dst, r), classOf(&target, r)
		for c := range p.classes {
			v := 0.0
			if y != opt.IgnoreIndex {
				v = opt.LabelSmoothing / float64(p.classes) * p.weight(c)
				if int(y) == c {
					v += (1 - opt.LabelSmoothing) * p.weight(c)
				}
			}
			store[T](dst.Data, at+c*dst.Strides[1], v/denominator)
		}
		return 0
	})
	return nil
}
