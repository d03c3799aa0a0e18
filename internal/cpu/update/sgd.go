package update

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/fma"
)

// SGDOptions are those of torch.optim.SGD. First says that the momentum
// buffer has no value yet.
type SGDOptions struct {
	LR, Momentum, Dampening, WeightDecay float64
	Nesterov, Maximize                   bool
	First                                bool
}

// SGD updates param from grad as one step of torch.optim.SGD does, with its
// order of operations and its roundings:
//
//	d = grad                               (-grad with Maximize)
//	d = d + WeightDecay*param              unless WeightDecay is 0
//	buf = d                                First
//	buf = Momentum*buf + (1-Dampening)*d   otherwise, unless Momentum is 0
//	d = buf                                or d + Momentum*buf with Nesterov
//	param = param - LR*d
//
// Sums with a product round once, scalars are rounded to the dtype first. The
// arrays have one shape and dtype, Float32 or Float64; momentum is nil if and
// only if Momentum is 0. grad is only read.
func SGD(param, grad cpu.Array, momentum *cpu.Array, opt SGDOptions) {
	if param.DType == cpu.Float32 {
		sgd[float32](param, grad, momentum, opt)
	} else {
		sgd[float64](param, grad, momentum, opt)
	}
}

// sgdStep is an SGDOptions in the arithmetic of the dtype.
type sgdStep[T float] struct {
	minusLR, momentum, keep, decay T // keep is 1 - Dampening
	opt                            SGDOptions
	kern                           *kernels[T]
}

func sgd[T float](param, grad cpu.Array, momentum *cpu.Array, opt SGDOptions) {
	s := sgdStep[T]{T(-opt.LR), T(opt.Momentum), T(1 - opt.Dampening), T(opt.WeightDecay), opt, kernelsOf[T]()}
	if n := param.Len(); n <= runElements && param.Contiguous() && grad.Contiguous() && (momentum == nil || momentum.Contiguous()) {
		r := run{n: n, step: [3]int{1, 1, 1}}
		var m unsafe.Pointer
		if momentum != nil {
			m = momentum.Data
		}
		s.run(param.Data, grad.Data, m, r)
		return
	}
	s.runs(param, grad, momentum)
}

// runs updates in several tasks. It is apart from sgd because what tasks share
// moves to the heap.
func (s sgdStep[T]) runs(param, grad cpu.Array, momentum *cpu.Array) {
	arrays := []cpu.Array{param, grad}
	if momentum != nil {
		arrays = append(arrays, *momentum)
	}
	eachRun(arrays, func(r run) {
		p := unsafe.Pointer(elem[T](param.Data, r.start[0]))
		g := unsafe.Pointer(elem[T](grad.Data, r.start[1]))
		var m unsafe.Pointer
		if momentum != nil {
			m = unsafe.Pointer(elem[T](momentum.Data, r.start[2]))
		}
		s.run(p, g, m, r)
	})
}

// run updates the elements of one run: those in one piece by the kernels, the
// rest, and rare cases, one by one.
func (s *sgdStep[T]) run(p, g, m unsafe.Pointer, r run) {
	done := 0
	unit := r.step[0] == 1 && r.step[1] == 1 && (m == nil || r.step[2] == 1)
	if unit && !s.opt.Maximize && (m == nil || !s.opt.First) {
		done = r.n
	}
	if done > 0 {
		s.vectors(done, (*T)(p), (*T)(g), (*T)(m))
	}
	for i := done; i < r.n; i++ {
		var buf *T
		if m != nil {
			buf = elem[T](m, i*r.step[2])
		}
		s.element(elem[T](p, i*r.step[0]), *elem[T](g, i*r.step[1]), buf)
	}
}

// vectors updates n elements in one piece.
func (s *sgdStep[T]) vectors(n int, p, g, m *T) {
	cpu.MarkWrite(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p)))
	cpu.MarkRead(unsafe.Pointer(g), n*int(unsafe.Sizeof(*g)))
	decays := 0
	if s.opt.WeightDecay != 0 {
		decays = 1
	}
	if m == nil {
		s.kern.sgd[decays](n, p, g, s.minusLR, s.decay)
		return
	}
	cpu.MarkWrite(unsafe.Pointer(m), n*int(unsafe.Sizeof(*m)))
	kernel := s.kern.momentum[decays]
	if s.opt.Nesterov {
		kernel = s.kern.nesterov[decays]
	}
	kernel(n, p, g, m, s.minusLR, s.decay, s.momentum, s.keep)
}

func (s *sgdStep[T]) element(param *T, d T, buf *T) {
	if s.opt.Maximize {
		d = -d
	}
	if s.opt.WeightDecay != 0 {
		d = fma.Of(float64(s.decay), *param, d)
	}
	if buf != nil {
		if s.opt.First {
			*buf = d
		} else {
			*buf = fma.Of(float64(s.keep), d, T(s.momentum**buf))
		}
		if s.opt.Nesterov {
			d = fma.Of(float64(s.momentum), *buf, d)
		} else {
			d = *buf
		}
	}
	*param = fma.Of(float64(s.minusLR), d, *param)
}
