package ebb

import (
	"fmt"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// DType is the type of a tensor's elements. A DType is also an [Option] of
// the creation functions: Zeros(s, Shape{2, 3}, Int64).
type DType uint8

// The element types. Bool elements take one byte.
const (
	Float32 = DType(cpu.Float32)
	Float64 = DType(cpu.Float64)
	Int64   = DType(cpu.Int64)
	Int32   = DType(cpu.Int32)
	Uint8   = DType(cpu.Uint8)
	Bool    = DType(cpu.Bool)
)

var dtypeNames = [...]string{"float32", "float64", "int64", "int32", "uint8", "bool"}

// String returns the name PyTorch gives the type, without "torch.".
func (d DType) String() string {
	if int(d) < len(dtypeNames) {
		return dtypeNames[d]
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

// Size returns the bytes of one element.
func (d DType) Size() int { return cpu.DType(d).Size() }

// IsFloat reports whether d is Float32 or Float64, the types that can have
// gradients.
func (d DType) IsFloat() bool { return d == Float32 || d == Float64 }

func (d DType) valid() bool { return int(d) < len(dtypeNames) }

// category orders the types for promotion: bool, then integers, then floats.
func (d DType) category() int {
	switch d {
	case Bool:
		return 0
	case Uint8, Int32, Int64:
		return 1
	}
	return 2
}

// PromoteTypes returns the smallest type both a and b convert to without
// losing their category, as torch.promote_types does.
func PromoteTypes(a, b DType) DType {
	if a.category() != b.category() {
		if a.category() > b.category() {
			return a
		}
		return b
	}
	// Within a category the wider type wins.
	if a.Size() >= b.Size() {
		return a
	}
	return b
}

// resultType is torch.result_type: within one category tensors with
// dimensions decide before tensors without, and those before Go numbers.
func resultType(operands ...*Tensor) DType {
	var dims, zeros DType
	var hasDims, hasZeros bool
	for _, x := range operands {
		if len(x.shape) > 0 {
			if hasDims {
				dims = PromoteTypes(dims, x.dtype)
			} else {
				dims, hasDims = x.dtype, true
			}
		} else if hasZeros {
			zeros = PromoteTypes(zeros, x.dtype)
		} else {
			zeros, hasZeros = x.dtype, true
		}
	}
	switch {
	case !hasZeros:
		return dims
	case !hasDims:
		return zeros
	case zeros.category() > dims.category():
		return zeros
	}
	return dims
}

// ResultType returns the type that arithmetic on a and b gives: the promotion
// of their types, where a tensor without dimensions counts only if its
// category (bool, integer, float) is higher. It follows torch.result_type.
func ResultType(a, b *Tensor) DType { return resultType(a, b) }

// Element is a Go type that tensor elements can be read into and made from.
// Bool tensors use bool; the conversion is checked, never reinterpreted.
type Element interface {
	float32 | float64 | int64 | int32 | uint8 | bool
}

func dtypeOf[T Element]() DType {
	var z T
	switch any(z).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int64:
		return Int64
	case int32:
		return Int32
	case uint8:
		return Uint8
	}
	return Bool
}
