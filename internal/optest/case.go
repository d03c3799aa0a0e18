// Package optest runs one table of operations through every check that all
// operations must pass: PyTorch's values, gradients by finite differences,
// memory given back, aliased operands, failing allocations, bad operands and
// odd layouts. The packages ebb, nn and optim each keep a table in their tests.
//
// A table that lacks a row for an exported operation fails ([Table.Complete]).
package optest

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// Case is a row: one operation on given operands.
type Case struct {
	// Op is the exported operation, as its package spells it: "Tensor.Add",
	// "Cat", "Linear". Several, separated by spaces, share the row.
	Op string
	// Name tells the rows of one operation apart.
	Name string
	// In are the operands, made anew for every run.
	In []Input
	// Call runs the operation. s is the scope that operands are directed to.
	// It must work for Float64 in the place of Float32.
	Call func(s *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor
	// Module, in the place of Call, makes something with parameters in st, in
	// the given type, and returns the parameters and how to call it. It runs
	// after ManualSeed(0).
	Module func(st *ebb.Store, dtype ebb.DType) (params []*ebb.Tensor, forward Func)
	// Torch is Python for the same: an expression, or statements of which the
	// last is one, that gives a tensor or a tuple. Operands are a, b, c, ...;
	// torch, F and nn are imported; torch.manual_seed(0) was called. If it
	// sets params, to a list, their gradients are compared with Module's.
	Torch string
	// NoTorch says why there is nothing to compare with, if Torch is empty.
	NoTorch string
	// Saved is the memory that the graph alone keeps: the operands by letter
	// and bytes of its own, as "a b +24". The leak gate prints what it found.
	Saved string
	// InPlace says that the operation changes operand a.
	InPlace bool
	// Tol is the relative and absolute tolerance against PyTorch; by default
	// 1e-6 for Float32, 1e-12 for Float64. Integers and bools are exact.
	Tol float64
	// Large are operands big enough for kernels to use several threads. They
	// must give the same bits with any number of threads.
	Large []Input
	// Skip says which checks do not apply, each with the reason.
	Skip map[Check]string
}

// Func is how operations are called.
type Func func(s *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor

// Check is one of the checks that run over a table.
type Check string

// The checks.
const (
	TorchValues Check = "torch values"
	Leaks       Check = "leaks"
	Alias       Check = "alias"
	GradCheck   Check = "gradcheck"
	GradGrad    Check = "gradgradcheck"
	Failures    Check = "failures"
	BadInput    Check = "bad input"
	Layouts     Check = "layouts"
	Threads     Check = "threads"
	Together    Check = "together"
)

// Unary makes a Call of a function of one tensor.
func Unary(f func(x *ebb.Tensor) *ebb.Tensor) func(*ebb.Scope, []*ebb.Tensor) []*ebb.Tensor {
	return func(_ *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{f(in[0])} }
}

// Binary makes a Call of a function of two tensors.
func Binary(f func(x, y *ebb.Tensor) *ebb.Tensor) func(*ebb.Scope, []*ebb.Tensor) []*ebb.Tensor {
	return func(_ *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{f(in[0], in[1])} }
}

// Ternary makes a Call of a function of three tensors.
func Ternary(f func(x, y, z *ebb.Tensor) *ebb.Tensor) func(*ebb.Scope, []*ebb.Tensor) []*ebb.Tensor {
	return func(_ *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{f(in[0], in[1], in[2])} }
}

// Table is the rows of one package.
type Table struct {
	cases    []*Case
	family   map[*Case]string
	families []string
}

// Add adds the rows of a family, whose values lie in
// testdata/ops_<family>_torch.json. It is called from init functions.
func (tb *Table) Add(family string, cases []Case) {
	if slices.Contains(tb.families, family) {
		panic("optest: two families named " + family)
	}
	if tb.family == nil {
		tb.family = map[*Case]string{}
	}
	tb.families = append(tb.families, family)
	for i := range cases {
		tb.cases = append(tb.cases, &cases[i])
		tb.family[&cases[i]] = family
	}
}

// id is the row's name in sub-tests and in the file of values.
func (c *Case) id() string {
	id := strings.ReplaceAll(c.Op, " ", "+")
	if c.Name != "" {
		id += "/" + c.Name
	}
	return id
}

// hash changes with everything that PyTorch's values depend on.
func (c *Case) hash() string {
	h := fnv.New64a()
	fmt.Fprint(h, c.Torch, c.InPlace)
	for i, in := range c.In {
		fmt.Fprint(h, in.DType, in.Shape, in.Grad, in.Layout, in.data(i))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// each runs f over the rows that check applies to, as parallel sub-tests.
func (tb *Table) each(t *testing.T, check Check, f func(t *testing.T, c *Case)) {
	for _, c := range tb.cases {
		if c.Skip[check] != "" {
			continue
		}
		t.Run(c.id(), func(t *testing.T) {
			t.Parallel()
			f(t, c)
		})
	}
}
