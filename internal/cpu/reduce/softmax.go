package reduce

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// The functions here take float32 or float64, of one dtype, and compute in
// float64, except for lines of float32 side by side (softmax_line.go). A line with NaN or +Inf, or of nothing but -Inf, becomes NaN, as in
// PyTorch.

// SoftMax sets dst to exp(src) / sum(exp(src)) along dim (torch.softmax).
func SoftMax(dst, src cpu.Array, dim int) {
	if src.DType == cpu.Float32 {
		softMax[float32](dst, src, dim)
	} else {
		softMax[float64](dst, src, dim)
	}
}

// LogSoftMax sets dst to src - log(sum(exp(src))) along dim (torch.log_softmax).
func LogSoftMax(dst, src cpu.Array, dim int) {
	if src.DType == cpu.Float32 {
		logSoftMax[float32](dst, src, dim)
	} else {
		logSoftMax[float64](dst, src, dim)
	}
}

// LogSumExp sets dst, of size 1 in dim, to log(sum(exp(src))) along dim
// (torch.logsumexp): -Inf for nothing but -Inf or no elements, +Inf with +Inf.
func LogSumExp(dst, src cpu.Array, dim int) {
	if src.DType == cpu.Float32 {
		logSumExp[float32](dst, src, dim)
	} else {
		logSumExp[float64](dst, src, dim)
	}
}

// SoftMaxBackward sets dst to the gradient of softmax's input, given that of
// its output and the output: out * (grad - sum(grad*out)). dst may be grad.
func SoftMaxBackward(dst, grad, out cpu.Array, dim int) {
	if out.DType == cpu.Float32 {
		softMaxBackward[float32](dst, grad, out, dim)
	} else {
		softMaxBackward[float64](dst, grad, out, dim)
	}
}

// LogSoftMaxBackward sets dst to the gradient of log softmax's input, given that
// of its output and the output: grad - exp(out) * sum(grad). dst may be grad.
func LogSoftMaxBackward(dst, grad, out cpu.Array, dim int) {
	if out.DType == cpu.Float32 {
		logSoftMaxBackward[float32](dst, grad, out, dim)
	} else {
		logSoftMaxBackward[float64](dst, grad, out, dim)
	}
}

func softMax[T float](dst, src cpu.Array, dim int) {
	lines(dim, lineTask(dim, dst, src), func(n int, at, step offsets) {
		d := line[T]{unsafe.Add(dst.Data, at[0]), n, step[0]}
		s := line[T]{unsafe.Add(src.Data, at[1]), n, step[1]}
		if d.vectors() && s.vectors() {
			softMaxLine(n, d.data, s.data)
			return
		}
		largest := s.max()
		sums := newCascade(plus[float64], 0)
		var room chunk
		for first := 0; first < n; first += chunkLen {
			e := exponentials(s.load(&room, first), largest)
			sums.add(sumRun[float64, float64](e))
			d.store(first, e)
		}
		sum := sums.total()
		for first := 0; first < n; first += chunkLen {
			e := d.load(&room, first)
			for i := range e {
				e[i] /= sum
			}
			d.store(first, e)
		}
	}, dst, src)
}

func logSoftMax[T float](dst, src cpu.Array, dim int) {
	lines(dim, lineTask(dim, dst, src), func(n int, at, step offsets) {
		d := line[T]{unsafe.Add(dst.Data, at[0]), n, step[0]}
		s := line[T]{unsafe.Add(src.Data, at[1]), n, step[1]}
		if d.vectors() && s.vectors() {
			logSoftMaxLine(n, d.data, s.data)
			return
		}
		largest := s.max()
		log := math.Log(s.sumExp(largest))
		var room chunk
		for first := 0; first < n; first += chunkLen {
			e := s.load(&room, first)
			for i, v := range e {
				e[i] = v - largest - log
			}
			d.store(first, e)
		}
	}, dst, src)
}

func logSumExp[T float](dst, src cpu.Array, dim int) {
	lines(dim, lineTask(dim, dst, src), func(n int, at, step offsets) {
		s := line[T]{unsafe.Add(src.Data, at[1]), n, step[1]}
		vectors := s.vectors() && n > 0
		largest := s.max
		if vectors {
			largest = func() float64 { return float64(peakOf(n, s.data)) }
		}
		m := largest()
		sum := 0.0
		switch {
		case math.IsInf(m, 0):
			m = 0
			sum = s.sumExp(0)
		case vectors:
			sum = sumExpOf(n, s.data, float32(m))
		default:
			sum = s.sumExp(m)
		}
		*(*T)(unsafe.Add(dst.Data, at[0])) = T(math.Log(sum) + m)
	}, dst, src)
}

func softMaxBackward[T float](dst, grad, out cpu.Array, dim int) {
	lines(dim, lineTask(dim, dst, grad, out), func(n int, at, step offsets) {
		d := line[T]{unsafe.Add(dst.Data, at[0]), n, step[0]}
		g := line[T]{unsafe.Add(grad.Data, at[1]), n, step[1]}
		o := line[T]{unsafe.Add(out.Data, at[2]), n, step[2]}
		if d.vectors() && g.vectors() && o.vectors() {
			softMaxGradientLine(n, d.data, g.data, o.data)
			return
		}
		sums := newCascade(plus[float64], 0)
		var gRoom, oRoom chunk
		for first := 0; first < n; first += chunkLen {
			g, o := g.load(&gRoom, first), o.load(&oRoom, first)
			for i, v := range o {
				g[i] *= v
			}
			sums.add(sumRun[float64, float64](g))
		}
		sum := sums.total()
		for first := 0; first < n; first += chunkLen {
			g, o := g.load(&gRoom, first), o.load(&oRoom, first)
			for i, v := range o {
				g[i] = v * (g[i] - sum)
			}
			d.store(first, g)
		}
	}, dst, grad, out)
}

func logSoftMaxBackward[T float](dst, grad, out cpu.Array, dim int) {
	lines(dim, lineTask(dim, dst, grad, out), func(n int, at, step offsets) {
		d := line[T]{unsafe.Add(dst.Data, at[0]), n, step[0]}
		g := line[T]{unsafe.Add(grad.Data, at[1]), n, step[1]}
		o := line[T]{unsafe.Add(out.Data, at[2]), n, step[2]}
		if d.vectors() && g.vectors() && o.vectors() {
			logSoftMaxGradientLine(n, d.data, g.data, o.data)
			return
		}
		sums := newCascade(plus[float64], 0)
		var gRoom, oRoom chunk
		for first := 0; first < n; first += chunkLen {
			sums.add(sumRun[float64, float64](g.load(&gRoom, first)))
		}
		sum := sums.total()
		for first := 0; first < n; first += chunkLen {
			g, e := g.load(&gRoom, first), exponentials(o.load(&oRoom, first), 0)
			for i, v := range e {
				g[i] -= float64(v * sum)
			}
			d.store(first, g)
		}
	}, dst, grad, out)
}
