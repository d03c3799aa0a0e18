package elementwise

import "github.com/ebb-ml/ebb/internal/cpu"

// BinaryScalar sets dst to op(a, v), or to op(v, a) if reversed. As in PyTorch
// v is first converted to a's dtype (0.1 becomes the float32 nearest to it), and
// a to the power of 0.5, 2, 3, -0.5, -1 or -2 is computed with roots and
// products. Errors are those of [Binary].
func BinaryScalar(op BinaryOp, dst, a cpu.Array, v float64, reversed bool) error {
	if op == Pow && !reversed {
		if k := powers(v, a.DType); k.loop != nil {
			run1(k, &dst, &a, 0, 0)
			return nil
		}
	}
	return binaryScalar(op, &dst, &a, bitsOf(a.DType, v), reversed)
}

// BinaryScalarInt is [BinaryScalar] for an integer scalar.
func BinaryScalarInt(op BinaryOp, dst, a cpu.Array, v int64, reversed bool) error {
	if op == Pow && !reversed {
		if k := powers(float64(v), a.DType); k.loop != nil {
			run1(k, &dst, &a, 0, 0)
			return nil
		}
	}
	return binaryScalar(op, &dst, &a, bitsOfInt(a.DType, v), reversed)
}

func binaryScalar(op BinaryOp, dst, a *cpu.Array, v uint64, reversed bool) error {
	k := inUse.right[a.DType][op]
	if reversed {
		k = inUse.left[a.DType][op]
	}
	if k.loop != nil {
		run1(k, dst, a, v, 0)
		return nil
	}
	number := repeat(v, a.DType, a.Shape)
	if reversed {
		return Binary(op, *dst, number, *a)
	}
	return Binary(op, *dst, *a, number)
}

// powers is the kernel for a constant exponent, without a loop if there is no special one.
func powers(exponent float64, t cpu.DType) kernel {
	switch exponent {
	case 0.5:
		return inUse.unary[t][Sqrt]
	case 2:
		return inUse.unary[t][Square]
	case 3:
		return inUse.unary[t][cube]
	case -0.5:
		return inUse.unary[t][Rsqrt]
	case -1:
		return inUse.unary[t][Reciprocal]
	case -2:
		return inUse.unary[t][inverseSquare]
	}
	return kernel{}
}
