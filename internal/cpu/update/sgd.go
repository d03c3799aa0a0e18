package update

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
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
}

func sgd[T float](param, grad cpu.Array, momentum *cpu.Array, opt SGDOptions) {
	s := sgdStep[T]{T(-opt.LR), T(opt.Momentum), T(1 - opt.Dampening), T(opt.WeightDecay), opt}
	arrays := []cpu.Array{param, grad}
	if opt.Momentum != 0 {
		arrays = append(arrays, *momentum)
	}
	eachRun(arrays, func(r run) {
		p := unsafe.Pointer(elem[T](param.Data, r.start[0]))
		g := unsafe.Pointer(elem[T](grad.Data, r.start[1]))
		var m unsafe.Pointer
		if opt.Momentum != 0 {
			m = unsafe.Pointer(elem[T](momentum.Data, r.start[2]))
		}
		s.run(p, g, m, r)
	})
}

// run updates the elements of one run. The plain cases have loops of their own.
func (s *sgdStep[T]) run(p, g, m unsafe.Pointer, r run) {
	unit := r.step[0] == 1 && r.step[1] == 1
	switch {
	case unit && m == nil && s.decay == 0 && !s.opt.Maximize:
		param, grad := unsafe.Slice((*T)(p), r.n), unsafe.Slice((*T)(g), r.n)
		for i, d := range grad {
			param[i] = fma(s.minusLR, d, param[i])
		}
	case unit && m != nil && r.step[2] == 1 && !s.opt.First && !s.opt.Nesterov && s.opt.Dampening == 0 && !s.opt.Maximize:
		param, grad, buf := unsafe.Slice((*T)(p), r.n), unsafe.Slice((*T)(g), r.n), unsafe.Slice((*T)(m), r.n)
		for i, d := range grad {
			if s.decay != 0 {
				d = fma(s.decay, param[i], d)
			}
			b := T(s.momentum*buf[i]) + d
			buf[i] = b
			param[i] = fma(s.minusLR, b, param[i])
		}
	default:
		for i := range r.n {
			var buf *T
			if m != nil {
				buf = elem[T](m, i*r.step[2])
			}
			s.element(elem[T](p, i*r.step[0]), *elem[T](g, i*r.step[1]), buf)
		}
	}
}

func (s *sgdStep[T]) element(param *T, d T, buf *T) {
	if s.opt.Maximize {
		d = -d
	}
	if s.opt.WeightDecay != 0 {
		d = fma(s.decay, *param, d)
	}
	if buf != nil {
		if s.opt.First {
			*buf = d
		} else {
			*buf = fma(s.keep, d, T(s.momentum**buf))
		}
		if s.opt.Nesterov {
			d = fma(s.momentum, *buf, d)
		} else {
			d = *buf
		}
	}
	*param = fma(s.minusLR, d, *param)
}
