package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/ebb-ml/ebb"
)

// The initialisers fill a tensor in place and return it, as torch.nn.init: from
// the same seed with the same numbers. They record no graph, so that they may
// be used on a parameter that already collects gradients. The tensor is Float32
// or Float64 where numbers are drawn; without elements it is left alone.

// InitOption configures an initialiser. One that means nothing for it is an
// [ebb.ErrValue] panic.
type InitOption interface{ init(*initConfig) }

type initConfig struct {
	gen     *ebb.Generator
	gain    float64
	hasGain bool
	fanOut  bool
}

type initOption func(*initConfig)

func (o initOption) init(c *initConfig) { o(c) }

// Gain sets the factor of the standard deviation; see [CalculateGain]. The
// default is 1, for Kaiming initialisers sqrt(2).
func Gain(gain float64) InitOption {
	return initOption(func(c *initConfig) { c.gain, c.hasGain = gain, true })
}

// FanOut makes Kaiming initialisers keep the variance of gradients, by the
// number of outputs, instead of that of activations, by the number of inputs.
// It is mode="fan_out".
func FanOut() InitOption { return initOption(func(c *initConfig) { c.fanOut = true }) }

// GeneratorOption is [WithGenerator]'s.
type GeneratorOption interface {
	InitOption
	LayerOption
}

type generatorOption struct{ gen *ebb.Generator }

func (o generatorOption) init(c *initConfig)   { c.gen = o.gen }
func (o generatorOption) layer(c *layerConfig) { c.gen = o.gen }

// WithGenerator draws from g; nil, the default, is the runtime's own stream.
func WithGenerator(g *ebb.Generator) GeneratorOption { return generatorOption{g} }

// The options that an initialiser can take beside WithGenerator.
const (
	takesGain = 1 << iota
	takesFan
)

// initOptions applies opts, of which takes says what means something.
func initOptions(op string, takes int, gain float64, opts []InitOption) initConfig {
	c := initConfig{gain: gain}
	for _, o := range opts {
		o.init(&c)
	}
	if c.hasGain && takes&takesGain == 0 || c.fanOut && takes&takesFan == 0 {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: op, Given: "an option that means nothing here", Advice: "leave out Gain and FanOut"})
	}
	return c
}

// initialise calls f with x directed into a NoGrad scope that closes behind it.
func initialise(op string, x *ebb.Tensor, f func(x *ebb.Tensor)) *ebb.Tensor {
	if x == nil {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: op, Given: "the tensor is nil"})
	}
	if x.Numel() == 0 && !x.Released() {
		return x
	}
	err := x.Runtime().Run(ebb.NoGrad, func(s *ebb.Scope) error {
		f(x.In(s))
		return nil
	})
	var e *ebb.Error
	if errors.As(err, &e) {
		panic(e)
	}
	return x
}

// shapeError panics because op wants tensors of other dimensions.
func shapeError(op string, x *ebb.Tensor, want string) {
	panic(&ebb.Error{Kind: ebb.ErrShape, Op: op, Shapes: [][]int{x.Shape()}, DTypes: []ebb.DType{x.DType()}, Given: fmt.Sprintf("%d dimensions, expected %s", x.Dim(), want)})
}

// Uniform_ draws x uniformly from [from, to). It is torch.nn.init.uniform_.
func Uniform_(x *ebb.Tensor, from, to float64, opts ...InitOption) *ebb.Tensor {
	c := initOptions("uniform_", 0, 1, opts)
	return initialise("uniform_", x, func(x *ebb.Tensor) { x.Uniform_(from, to, c.gen) })
}

// Normal_ draws x from the normal distribution of the given mean and standard
// deviation. It is torch.nn.init.normal_.
func Normal_(x *ebb.Tensor, mean, std float64, opts ...InitOption) *ebb.Tensor {
	c := initOptions("normal_", 0, 1, opts)
	return initialise("normal_", x, func(x *ebb.Tensor) { x.Normal_(mean, std, c.gen) })
}

// TruncNormal_ draws x from the normal distribution of the given mean and
// standard deviation, cut off below a and above b. It is
// torch.nn.init.trunc_normal_, whose defaults are 0, 1, -2 and 2.
func TruncNormal_(x *ebb.Tensor, mean, std, a, b float64, opts ...InitOption) *ebb.Tensor {
	c := initOptions("trunc_normal_", 0, 1, opts)
	if !(std > 0 && a <= b) || math.IsNaN(mean) {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "trunc_normal_", Given: fmt.Sprintf("mean %v and standard deviation %v, from %v to %v", mean, std, a, b),
			Advice: "give a standard deviation above 0 and a range whose start is not above its end"})
	}
	return initialise("trunc_normal_", x, func(x *ebb.Tensor) {
		// Uniform numbers between the values of the distribution function at
		// the ends, through its inverse.
		cdf := func(v float64) float64 { return (1 + math.Erf((v-mean)/std/math.Sqrt2)) / 2 }
		x.Uniform_(2*cdf(a)-1, 2*cdf(b)-1, c.gen)
		x.Copy_(mapped(x, math.Erfinv))
		x.MulScalar_(std*math.Sqrt2).AddScalar_(mean).Clamp_(a, b)
	})
}

// mapped returns f of the elements of x, in the scope of its results.
func mapped(x *ebb.Tensor, f func(float64) float64) *ebb.Tensor {
	v := x.To(ebb.Float64).Float64s()
	for i := range v {
		v[i] = f(v[i])
	}
	return ebb.FromSliceWith(x.Scope(), v, x.Shape())
}

// Constant_ sets every element of x to value, a Go number or bool. It is
// torch.nn.init.constant_.
func Constant_(x *ebb.Tensor, value any) *ebb.Tensor {
	return initialise("constant_", x, func(x *ebb.Tensor) { x.Fill_(value) })
}

// Ones_ sets every element of x to 1. It is torch.nn.init.ones_.
func Ones_(x *ebb.Tensor) *ebb.Tensor {
	return initialise("ones_", x, func(x *ebb.Tensor) { x.Fill_(1) })
}

// Zeros_ sets every element of x to 0. It is torch.nn.init.zeros_.
func Zeros_(x *ebb.Tensor) *ebb.Tensor {
	return initialise("zeros_", x, func(x *ebb.Tensor) { x.Zero_() })
}

// Eye_ makes the matrix x 1 on the diagonal and 0 elsewhere. It is
// torch.nn.init.eye_.
func Eye_(x *ebb.Tensor) *ebb.Tensor {
	if x.Dim() != 2 {
		shapeError("eye_", x, "2")
	}
	return initialise("eye_", x, func(x *ebb.Tensor) {
		x.Zero_()
		for i := range min(x.Size(0), x.Size(1)) {
			x.Select(0, i).Select(0, i).Fill_(1)
		}
	})
}

// Dirac_ makes x, the weight of a convolution (3 to 5 dimensions: outputs,
// inputs, window), pass each input through to the output of its number, in each
// of groups of outputs, whose number divides that of the outputs. It is
// torch.nn.init.dirac_.
func Dirac_(x *ebb.Tensor, groups int) *ebb.Tensor {
	if x.Dim() < 3 || x.Dim() > 5 {
		shapeError("dirac_", x, "3 to 5")
	}
	if groups < 1 || x.Size(0)%groups != 0 {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "dirac_", Given: fmt.Sprintf("%d groups for %d outputs", groups, x.Size(0)), Advice: "the number of groups divides that of the outputs"})
	}
	return initialise("dirac_", x, func(x *ebb.Tensor) {
		x.Zero_()
		outs := x.Size(0) / groups
		for g := range groups {
			for i := range min(outs, x.Size(1)) {
				v := x.Select(0, g*outs+i).Select(0, i)
				for v.Dim() > 0 {
					v = v.Select(0, v.Size(0)/2)
				}
				v.Fill_(1)
			}
		}
	})
}

// fans returns the numbers of inputs and outputs that the elements of the
// weight x ([out, in] or [out, in, window...]) connect.
func fans(op string, x *ebb.Tensor) (in, out float64) {
	if x.Dim() < 2 {
		shapeError(op, x, "2 or more")
	}
	window := 1
	for _, n := range x.Shape()[2:] {
		window *= n
	}
	return float64(x.Size(1) * window), float64(x.Size(0) * window)
}

// XavierUniform_ draws the weight x ([out, in] or [out, in, window...])
// uniformly with standard deviation gain * sqrt(2 / (in + out)). Options are
// [Gain] and [WithGenerator]. It is torch.nn.init.xavier_uniform_ (Glorot and
// Bengio 2010).
func XavierUniform_(x *ebb.Tensor, opts ...InitOption) *ebb.Tensor {
	c := initOptions("xavier_uniform_", takesGain, 1, opts)
	in, out := fans("xavier_uniform_", x)
	bound := math.Sqrt(3) * c.gain * math.Sqrt(2/(in+out))
	return initialise("xavier_uniform_", x, func(x *ebb.Tensor) { x.Uniform_(-bound, bound, c.gen) })
}

// XavierNormal_ is [XavierUniform_] with normal numbers. It is
// torch.nn.init.xavier_normal_.
func XavierNormal_(x *ebb.Tensor, opts ...InitOption) *ebb.Tensor {
	c := initOptions("xavier_normal_", takesGain, 1, opts)
	in, out := fans("xavier_normal_", x)
	return initialise("xavier_normal_", x, func(x *ebb.Tensor) { x.Normal_(0, c.gain*math.Sqrt(2/(in+out)), c.gen) })
}

// kaimingStd returns gain / sqrt(fan).
func kaimingStd(op string, x *ebb.Tensor, c initConfig) float64 {
	in, out := fans(op, x)
	if c.fanOut {
		in = out
	}
	return c.gain / math.Sqrt(in)
}

// KaimingUniform_ draws the weight x ([out, in] or [out, in, window...])
// uniformly with standard deviation gain / sqrt(in), or with [FanOut]
// gain / sqrt(out). Other options are [Gain] and [WithGenerator]. It is
// torch.nn.init.kaiming_uniform_ (He and others 2015); PyTorch's arguments a and
// nonlinearity are Gain(CalculateGain(nonlinearity, a)).
func KaimingUniform_(x *ebb.Tensor, opts ...InitOption) *ebb.Tensor {
	c := initOptions("kaiming_uniform_", takesGain|takesFan, math.Sqrt2, opts)
	bound := math.Sqrt(3) * kaimingStd("kaiming_uniform_", x, c)
	return initialise("kaiming_uniform_", x, func(x *ebb.Tensor) { x.Uniform_(-bound, bound, c.gen) })
}

// KaimingNormal_ is [KaimingUniform_] with normal numbers. It is
// torch.nn.init.kaiming_normal_.
func KaimingNormal_(x *ebb.Tensor, opts ...InitOption) *ebb.Tensor {
	c := initOptions("kaiming_normal_", takesGain|takesFan, math.Sqrt2, opts)
	std := kaimingStd("kaiming_normal_", x, c)
	return initialise("kaiming_normal_", x, func(x *ebb.Tensor) { x.Normal_(0, std, c.gen) })
}

// Sparse_ draws the matrix x from the normal distribution with standard
// deviation std and sets a fraction sparsity of each column, rounded up, to 0.
// It is torch.nn.init.sparse_ (Martens 2010).
func Sparse_(x *ebb.Tensor, sparsity, std float64, opts ...InitOption) *ebb.Tensor {
	c := initOptions("sparse_", 0, 1, opts)
	if x.Dim() != 2 {
		shapeError("sparse_", x, "2")
	}
	if !(sparsity >= 0 && sparsity <= 1) {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "sparse_", Given: fmt.Sprintf("sparsity %v", sparsity), Advice: "give one from 0 to 1"})
	}
	gen := c.gen
	if gen == nil {
		gen = x.Runtime().Generator()
	}
	return initialise("sparse_", x, func(x *ebb.Tensor) {
		x.Normal_(0, std, gen)
		rows, cols := x.Size(0), x.Size(1)
		zeros := int(math.Ceil(sparsity * float64(rows)))
		mask := make([]bool, rows*cols)
		for j := range cols {
			perm := ebb.Randperm(x.Scope(), rows, gen)
			for _, i := range perm.Int64s()[:zeros] {
				mask[int(i)*cols+j] = true
			}
			x.Scope().Recycle()
		}
		x.MaskedFill_(ebb.FromSlice(x.Scope(), mask, rows, cols), 0)
	})
}

// CalculateGain returns the gain recommended for a nonlinearity, by its name in
// torch.nn.functional: "linear", "conv1d" to "conv3d", "conv_transpose1d" to
// "conv_transpose3d", "sigmoid", "tanh", "relu", "selu", or "leaky_relu" with
// its slope (0.01 if left out). Another name is an [ebb.ErrValue] panic. It is
// torch.nn.init.calculate_gain.
func CalculateGain(nonlinearity string, slope ...float64) float64 {
	switch nonlinearity {
	case "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid":
		return 1
	case "tanh":
		return 5.0 / 3
	case "relu":
		return math.Sqrt2
	case "selu":
		return 3.0 / 4
	case "leaky_relu":
		a := 0.01
		if len(slope) > 0 {
			a = slope[0]
		}
		return math.Sqrt(2 / (1 + a*a))
	}
	panic(&ebb.Error{Kind: ebb.ErrValue, Op: "calculate_gain", Given: fmt.Sprintf("nonlinearity %q", nonlinearity), Advice: "see CalculateGain for the names, or give Gain a number"})
}
