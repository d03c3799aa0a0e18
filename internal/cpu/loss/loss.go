// Package loss has the processor's fused loss kernels: softmax cross entropy,
// forward and backward, in one pass over the logits each.
//
// Arithmetic is float64 inside, rounded once to the logits' dtype, so results
// are at least as close to the exact value as PyTorch's. It is Go with its own
// exp and log, the same on every processor, except for what most programs do:
// rows of float32 side by side, without weights and smoothing, are computed in
// the processor's vectors, by a float32 exponential within 1 ulp, with sums in
// float64. Results are the same bits for any number of threads.
package loss

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Reduction says how the losses of the rows become the result.
type Reduction uint8

// The reductions of PyTorch. Mean divides by the sum of the target classes'
// weights for class-index targets, by the number of rows for probabilities.
const (
	Mean Reduction = iota
	Sum
	None
)

// Options are those of torch.nn.functional.cross_entropy.
type Options struct {
	Weight         *cpu.Array // one per class, of the logits' dtype; nil: all 1
	IgnoreIndex    int64      // class-index targets of this value count nothing (PyTorch: -100)
	LabelSmoothing float64    // from 0 to 1
	Reduction      Reduction
}

// TargetError says that a class-index target is not a class.
type TargetError struct {
	Row     int   // which target, counted in row-major order
	Target  int64 // its value
	Classes int   // targets from 0 up to this are valid, it excluded
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("target %d in row %d is not one of %d classes", e.Target, e.Row, e.Classes)
}

// taskElements is how many logits a task covers at least; one costs about 4 ns,
// or, in the processor's vectors, 0.3 ns.
const (
	taskElements   = 1 << 13
	vectorElements = 1 << 15
)

// float is a dtype of logits.
type float interface{ float32 | float64 }

func load[T float](p unsafe.Pointer, offset int) float64 {
	var t T
	return float64(*(*T)(unsafe.Add(p, offset*int(unsafe.Sizeof(t)))))
}

func store[T float](p unsafe.Pointer, offset int, v float64) {
	var t T
	*(*T)(unsafe.Add(p, offset*int(unsafe.Sizeof(t)))) = T(v)
}

// A problem is what the kernels share: the logits [N, C, d1, ...] seen as rows
// of C classes.
type problem[T float] struct {
	logits  cpu.Array
	opt     Options
	classes int
	rows    int
	vectors bool // rows of logits are for the functions of vectors.go
}

func newProblem[T float](logits cpu.Array, opt Options) problem[T] {
	p := problem[T]{logits: logits, opt: opt, classes: logits.Shape[1], rows: logits.Shape[0]}
	for _, d := range logits.Shape[2:] {
		p.rows *= d
	}
	p.vectors = inVectors(logits)
	return p
}

// weight is a class's weight.
func (p *problem[T]) weight(class int) float64 {
	if p.opt.Weight == nil {
		return 1
	}
	return load[T](p.opt.Weight.Data, class*p.opt.Weight.Strides[0])
}

// at is where row r begins in an array with a class dimension.
func (p *problem[T]) at(a *cpu.Array, r int) int {
	if len(a.Shape) == 2 {
		return r * a.Strides[0]
	}
	each := 1 // rows to one of the first dimension
	for _, d := range a.Shape[2:] {
		each *= d
	}
	return r/each*a.Strides[0] + inside(a.Shape[2:], a.Strides[2:], r%each)
}

// single is where the element of row r lies in an array [N, d1, ...].
func single(a *cpu.Array, r int) int {
	if len(a.Shape) == 1 {
		return r * a.Strides[0]
	}
	return inside(a.Shape, a.Strides, r)
}

// inside is where the element at row-major position i lies.
func inside(shape, strides []int, i int) int {
	o := 0
	for d := len(shape) - 1; d >= 0; d-- {
		o += i % shape[d] * strides[d]
		i /= shape[d]
	}
	return o
}

// logSumExp returns the row's greatest logit and the logarithm of the sum of
// exp(logit - greatest).
func (p *problem[T]) logSumExp(at int) (greatest, logSum float64) {
	if p.vectors {
		return logSumExpOf(float32At(p.logits, at), p.classes)
	}
	step := p.logits.Strides[1]
	greatest = math.Inf(-1)
	for c := range p.classes {
		greatest = max(greatest, load[T](p.logits.Data, at+c*step))
	}
	sum := 0.0
	var t T
	if unsafe.Sizeof(t) == 4 {
		for c := range p.classes {
			sum += exp32(load[T](p.logits.Data, at+c*step) - greatest)
		}
	} else {
		for c := range p.classes {
			sum += exp64(load[T](p.logits.Data, at+c*step) - greatest)
		}
	}
	return greatest, logOf(sum)
}

// exp is accurate enough for the dtype.
func (p *problem[T]) exp(x float64) float64 {
	var t T
	if unsafe.Sizeof(t) == 4 {
		return exp32(x)
	}
	return exp64(x)
}

// tasks returns in how many tasks the rows are worked on. It depends on the
// shape alone.
func (p *problem[T]) tasks() int {
	size := taskElements
	if p.vectors {
		size = vectorElements
	}
	return max(min(p.rows, p.rows*p.classes/size), 1)
}

// rowKernel is what is done for a row; it returns the row's part of a sum. A
// type instead of a function, so that a problem of one task allocates nothing:
// then the caller has the loop over the rows itself.
type rowKernel[T float] interface {
	row(p *problem[T], r int) float64
}

// inTasks runs k for all rows and returns the sum of what it returned, added up
// in a fixed order. p and k are copies, on the heap, which threads share.
func inTasks[T float, K rowKernel[T]](p problem[T], k K) float64 {
	tasks := p.tasks()
	sums := make([]float64, tasks)
	cpu.Parallel(tasks, func(i int) {
		sum := 0.0
		for r := i * p.rows / tasks; r < (i+1)*p.rows/tasks; r++ {
			sum += k.row(&p, r)
		}
		sums[i] = sum
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total
}

// finish stores the reduced loss.
func (p *problem[T]) finish(loss cpu.Array, total, denominator float64) {
	switch p.opt.Reduction {
	case Mean:
		store[T](loss.Data, 0, total/denominator)
	case Sum:
		store[T](loss.Data, 0, total)
	}
}

// upstream is the gradient that arrives at row r.
func (p *problem[T]) upstream(gradLoss *cpu.Array, r int, denominator float64) float64 {
	switch p.opt.Reduction {
	case Mean:
		return load[T](gradLoss.Data, 0) / denominator
	case Sum:
		return load[T](gradLoss.Data, 0)
	}
	return load[T](gradLoss.Data, single(gradLoss, r))
}

// rowFunc is a rowKernel by a function.
type rowFunc[T float] func(r int) float64

func (f rowFunc[T]) row(_ *problem[T], r int) float64 { return f(r) }

// eachRow is inTasks with a function, for what is called seldom.
func (p *problem[T]) eachRow(f rowFunc[T]) float64 { return inTasks(*p, f) }
