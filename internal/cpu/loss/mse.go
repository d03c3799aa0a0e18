package loss

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// mseBlock is how many squares are summed in one run of float64 additions,
// mseTask how many a task has at least.
const (
	mseBlock = 1 << 12
	mseTask  = 1 << 15
)

// MSE is torch.nn.functional.mse_loss: the squared differences of x and y,
// which have one shape and dtype (Float32 or Float64) and any strides. loss has
// their shape with reduction None, else one element. Sums are taken in float64,
// in blocks of a fixed size.
func MSE(loss, x, y cpu.Array, reduction Reduction) {
	if x.DType == cpu.Float32 {
		mse[float32](loss, x, y, reduction)
	} else {
		mse[float64](loss, x, y, reduction)
	}
}

func mse[T float](loss, x, y cpu.Array, reduction Reduction) {
	n := x.Len()
	blocks := (n + mseBlock - 1) / mseBlock
	sums := make([]float64, blocks)
	flat := x.Contiguous() && y.Contiguous() && (reduction != None || loss.Contiguous())
	tasks := max(1, n/mseTask)
	cpu.Parallel(tasks, func(task int) {
		for i := task * blocks / tasks; i < (task+1)*blocks/tasks; i++ {
			first := i * mseBlock
			n := min(mseBlock, n-first)
			switch {
			case reduction == None && flat:
				squares(elements[T](loss, first, n), elements[T](x, first, n), elements[T](y, first, n))
			case flat:
				sums[i] = squaredDistance(elements[T](x, first, n), elements[T](y, first, n))
			default:
				sums[i] = squaredDistanceStrided[T](loss, x, y, first, n, reduction)
			}
		}
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	switch reduction {
	case Mean:
		store[T](loss.Data, 0, total/float64(n))
	case Sum:
		store[T](loss.Data, 0, total)
	}
}

// elements are n elements of a contiguous array.
func elements[T float](a cpu.Array, first, n int) []T {
	return unsafe.Slice((*T)(unsafe.Add(a.Data, first*a.DType.Size())), n)
}

func squares[T float](d, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		v := x[i] - y[i]
		d[i] = v * v
	}
}

// squaredDistance is the sum of the squares of x - y.
func squaredDistance[T float](x, y []T) float64 {
	if inUse != nil && unsafe.Sizeof(T(0)) == 4 {
		p, q := (*float32)(unsafe.Pointer(unsafe.SliceData(x))), (*float32)(unsafe.Pointer(unsafe.SliceData(y)))
		cpu.MarkRead(unsafe.Pointer(p), len(x)*4)
		cpu.MarkRead(unsafe.Pointer(q), len(x)*4)
		return inUse.squaredDistance(len(x), p, q)
	}
	y = y[:len(x)]
	sum := 0.0
	for i, v := range x {
		d := float64(v - y[i])
		sum += float64(d * d)
	}
	return sum
}

func squaredDistanceStrided[T float](loss, x, y cpu.Array, first, n int, reduction Reduction) float64 {
	sum := 0.0
	for k := first; k < first+n; k++ {
		d := T(load[T](x.Data, single(&x, k))) - T(load[T](y.Data, single(&y, k)))
		if reduction == None {
			store[T](loss.Data, single(&loss, k), float64(d*d))
		}
		sum += float64(float64(d) * float64(d))
	}
	return sum
}

// MSEBackward sets grad to the gradient of MSE with respect to x: gradLoss, of
// the loss's shape, is the gradient of the loss. Exchange x and y for the
// gradient with respect to y.
func MSEBackward(grad, gradLoss, x, y cpu.Array, reduction Reduction) {
	if x.DType == cpu.Float32 {
		mseBackward[float32](grad, gradLoss, x, y, reduction)
	} else {
		mseBackward[float64](grad, gradLoss, x, y, reduction)
	}
}

func mseBackward[T float](grad, gradLoss, x, y cpu.Array, reduction Reduction) {
	n := x.Len()
	norm := T(2)
	if reduction == Mean {
		norm = T(2 / float64(n))
	}
	flat := x.Contiguous() && y.Contiguous() && grad.Contiguous() && reduction != None
	tasks := max(1, n/mseTask)
	cpu.Parallel(tasks, func(task int) {
		from, to := task*n/tasks, (task+1)*n/tasks
		for ; flat && from < to; from += mseBlock {
			m := min(mseBlock, to-from)
			distanceGradient(elements[T](grad, from, m), elements[T](x, from, m), elements[T](y, from, m),
				norm, T(load[T](gradLoss.Data, 0)))
		}
		for k := from; k < to; k++ {
			g := 0
			if reduction == None {
				g = single(&gradLoss, k)
			}
			d := T(load[T](x.Data, single(&x, k))) - T(load[T](y.Data, single(&y, k)))
			store[T](grad.Data, single(&grad, k), float64(T(norm*d)*T(load[T](gradLoss.Data, g))))
		}
	})
}

// distanceGradient sets d to norm * (x - y) * scale.
func distanceGradient[T float](d, x, y []T, norm, scale T) {
	if inUse != nil && unsafe.Sizeof(T(0)) == 4 {
		to := (*float32)(unsafe.Pointer(unsafe.SliceData(d)))
		p, q := (*float32)(unsafe.Pointer(unsafe.SliceData(x))), (*float32)(unsafe.Pointer(unsafe.SliceData(y)))
		cpu.MarkRead(unsafe.Pointer(p), len(d)*4)
		cpu.MarkRead(unsafe.Pointer(q), len(d)*4)
		cpu.MarkWrite(unsafe.Pointer(to), len(d)*4)
		inUse.distanceGradient(len(d), to, p, q, float32(norm), float32(scale))
		return
	}
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = T(norm*(x[i]-y[i])) * scale
	}
}
