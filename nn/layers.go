package nn

import (
	"fmt"
	"math"

	"github.com/ebb-ml/ebb"
)

// LayerOption configures the making of a layer with parameters.
type LayerOption interface{ layer(*layerConfig) }

type layerConfig struct {
	noBias bool
	dtype  ebb.DType
	gen    *ebb.Generator
}

type layerOption func(*layerConfig)

func (o layerOption) layer(c *layerConfig) { o(c) }

// NoBias leaves out the bias.
func NoBias() LayerOption { return layerOption(func(c *layerConfig) { c.noBias = true }) }

// WithDType sets the parameters' type: [ebb.Float32], the default, or
// [ebb.Float64].
func WithDType(d ebb.DType) LayerOption { return layerOption(func(c *layerConfig) { c.dtype = d }) }

// Linear is y = x W^T + b for x of shape [*, in] and a result [*, out]. It is
// torch.nn.Linear.
type Linear struct {
	Weight *ebb.Tensor // [out, in]
	Bias   *ebb.Tensor // [out], or nil
}

// NewLinear makes a linear layer in a store of its own below store. Weight and
// bias are uniform in (-1/sqrt(in), 1/sqrt(in)), drawn as torch.nn.Linear does:
// the weight first. Options are [NoBias], [WithDType] and [WithGenerator]. The
// layer's store closes with [Release], with the store above it, and when
// NewLinear fails.
func NewLinear(store *ebb.Store, in, out int, opts ...LayerOption) *Linear {
	c := layerConfig{dtype: ebb.Float32}
	for _, o := range opts {
		o.layer(&c)
	}
	if !c.dtype.IsFloat() {
		panic(&ebb.Error{Kind: ebb.ErrDType, Op: "Linear", Given: fmt.Sprintf("parameters of type %s", c.dtype), Advice: "choose float32 or float64"})
	}
	own := store.NewStore("linear")
	made := false
	defer func() {
		if !made {
			own.Close()
		}
	}()
	l := &Linear{Weight: ebb.Empty(own, ebb.Shape{out, in}, ebb.Parameter, c.dtype)}
	// The bound comes to 1/sqrt(in).
	KaimingUniform_(l.Weight, Gain(CalculateGain("leaky_relu", math.Sqrt(5))), WithGenerator(c.gen))
	if !c.noBias {
		l.Bias = ebb.Empty(own, ebb.Shape{out}, ebb.Parameter, c.dtype)
		bound := 0.0
		if in > 0 {
			bound = 1 / math.Sqrt(float64(in))
		}
		Uniform_(l.Bias, -bound, bound, WithGenerator(c.gen))
		l.Bias.SetRequiresGrad(true)
	}
	l.Weight.SetRequiresGrad(true)
	made = true
	return l
}

// Forward applies the layer to x.
func (l *Linear) Forward(x *ebb.Tensor) *ebb.Tensor { return ebb.Linear(x, l.Weight, l.Bias) }

// forwardReLU is Forward and a ReLU.
func (l *Linear) forwardReLU(x *ebb.Tensor) *ebb.Tensor { return ebb.LinearReLU(x, l.Weight, l.Bias) }

// ExtraRepr describes the layer as PyTorch does.
func (l *Linear) ExtraRepr() string {
	bias := "True"
	if l.Bias == nil {
		bias = "False"
	}
	return fmt.Sprintf("in_features=%d, out_features=%d, bias=%s", l.Weight.Size(1), l.Weight.Size(0), bias)
}

// ReLU is max(x, 0). It is torch.nn.ReLU. Directly behind a [Linear] in a
// [Chain] or [Sequential] it is done with the Linear, in place or not, and not
// called by itself: its memory and errors are under the Linear's name.
type ReLU struct {
	InPlace bool // changes x itself, as torch's inplace=True
}

// Forward applies the layer to x.
func (l *ReLU) Forward(x *ebb.Tensor) *ebb.Tensor {
	if l.InPlace {
		return x.ReLU_()
	}
	return x.ReLU()
}

// ExtraRepr describes the layer as PyTorch does.
func (l *ReLU) ExtraRepr() string {
	if l.InPlace {
		return "inplace=True"
	}
	return ""
}

// Flatten makes the dimensions from StartDim to EndDim one. It is
// torch.nn.Flatten; [NewFlatten] has its defaults.
type Flatten struct{ StartDim, EndDim int }

// NewFlatten returns a Flatten of all dimensions but the first.
func NewFlatten() *Flatten { return &Flatten{1, -1} }

// Forward applies the layer to x.
func (l *Flatten) Forward(x *ebb.Tensor) *ebb.Tensor { return x.Flatten(l.StartDim, l.EndDim) }

// ExtraRepr describes the layer as PyTorch does.
func (l *Flatten) ExtraRepr() string {
	return fmt.Sprintf("start_dim=%d, end_dim=%d", l.StartDim, l.EndDim)
}
