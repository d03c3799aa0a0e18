package ebb

import (
	"math"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
	"github.com/ebb-ml/ebb/internal/random"
)

// drawing is the attribute of a random operation: what fills a contiguous
// array of type as, and the stream it draws from.
type drawing struct {
	gen  *Generator
	as   DType
	fill func(s *random.Source, dst cpu.Array)
}

// drawOp is an operation that fills its result in the order of memory, straight
// or by way of scratch space.
func drawOp(name string) *opdef {
	return &opdef{name: name, constant: true, kernel: func(c *call) *Error {
		a, dst := c.attrs.(drawing), inMemoryOrder(c.dst(0))
		to := dst
		if c.work > 0 {
			to = cpu.Array{Data: c.workspace(), DType: cpu.DType(a.as), Shape: dst.Shape, Strides: contiguousStrides(dst.Shape)}
		}
		a.gen.draw(func(s *random.Source) { a.fill(s, to) })
		if c.work > 0 {
			elementwise.Copy(dst, to)
		}
		return nil
	}}
}

// drawInPlaceOp is drawOp on a tensor, whose gradient ends there.
func drawInPlaceOp(name string) *opdef {
	op := drawOp(name)
	op.constant, op.grad = false, func(*backward) {}
	return op
}

// memoryOrder returns the dimensions of a layout as they lie in memory, the
// slowest first, in the way of PyTorch's TensorIterator, by which dimensions of
// stride 0 stay where they are.
func memoryOrder(shape, strides []int) []int {
	order := make([]int, len(shape)) // fastest first
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	for i := 1; i < len(order); i++ {
	insert:
		for at, j := i, i-1; j >= 0; j-- {
			a, b := order[j], order[at]
			switch {
			case strides[a] == 0 || strides[b] == 0 || strides[a] == strides[b] && shape[a] <= shape[b]:
			case strides[a] < strides[b]:
				break insert
			default:
				order[j], order[at] = b, a
				at = j
			}
		}
	}
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// inMemoryOrder returns a with its dimensions in the order of memory.
func inMemoryOrder(a cpu.Array) cpu.Array {
	shape, strides := make([]int, len(a.Shape)), make([]int, len(a.Shape))
	for i, d := range memoryOrder(a.Shape, a.Strides) {
		shape[i], strides[i] = a.Shape[d], a.Strides[d]
	}
	a.Shape, a.Strides = shape, strides
	return a
}

// scratchFor returns the bytes of scratch space to draw numbers of type as for
// a layout: none if they can be drawn in place.
func scratchFor(l layout, as DType) int {
	if as == l.dtype && inMemoryOrder(cpu.Array{Shape: l.shape, Strides: l.strides}).Contiguous() {
		return 0
	}
	return size(l.shape) * as.Size()
}

// drawNew makes a tensor of numbers drawn as type as.
func drawNew(op *opdef, o Owner, shape Shape, cr creation, as DType, fill func(s *random.Source, dst cpu.Array)) *Tensor {
	wantSize(op.name, o.inner().core, shape, as)
	if as != cr.dtype {
		cr.work = size(shape) * as.Size()
	}
	if cr.gen == nil {
		cr.gen = o.inner().core.gen
	}
	return create(op, drawing{cr.gen, as, fill}, o, shape, cr)
}

// draw fills x in place.
func (x *Tensor) draw(op *opdef, gen []*Generator, fill func(s *random.Source, dst cpu.Array)) *Tensor {
	c := newCall(op, drawing{x.generator(op.name, gen), x.dtype, fill}, x)
	c.inplace, c.work = true, scratchFor(*x.layout, x.dtype)
	return c.do()
}

// generator returns the one generator of gen, or the runtime's.
func (x *Tensor) generator(op string, gen []*Generator) *Generator {
	switch {
	case len(gen) == 0 || len(gen) == 1 && gen[0] == nil:
		return x.rec.core.gen
	case len(gen) > 1:
		throw(ErrValue, op, []*Tensor{x}, "%d generators, expected at most one", len(gen))
	}
	return gen[0]
}

// uniform returns a filler of numbers from [from, to).
func uniform(from, to float64) func(s *random.Source, dst cpu.Array) {
	return func(s *random.Source, dst cpu.Array) {
		if dst.DType == cpu.Float32 {
			random.Uniform(s, cpu.Slice[float32](dst), from, to)
		} else {
			random.Uniform(s, cpu.Slice[float64](dst), from, to)
		}
	}
}

// normal returns a filler of normal numbers; serial says how PyTorch draws for
// a tensor that is not contiguous.
func normal(mean, std float64, serial bool) func(s *random.Source, dst cpu.Array) {
	return func(s *random.Source, dst cpu.Array) {
		switch {
		case serial && dst.DType == cpu.Float32:
			random.NormalSerial(s, cpu.Slice[float32](dst), mean, std)
		case serial:
			random.NormalSerial(s, cpu.Slice[float64](dst), mean, std)
		case dst.DType == cpu.Float32:
			random.Normal(s, cpu.Slice[float32](dst), mean, std)
		default:
			random.Normal(s, cpu.Slice[float64](dst), mean, std)
		}
	}
}

// realCreation is creationOf for floating-point results.
func realCreation(op string, dtype DType, opts []Option) creation {
	cr := creationOf(op, dtype, opts)
	if !cr.dtype.IsFloat() {
		panic(newError(ErrDType, op, nil, "real numbers of type %s", cr.dtype).advise("draw float32 or float64, or use Randint"))
	}
	return cr
}

// wantNormal panics unless mean and std are those of a distribution.
func wantNormal(op string, xs []*Tensor, mean, std float64) {
	if !(std >= 0) || math.IsNaN(mean) {
		panic(newError(ErrValue, op, xs, "mean %v and standard deviation %v", mean, std).advise("the standard deviation is 0 or more"))
	}
}

var (
	opRand     = drawOp("rand")
	opRandn    = drawOp("randn")
	opNormal   = drawOp("normal")
	opRandint  = drawOp("randint")
	opRandperm = drawOp("randperm")
)

// Rand returns numbers drawn uniformly from [0, 1): Float32, or Float64 if
// asked for; others are an [ErrDType] panic. Like all random functions it draws
// from the *[Generator] among opts, or else the runtime's, and gives what
// PyTorch does at the same point of the stream. It is torch.rand.
func Rand(o Owner, shape Shape, opts ...Option) *Tensor {
	cr := realCreation("rand", Float32, opts)
	return drawNew(opRand, o, shape, cr, cr.dtype, uniform(0, 1))
}

// Randn returns numbers drawn from the normal distribution of mean 0 and
// standard deviation 1, as [Rand]. They agree with PyTorch's to about 1e-6. It
// is torch.randn.
func Randn(o Owner, shape Shape, opts ...Option) *Tensor {
	cr := realCreation("randn", Float32, opts)
	return drawNew(opRandn, o, shape, cr, cr.dtype, normal(0, 1, false))
}

// Normal returns numbers drawn from the normal distribution of the given mean
// and standard deviation, as [Randn]. A negative std is an [ErrValue] panic. It
// is torch.normal with two numbers.
func Normal(o Owner, mean, std float64, shape Shape, opts ...Option) *Tensor {
	cr := realCreation("normal", Float32, opts)
	wantNormal("normal", nil, mean, std)
	return drawNew(opNormal, o, shape, cr, cr.dtype, normal(mean, std, false))
}

// largest is the largest integer an integer type holds; the smallest is -1 less
// that, or 0.
func (d DType) largest() int {
	switch d {
	case Int32:
		return math.MaxInt32
	case Uint8:
		return math.MaxUint8
	case Bool:
		return 1
	}
	return math.MaxInt64
}

func (d DType) smallest() int {
	if d == Uint8 || d == Bool {
		return 0
	}
	return -d.largest() - 1
}

// Randint returns integers drawn uniformly from [low, high). The default type is
// Int64; any other is drawn alike and converted. An empty range, or one that an
// integer type cannot hold, is an [ErrValue] panic. It is torch.randint.
func Randint(o Owner, low, high int, shape Shape, opts ...Option) *Tensor {
	cr := creationOf("randint", Int64, opts)
	switch {
	case low >= high:
		panic(newError(ErrValue, "randint", nil, "integers from %d up to %d, it excluded", low, high).advise("give a low below high"))
	case !cr.dtype.IsFloat() && (low < cr.dtype.smallest() || high-1 > cr.dtype.largest()):
		panic(newError(ErrValue, "randint", nil, "%s cannot hold %d to %d", cr.dtype, low, high-1).advise("ask for a wider type"))
	}
	return drawNew(opRandint, o, shape, cr, Int64, func(s *random.Source, dst cpu.Array) {
		random.Randint(s, cpu.Slice[int64](dst), int64(low), int64(high))
	})
}

// Randperm returns a random permutation of the numbers from 0 to n-1. The
// default type is Int64; a negative n, or one that an integer type cannot hold,
// is an [ErrValue] panic. It is torch.randperm.
func Randperm(o Owner, n int, opts ...Option) *Tensor {
	cr := creationOf("randperm", Int64, opts)
	if n < 0 || !cr.dtype.IsFloat() && n-1 > cr.dtype.largest() {
		panic(newError(ErrValue, "randperm", nil, "a permutation of %d numbers of type %s", n, cr.dtype).advise("give 0 or more, and a type that holds them"))
	}
	return drawNew(opRandperm, o, Shape{n}, cr, Int64, func(s *random.Source, dst cpu.Array) {
		random.Randperm(s, cpu.Slice[int64](dst))
	})
}

// like draws a tensor of x's shape and, unless asked otherwise, type in the
// scope where results on x land. Its dimensions lie in memory as x's do, since
// numbers are drawn in that order.
func (x *Tensor) like(op *opdef, opts []Option, fill func(serial bool) func(s *random.Source, dst cpu.Array)) *Tensor {
	cr := realCreation(op.name, x.dtype, opts)
	order := memoryOrder(x.shape, x.strides)
	shape, back := make([]int, len(order)), make([]int, len(order))
	for i, d := range order {
		shape[i], back[d] = x.shape[d], i
	}
	strides := contiguousStrides(shape)
	want := layout{shape: x.shape, strides: make([]int, len(order))}
	for d, i := range back {
		want.strides[d] = strides[i]
	}
	straight := want.contiguous()
	if straight {
		shape = x.shape
	}
	y := drawNew(op, x.resultScope(op.name), shape, cr, cr.dtype, fill(!straight))
	if straight {
		return y
	}
	return y.Permute(back...)
}

// RandLike is [Rand] of x's shape, type and place: in the scope where results
// on x land. It is torch.rand_like.
func RandLike(x *Tensor, opts ...Option) *Tensor {
	return x.like(opRand, opts, func(bool) func(*random.Source, cpu.Array) { return uniform(0, 1) })
}

// RandnLike is [Randn] of x's shape, type and place: in the scope where results
// on x land. It is torch.randn_like.
func RandnLike(x *Tensor, opts ...Option) *Tensor {
	return x.like(opRandn, opts, func(serial bool) func(*random.Source, cpu.Array) { return normal(0, 1, serial) })
}

var (
	opUniformInPlace   = drawInPlaceOp("uniform_")
	opNormalInPlace    = drawInPlaceOp("normal_")
	opBernoulliInPlace = drawInPlaceOp("bernoulli_")
	opRandomInPlace    = drawInPlaceOp("random_")
)

// Uniform_ fills the floating-point tensor x with numbers drawn uniformly from
// [from, to), from gen or else the runtime's generator, and returns x. Elements
// are drawn in the order in which they lie in memory, as PyTorch does. from
// above to, or a range that is not finite in x's type, is an [ErrValue] panic.
// It is torch.Tensor.uniform_.
func (x *Tensor) Uniform_(from, to float64, gen ...*Generator) *Tensor {
	wantFloat("uniform_", x)
	most := math.MaxFloat64
	if x.dtype == Float32 {
		most = math.MaxFloat32
	}
	if !(from <= to && from >= -most && to <= most && to-from <= most) {
		panic(newError(ErrValue, "uniform_", []*Tensor{x}, "from %v to %v", from, to).advise("give a finite range whose start is not above its end"))
	}
	return x.draw(opUniformInPlace, gen, uniform(from, to))
}

// Normal_ fills the floating-point tensor x with numbers drawn from the normal
// distribution of the given mean and standard deviation, as [Tensor.Uniform_].
// A negative std is an [ErrValue] panic. It is torch.Tensor.normal_.
func (x *Tensor) Normal_(mean, std float64, gen ...*Generator) *Tensor {
	wantFloat("normal_", x)
	wantNormal("normal_", []*Tensor{x}, mean, std)
	return x.draw(opNormalInPlace, gen, normal(mean, std, !x.contiguous()))
}

// Bernoulli_ fills x with ones and zeros, one with probability p, as
// [Tensor.Uniform_]; x has any type. p outside of 0 to 1 is an [ErrValue]
// panic. It is torch.Tensor.bernoulli_ with a number.
func (x *Tensor) Bernoulli_(p float64, gen ...*Generator) *Tensor {
	if !(p >= 0 && p <= 1) {
		panic(newError(ErrValue, "bernoulli_", []*Tensor{x}, "probability %v", p).advise("give one from 0 to 1"))
	}
	return x.draw(opBernoulliInPlace, gen, func(s *random.Source, dst cpu.Array) {
		switch DType(dst.DType) {
		case Float32:
			random.Bernoulli(s, cpu.Slice[float32](dst), p)
		case Float64:
			random.Bernoulli(s, cpu.Slice[float64](dst), p)
		case Int64:
			random.Bernoulli(s, cpu.Slice[int64](dst), p)
		case Int32:
			random.Bernoulli(s, cpu.Slice[int32](dst), p)
		default:
			random.Bernoulli(s, cpu.Slice[uint8](dst), p)
		}
	})
}

// Random_ fills x with integers from 0 to the largest that its type holds: for
// Float32 2^24, for Float64 2^53. It draws as [Tensor.Uniform_]. It is
// torch.Tensor.random_.
func (x *Tensor) Random_(gen ...*Generator) *Tensor {
	return x.draw(opRandomInPlace, gen, func(s *random.Source, dst cpu.Array) {
		switch DType(dst.DType) {
		case Float32:
			random.RandomFull(s, cpu.Slice[float32](dst))
		case Float64:
			random.RandomFull(s, cpu.Slice[float64](dst))
		case Int64:
			random.RandomFull(s, cpu.Slice[int64](dst))
		case Int32:
			random.RandomFull(s, cpu.Slice[int32](dst))
		case Uint8:
			random.RandomFull(s, cpu.Slice[uint8](dst))
		case Bool:
			bits := cpu.Slice[uint8](dst)
			random.RandomFull(s, bits)
			for i := range bits {
				bits[i] &= 1
			}
		}
	})
}
