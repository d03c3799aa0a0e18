// Package optim has the optimizers, as torch.optim.
//
// An optimizer is given parameters, usually nn.Parameters(model). Each step
// uses the gradients that Backward collected; [SGD.ZeroGrad] releases them
// before the next. Its state, such as momentum, lives in stores below those of
// the parameters, so that releasing the model releases it too; Close releases
// it earlier.
package optim

import (
	"fmt"

	"github.com/ebb-ml/ebb"
)

// Option configures an optimizer, or in a [Group] overrides the optimizer's
// configuration for the group.
type Option func(*config)

// config is what can differ from group to group.
type config struct {
	lr, momentum, dampening, weightDecay float64
	nesterov, maximize                   bool
}

// LR sets the learning rate, 0 or more; the default is 0.001.
func LR(lr float64) Option { return func(c *config) { c.lr = lr } }

// Momentum sets the momentum factor, 0 or more; the default is 0.
func Momentum(m float64) Option { return func(c *config) { c.momentum = m } }

// Dampening sets the dampening of momentum; the default is 0.
func Dampening(d float64) Option { return func(c *config) { c.dampening = d } }

// WeightDecay sets the L2 penalty, 0 or more; the default is 0.
func WeightDecay(w float64) Option { return func(c *config) { c.weightDecay = w } }

// Nesterov turns on Nesterov momentum, which needs a momentum and no
// dampening.
func Nesterov() Option { return func(c *config) { c.nesterov = true } }

// Maximize makes steps up the gradient instead of down.
func Maximize() Option { return func(c *config) { c.maximize = true } }

// check panics with ErrValue if c is out of its domain.
func (c config) check() {
	bad := ""
	switch {
	case !(c.lr >= 0):
		bad = fmt.Sprintf("learning rate %v", c.lr)
	case !(c.momentum >= 0):
		bad = fmt.Sprintf("momentum %v", c.momentum)
	case !(c.weightDecay >= 0):
		bad = fmt.Sprintf("weight decay %v", c.weightDecay)
	case c.nesterov && (c.momentum <= 0 || c.dampening != 0):
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "SGD", Given: "Nesterov with momentum " + fmt.Sprint(c.momentum) + " and dampening " + fmt.Sprint(c.dampening),
			Advice: "give a momentum above 0 and no dampening"})
	default:
		return
	}
	panic(&ebb.Error{Kind: ebb.ErrValue, Op: "SGD", Given: bad + ", expected 0 or more"})
}

// Group is parameters with a configuration of their own.
type Group struct {
	Params []*ebb.Tensor
	config
}
