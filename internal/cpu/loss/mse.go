package loss

import "github.com/ebb-ml/ebb/internal/cpu"

// mseBlock is how many squares are summed in one run of float64 additions.
const mseBlock = 1 << 12

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
	cpu.Parallel(blocks, func(i int) {
		sum := 0.0
		for k := i * mseBlock; k < min(n, (i+1)*mseBlock); k++ {
			d := T(load[T](x.Data, single(x, k))) - T(load[T](y.Data, single(y, k)))
			if reduction == None {
				store[T](loss.Data, single(loss, k), float64(d*d))
			}
			sum += float64(float64(d) * float64(d))
		}
		sums[i] = sum
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
	cpu.Parallel((n+mseBlock-1)/mseBlock, func(i int) {
		for k := i * mseBlock; k < min(n, (i+1)*mseBlock); k++ {
			g := 0
			if reduction == None {
				g = single(gradLoss, k)
			}
			d := T(load[T](x.Data, single(x, k))) - T(load[T](y.Data, single(y, k)))
			store[T](grad.Data, single(grad, k), float64(T(norm*d)*T(load[T](gradLoss.Data, g))))
		}
	})
}
