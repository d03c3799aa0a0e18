package gemm

import "github.com/ebb-ml/ebb/internal/cpu"

// matMulInt is the product of integers, which wrap: any order of summing
// gives the same bits. It goes along the rows of b, where they usually lie
// in one piece.
func matMulInt[T int64 | int32](dst, a, b cpu.Array, opt Options) {
	p := newBatch[T](dst, a, b)
	perTask := max(1, taskWork/4/max(1, p.n*p.k)) // rows of the result; about 1 ns a product
	rows := p.count * p.m
	if rows*p.n == 0 {
		return
	}
	cpu.Parallel((rows+perTask-1)/perTask, func(task int) {
		for row := task * perTask; row < min((task+1)*perTask, rows); row++ {
			dst, a, b := p.item(row / p.m)
			i := row % p.m
			for j := range p.n {
				var start T
				if opt.Accumulate {
					start = *dst.at(i, j)
				}
				if opt.Bias != nil {
					start += *matrix[T]{opt.Bias.Data, 0, opt.Bias.Strides[0]}.at(0, j)
				}
				*dst.at(i, j) = start
			}
			for l := range p.k {
				x := *a.at(i, l)
				to, from := dst.at(i, 0), b.at(l, 0)
				for j := range p.n {
					*step(to, j*dst.cs) += x * *step(from, j*b.cs)
				}
			}
		}
	})
	if opt.ReLU {
		limit(dst, nil)
	}
}
