package nn

import (
	"math"

	"github.com/ebb-ml/ebb"
)

// Orthogonal_ makes x, seen as a matrix with its first dimension as rows, gain
// times a random matrix with orthonormal rows or columns, whichever are fewer.
// x has 2 or more dimensions. Options are [Gain] and [WithGenerator]. It is
// torch.nn.init.orthogonal_ (Saxe and others 2013): Q of the QR decomposition of
// a normal matrix, with the diagonal of R positive, which makes Q unique. It is
// computed in Float64 and takes about four times x's bytes of that type.
func Orthogonal_(x *ebb.Tensor, opts ...InitOption) *ebb.Tensor {
	c := initOptions("orthogonal_", takesGain, 1, opts)
	if x.Dim() < 2 {
		shapeError("orthogonal_", x, "2 or more")
	}
	return initialise("orthogonal_", x, func(x *ebb.Tensor) {
		rows, cols := x.Size(0), x.Numel()/x.Size(0)
		q := x.NewEmpty(rows, cols).Normal_(0, 1, c.gen).To(ebb.Float64)
		// What is to become orthonormal lies together, as rows.
		if rows >= cols {
			q = q.T().Contiguous()
		}
		for start := 0; start < q.Size(0); start += blockRows {
			orthonormalise(q, start)
		}
		if rows >= cols {
			q = q.T()
		}
		x.Copy_(q.Reshape(x.Shape()...)).MulScalar_(c.gain)
	})
}

// blockRows is how many rows are orthonormalised one by one; what they have in
// common with the rows before them is taken out by matrix products.
const blockRows = 32

// orthonormalise makes rows of q, which is Float64 and has no more rows than
// columns, orthonormal: blockRows of them from start on. Each keeps its part that
// is orthogonal to those before it, which are done. This is the Gram-Schmidt
// process; done twice, it leaves rows orthogonal to the last bits.
func orthonormalise(q *ebb.Tensor, start int) {
	s := q.Scope().NewScope("orthonormalise")
	defer s.Close()
	q = q.In(s)
	done, block := q.Narrow(0, 0, start), q.Narrow(0, start, min(blockRows, q.Size(0)-start))
	for range 2 {
		block.Sub_(block.MatMul(done.T()).MatMul(done))
	}
	rows, width := block.Float64s(), q.Size(1)
	for i := 0; i < len(rows); i += width {
		v := rows[i : i+width]
		for range 2 {
			for j := 0; j < i; j += width {
				u := rows[j : j+width]
				addScaled(v, u, -dot(u, v))
			}
		}
		norm := math.Sqrt(dot(v, v))
		for k := range v {
			v[k] /= norm
		}
	}
	block.Copy_(ebb.FromSlice(s, rows, block.Shape()...))
}

func dot(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// addScaled adds f times b to a.
func addScaled(a, b []float64, f float64) {
	for i := range a {
		a[i] += f * b[i]
	}
}
