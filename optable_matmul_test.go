package ebb_test

import (
	"github.com/ebb-ml/ebb"
	. "github.com/ebb-ml/ebb/internal/optest"
)

func init() {
	type T = *ebb.Tensor
	table.Add("matmul", []Case{
		{Op: "Tensor.MatMul", In: []Input{F(2, 3), F(3, 4)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Large: []Input{F(300, 200), F(200, 260)}, Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "dot", In: []Input{F(3), F(3)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "row", In: []Input{F(3), F(3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "column", In: []Input{F(2, 3), F(3)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "stacks", In: []Input{F(2, 2, 3), F(2, 3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "broadcast stacks", In: []Input{F(2, 1, 2, 3), F(3, 3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "stack and matrix", In: []Input{F(2, 2, 3), F(3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "matrix and stack", In: []Input{F(2, 3), F(2, 3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "stack and vector", In: []Input{F(2, 2, 3), F(3)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "vector and stack", In: []Input{F(3), F(2, 3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "ints", In: []Input{I(2, 3), I(3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)"},
		{Op: "Tensor.MatMul", Name: "empty inside", In: []Input{F(2, 0), F(0, 3)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "empty outside", In: []Input{F(0, 3), F(3, 2)}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "a b"},
		{Op: "Tensor.MatMul", Name: "one gradient", In: []Input{F(2, 3), F(3, 2).NoGrad()}, Call: Binary(func(x, y T) T { return x.MatMul(y) }), Torch: "a.matmul(b)", Saved: "b"},
		{Op: "Linear", In: []Input{F(2, 3), F(4, 3), F(4)}, Call: func(s *ebb.Scope, in []T) []T { return []T{ebb.Linear(in[0], in[1], in[2])} }, Torch: "F.linear(a, b, c)", Saved: "a b", Large: []Input{F(300, 200), F(260, 200), F(260)}},
		{Op: "Linear", Name: "stack", In: []Input{F(2, 2, 3), F(4, 3), F(4)}, Call: func(s *ebb.Scope, in []T) []T { return []T{ebb.Linear(in[0], in[1], in[2])} }, Torch: "F.linear(a, b, c)", Saved: "a b"},
		{Op: "Linear", Name: "vector", In: []Input{F(3), F(4, 3), F(4)}, Call: func(s *ebb.Scope, in []T) []T { return []T{ebb.Linear(in[0], in[1], in[2])} }, Torch: "F.linear(a, b, c)", Saved: "a b"},
		{Op: "Linear", Name: "without bias", In: []Input{F(2, 3), F(4, 3)}, Call: func(s *ebb.Scope, in []T) []T { return []T{ebb.Linear(in[0], in[1], nil)} }, Torch: "F.linear(a, b)", Saved: "a b"},
		{Op: "Linear", Name: "first layer", In: []Input{F(2, 3).NoGrad(), F(4, 3), F(4)}, Call: func(s *ebb.Scope, in []T) []T { return []T{ebb.Linear(in[0], in[1], in[2])} }, Torch: "F.linear(a, b, c)", Saved: "a"},
	})
}
