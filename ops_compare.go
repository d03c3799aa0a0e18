package ebb

import (
	"github.com/ebb-ml/ebb/internal/cpu/elementwise"
)

// Comparisons have no gradient. Their operands are promoted as [ResultType] and
// broadcast, or converted to the type a Go number shares with the tensor.

func compareOp(name string, op elementwise.BinaryOp) *opdef {
	o := binaryOp(name, op)
	o.constant = true
	return o
}

func compareScalarOp(name string, op elementwise.BinaryOp) *opdef {
	o := scalarOp(name, op)
	o.constant = true
	return o
}

var (
	opEq = compareOp("eq", elementwise.Eq)
	opNe = compareOp("ne", elementwise.Ne)
	opLt = compareOp("lt", elementwise.Lt)
	opLe = compareOp("le", elementwise.Le)
	opGt = compareOp("gt", elementwise.Gt)
	opGe = compareOp("ge", elementwise.Ge)

	opEqScalar = compareScalarOp("eq", elementwise.Eq)
	opNeScalar = compareScalarOp("ne", elementwise.Ne)
	opLtScalar = compareScalarOp("lt", elementwise.Lt)
	opLeScalar = compareScalarOp("le", elementwise.Le)
	opGtScalar = compareScalarOp("gt", elementwise.Gt)
	opGeScalar = compareScalarOp("ge", elementwise.Ge)
)

// Eq returns a Bool tensor that is true where x == y. It is torch.eq.
func (x *Tensor) Eq(y *Tensor) *Tensor { return binary(opEq, x, y, Bool) }

// Ne returns a Bool tensor that is true where x != y. It is torch.ne.
func (x *Tensor) Ne(y *Tensor) *Tensor { return binary(opNe, x, y, Bool) }

// Lt returns a Bool tensor that is true where x < y. It is torch.lt.
func (x *Tensor) Lt(y *Tensor) *Tensor { return binary(opLt, x, y, Bool) }

// Le returns a Bool tensor that is true where x <= y. It is torch.le.
func (x *Tensor) Le(y *Tensor) *Tensor { return binary(opLe, x, y, Bool) }

// Gt returns a Bool tensor that is true where x > y. It is torch.gt.
func (x *Tensor) Gt(y *Tensor) *Tensor { return binary(opGt, x, y, Bool) }

// Ge returns a Bool tensor that is true where x >= y. It is torch.ge.
func (x *Tensor) Ge(y *Tensor) *Tensor { return binary(opGe, x, y, Bool) }

// compareScalar runs op on x and the Go number v.
func compareScalar(op *opdef, x *Tensor, v any) *Tensor {
	s := scalarOf(op.name, v)
	return withScalarAs(op, x, s, s.with(x.dtype), Bool)
}

// EqScalar returns a Bool tensor that is true where x equals the Go number or
// bool v. It is torch.eq.
func (x *Tensor) EqScalar(v any) *Tensor { return compareScalar(opEqScalar, x, v) }

// NeScalar returns a Bool tensor that is true where x != v. It is torch.ne.
func (x *Tensor) NeScalar(v any) *Tensor { return compareScalar(opNeScalar, x, v) }

// LtScalar returns a Bool tensor that is true where x < v. It is torch.lt.
func (x *Tensor) LtScalar(v any) *Tensor { return compareScalar(opLtScalar, x, v) }

// LeScalar returns a Bool tensor that is true where x <= v. It is torch.le.
func (x *Tensor) LeScalar(v any) *Tensor { return compareScalar(opLeScalar, x, v) }

// GtScalar returns a Bool tensor that is true where x > v. It is torch.gt.
func (x *Tensor) GtScalar(v any) *Tensor { return compareScalar(opGtScalar, x, v) }

// GeScalar returns a Bool tensor that is true where x >= v. It is torch.ge.
func (x *Tensor) GeScalar(v any) *Tensor { return compareScalar(opGeScalar, x, v) }
