package nn

import "github.com/ebb-ml/ebb"

// LossOption configures a loss. An option that means nothing for a loss is an
// ErrValue panic.
type LossOption func(*lossConfig)

type lossConfig struct {
	ebb.CrossEntropyOptions
	classes bool // an option of class losses was given
}

func lossOptions(opts []LossOption) lossConfig {
	defaults := lossConfig{CrossEntropyOptions: ebb.CrossEntropyOptions{IgnoreIndex: -100}}
	if len(opts) == 0 {
		return defaults // and nothing for the collector
	}
	c := defaults
	for _, o := range opts {
		o(&c)
	}
	return c
}

// Reduction says how the losses of the samples become the result; the default
// is [ebb.ReduceMean].
func Reduction(r ebb.Reduction) LossOption { return func(c *lossConfig) { c.Reduction = r } }

// ClassWeight weighs the classes by w, of shape [C] and the logits' type.
func ClassWeight(w *ebb.Tensor) LossOption {
	return func(c *lossConfig) { c.Weight, c.classes = w, true }
}

// IgnoreIndex leaves out samples whose target is i; the default is -100.
func IgnoreIndex(i int) LossOption { return func(c *lossConfig) { c.IgnoreIndex, c.classes = i, true } }

// LabelSmoothing mixes the targets with the uniform distribution, by a share
// from 0 to 1.
func LabelSmoothing(share float64) LossOption {
	return func(c *lossConfig) { c.LabelSmoothing, c.classes = share, true }
}

// CrossEntropyLoss returns the cross entropy of logits [N, C] (or [C], or
// [N, C, d1, ...]) and target: class indices or probabilities. It is
// torch.nn.CrossEntropyLoss; see [ebb.CrossEntropy].
func CrossEntropyLoss(logits, target *ebb.Tensor, opts ...LossOption) *ebb.Tensor {
	return ebb.CrossEntropy(logits, target, lossOptions(opts).CrossEntropyOptions)
}

// MSELoss returns the mean of the squared differences of x and y; [Reduction]
// chooses the sum or each. It is torch.nn.MSELoss; see [ebb.MSELoss].
func MSELoss(x, y *ebb.Tensor, opts ...LossOption) *ebb.Tensor {
	c := lossOptions(opts)
	if c.classes {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "mse_loss", Given: "an option for losses of classes", Advice: "give Reduction only"})
	}
	return ebb.MSELoss(x, y, c.Reduction)
}
