package ebb

import (
	"errors"
	"fmt"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/random"
)

// sampling is the attribute of operations that draw by the data of operand 0.
type sampling struct {
	gen         *Generator
	replacement bool
}

// opBernoulli carries a graph, as in PyTorch, in which its gradient ends.
var opBernoulli = &opdef{name: "bernoulli", grad: func(*backward) {}, kernel: func(c *call) *Error {
	if c.src(0).DType == cpu.Float32 {
		return bernoulliEach[float32](c)
	}
	return bernoulliEach[float64](c)
}}

func bernoulliEach[T random.Float](c *call) *Error {
	p := cpu.Slice[T](c.src(0))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			e := newError(ErrValue, c.op.name, c.in, "probability %v at position %d, row-major", v, i)
			return e.advise("probabilities are from 0 to 1")
		}
	}
	c.attrs.(sampling).gen.draw(func(s *random.Source) { random.BernoulliEach(s, cpu.Slice[T](c.dst(0)), p) })
	return nil
}

// Bernoulli returns ones and zeros of x's shape and type, each one with the
// probability that x, a floating-point tensor, gives for it, drawn from gen or
// else the runtime's generator. A probability outside of 0 to 1 is an
// [ErrValue] panic. It is torch.bernoulli.
func (x *Tensor) Bernoulli(gen ...*Generator) *Tensor {
	wantFloat("bernoulli", x)
	p := x.Contiguous()
	defer dropTemporary(p, x)
	return apply(opBernoulli, sampling{gen: x.generator("bernoulli", gen)}, x.dtype, x.shape, p)
}

var opMultinomial = &opdef{name: "multinomial", constant: true, kernel: func(c *call) *Error {
	if c.src(0).DType == cpu.Float32 {
		return multinomial[float32](c)
	}
	return multinomial[float64](c)
}}

// multinomial draws row by row.
func multinomial[T random.Float](c *call) *Error {
	a, src := c.attrs.(sampling), c.src(0)
	weights, dst := cpu.Slice[T](src), cpu.Slice[int64](c.dst(0))
	m, rows := src.Shape[len(src.Shape)-1], 1
	if len(src.Shape) == 2 {
		rows = src.Shape[0]
	}
	n := len(dst) / max(rows, 1)
	var err error
	row := 0
	a.gen.draw(func(s *random.Source) {
		for ; row < rows && err == nil; row++ {
			err = random.Multinomial(s, dst[row*n:(row+1)*n], weights[row*m:(row+1)*m], a.replacement)
		}
	})
	var bad *random.WeightsError
	if !errors.As(err, &bad) {
		return nil
	}
	given := fmt.Sprintf("the %d weights of row %d add up to %v", bad.Categories, row-1, bad.Weight)
	if bad.Index >= 0 {
		given = fmt.Sprintf("weight %d of row %d is %v", bad.Index, row-1, bad.Weight)
	}
	return newError(ErrValue, c.op.name, c.in, "%s", given).advise("weights are finite and not negative, and not all 0")
}

// Multinomial returns n different Int64 indices into x, a floating-point tensor
// of weights, drawn with probabilities proportional to them: for a vector of m
// weights [n], for a matrix [rows, n], one row after the other. n is from 1 to
// m. Weights that are negative, not finite or all 0 are an [ErrValue] panic. It
// draws from gen or else the runtime's generator. It is torch.multinomial
// without replacement.
func (x *Tensor) Multinomial(n int, gen ...*Generator) *Tensor { return x.multinomial(n, false, gen) }

// MultinomialWithReplacement is [Tensor.Multinomial] in which an index can be
// drawn again, so that n may be greater than m. It is torch.multinomial with
// replacement.
func (x *Tensor) MultinomialWithReplacement(n int, gen ...*Generator) *Tensor {
	return x.multinomial(n, true, gen)
}

func (x *Tensor) multinomial(n int, replacement bool, gen []*Generator) *Tensor {
	const op = "multinomial"
	wantFloat(op, x)
	if len(x.shape) != 1 && len(x.shape) != 2 {
		throw(ErrShape, op, []*Tensor{x}, "weights of %d dimensions, expected 1 or 2", len(x.shape))
	}
	m := x.shape[len(x.shape)-1]
	if n < 1 || m < 1 || !replacement && n > m {
		panic(newError(ErrValue, op, []*Tensor{x}, "%d of %d", n, m).advise("draw 1 or more, and without replacement no more than there are"))
	}
	shape := append([]int{}, x.shape...)
	shape[len(shape)-1] = n
	wantSize(op, x.rec.core, shape, Int64)
	w := x.Contiguous()
	defer dropTemporary(w, x)
	return apply(opMultinomial, sampling{x.generator(op, gen), replacement}, Int64, shape, w)
}
