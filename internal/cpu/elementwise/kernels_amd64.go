//go:build !noasm

package elementwise

import (
	"math"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

//go:generate sh -c "cd ../_generate && go run ./elementwise -pkg elementwise -out ../elementwise/elementwise_amd64.s -stubs ../elementwise/stubs_amd64.go"

// accelerate puts a level's assembly in the place of the Go loops.
func accelerate(k *kernels, level cpu.SIMD) {
	avx2(k)
	if level == cpu.AVX512 {
		avx512(k)
	}
}

func avx2(k *kernels) {
	const f32, f64 = cpu.Float32, cpu.Float64
	set := func(table *[dtypes][binaryOps]kernel, op BinaryOp, float32s, float64s loop) {
		table[f32][op], table[f64][op] = inVectors(float32s), inVectors(float64s)
	}
	set(&k.binary, Add, addAVX2, addAVX2f64)
	set(&k.binary, Sub, subAVX2, subAVX2f64)
	set(&k.binary, Mul, mulAVX2, mulAVX2f64)
	set(&k.binary, Div, divAVX2, divAVX2f64)
	set(&k.right, Add, addRightAVX2, addRightAVX2f64)
	set(&k.right, Sub, subRightAVX2, subRightAVX2f64)
	set(&k.right, Mul, mulRightAVX2, mulRightAVX2f64)
	set(&k.right, Div, divRightAVX2, divRightAVX2f64)
	set(&k.left, Sub, subLeftAVX2, subLeftAVX2f64)
	set(&k.left, Div, divLeftAVX2, divLeftAVX2f64)
	k.binary[f32][Maximum], k.right[f32][Maximum] = inVectors(maximumAVX2), inVectors(maximumRightAVX2)
	k.binary[f32][Minimum], k.right[f32][Minimum] = inVectors(minimumAVX2), inVectors(minimumRightAVX2)

	k.addScaled[f32], k.addScaled[f64] = inVectors(addScaledAVX2), inVectors(addScaledAVX2f64)
	k.addcmul[f32], k.addcmul[f64] = inVectors(addcmulAVX2), inVectors(addcmulAVX2f64)
	k.addcdiv[f32], k.addcdiv[f64] = inVectors(addcdivAVX2), inVectors(addcdivAVX2f64)
	k.lerpNear[f32], k.lerpNear[f64] = inVectors(lerpNearAVX2), inVectors(lerpNearAVX2f64)
	k.lerpFar[f32], k.lerpFar[f64] = inVectors(lerpFarAVX2), inVectors(lerpFarAVX2f64)
	k.clamped[f32], k.clamped[f64] = inVectors(clampAVX2), inVectors(clampAVX2f64)
	k.fill = inVectors(fillAVX2f64)
	k.transpose = transposeAVX2
	k.reluMask[f32], k.maskMul[f32] = inVectors(reluMaskAVX2), inVectors(maskMulAVX2)

	for op, l := range map[UnaryOp][2]loop{
		Neg: {negAVX2, negAVX2f64}, Abs: {absAVX2, absAVX2f64}, Square: {squareAVX2, squareAVX2f64},
		Floor: {floorAVX2, floorAVX2f64}, Ceil: {ceilAVX2, ceilAVX2f64}, Round: {roundAVX2, roundAVX2f64},
		Trunc: {truncAVX2, truncAVX2f64}, ReLU: {reluAVX2, reluAVX2f64}, Sqrt: {sqrtAVX2, sqrtAVX2f64},
		Rsqrt: {rsqrtAVX2, rsqrtAVX2f64}, Reciprocal: {reciprocalAVX2, reciprocalAVX2f64},
	} {
		k.unary[f32][op], k.unary[f64][op] = inVectors(l[0]), inVectors(l[1])
	}
	for op, l := range map[UnaryOp]loop{
		Exp: expAVX2, Expm1: expm1AVX2, Log: logAVX2, Log1p: log1pAVX2, Sigmoid: sigmoidAVX2, Tanh: tanhAVX2, Erf: erfAVX2,
		Sin: reduced(sinAVX2, math.Sin), Cos: reduced(cosAVX2, math.Cos),
	} {
		k.unary[f32][op] = functionInVectors(l)
	}

	for p, l := range map[*kernel]loop{
		&k.binary[f32][Add]: addPastAVX2, &k.binary[f32][Sub]: subPastAVX2, &k.binary[f32][Mul]: mulPastAVX2, &k.binary[f32][Div]: divPastAVX2,
		&k.right[f32][Add]: addRightPastAVX2, &k.right[f32][Sub]: subRightPastAVX2, &k.right[f32][Mul]: mulRightPastAVX2,
		&k.right[f32][Div]: divRightPastAVX2, &k.addScaled[f32]: addScaledPastAVX2, &k.unary[f32][ReLU]: reluPastAVX2,
		&k.unary[f32][Exp]: expPastAVX2, &k.unary[f32][Sigmoid]: sigmoidPastAVX2, &k.unary[f32][Tanh]: tanhPastAVX2,
	} {
		p.past = l
	}

	wholeCast(k, f64, f32, 4, float32ToFloat64AVX2)
	wholeCast(k, f32, f64, 4, float64ToFloat32AVX2)
	wholeCast(k, f32, cpu.Int32, 8, int32ToFloat32AVX2)
	wholeCast(k, f32, cpu.Uint8, 8, uint8ToFloat32AVX2)
	wholeCast(k, f32, cpu.Bool, 8, uint8ToFloat32AVX2)
}

func avx512(k *kernels) {
	const f32, f64 = cpu.Float32, cpu.Float64
	set := func(table *[dtypes][binaryOps]kernel, op BinaryOp, float32s, float64s loop) {
		table[f32][op], table[f64][op] = inVectors(float32s), inVectors(float64s)
	}
	set(&k.binary, Add, addAVX512, addAVX512f64)
	set(&k.binary, Sub, subAVX512, subAVX512f64)
	set(&k.binary, Mul, mulAVX512, mulAVX512f64)
	set(&k.binary, Div, divAVX512, divAVX512f64)
	set(&k.right, Add, addRightAVX512, addRightAVX512f64)
	set(&k.right, Sub, subRightAVX512, subRightAVX512f64)
	set(&k.right, Mul, mulRightAVX512, mulRightAVX512f64)
	set(&k.right, Div, divRightAVX512, divRightAVX512f64)
	set(&k.left, Sub, subLeftAVX512, subLeftAVX512f64)
	set(&k.left, Div, divLeftAVX512, divLeftAVX512f64)
	k.binary[f32][Maximum], k.right[f32][Maximum] = inVectors(maximumAVX512), inVectors(maximumRightAVX512)
	k.binary[f32][Minimum], k.right[f32][Minimum] = inVectors(minimumAVX512), inVectors(minimumRightAVX512)
	for op, l := range map[BinaryOp][2]loop{
		Eq: {eqAVX512, eqRightAVX512}, Ne: {neAVX512, neRightAVX512}, Lt: {ltAVX512, ltRightAVX512},
		Le: {leAVX512, leRightAVX512}, Gt: {gtAVX512, gtRightAVX512}, Ge: {geAVX512, geRightAVX512},
	} {
		k.binary[f32][op], k.right[f32][op] = inVectors(l[0]), inVectors(l[1])
	}

	k.addScaled[f32], k.addScaled[f64] = inVectors(addScaledAVX512), inVectors(addScaledAVX512f64)
	k.addcmul[f32], k.addcmul[f64] = inVectors(addcmulAVX512), inVectors(addcmulAVX512f64)
	k.addcdiv[f32], k.addcdiv[f64] = inVectors(addcdivAVX512), inVectors(addcdivAVX512f64)
	k.lerpNear[f32], k.lerpNear[f64] = inVectors(lerpNearAVX512), inVectors(lerpNearAVX512f64)
	k.lerpFar[f32], k.lerpFar[f64] = inVectors(lerpFarAVX512), inVectors(lerpFarAVX512f64)
	k.clamped[f32], k.clamped[f64] = inVectors(clampAVX512), inVectors(clampAVX512f64)
	k.where[4] = inVectors(whereAVX512)
	k.fill = inVectors(fillAVX512f64)
	k.reluMask[f32], k.maskMul[f32] = inVectors(reluMaskAVX512), inVectors(maskMulAVX512)

	for op, l := range map[UnaryOp][2]loop{
		Neg: {negAVX512, negAVX512f64}, Abs: {absAVX512, absAVX512f64}, Square: {squareAVX512, squareAVX512f64},
		Floor: {floorAVX512, floorAVX512f64}, Ceil: {ceilAVX512, ceilAVX512f64}, Round: {roundAVX512, roundAVX512f64},
		Trunc: {truncAVX512, truncAVX512f64}, ReLU: {reluAVX512, reluAVX512f64}, Sqrt: {sqrtAVX512, sqrtAVX512f64},
		Rsqrt: {rsqrtAVX512, rsqrtAVX512f64}, Reciprocal: {reciprocalAVX512, reciprocalAVX512f64},
	} {
		k.unary[f32][op], k.unary[f64][op] = inVectors(l[0]), inVectors(l[1])
	}
	for op, l := range map[UnaryOp]loop{
		Exp: expAVX512, Expm1: expm1AVX512, Log: logAVX512, Log1p: log1pAVX512, Sigmoid: sigmoidAVX512,
		Tanh: tanhAVX512, Erf: erfAVX512, Sin: reduced(sinAVX512, math.Sin), Cos: reduced(cosAVX512, math.Cos),
	} {
		k.unary[f32][op] = functionInVectors(l)
	}

	for p, l := range map[*kernel]loop{
		&k.binary[f32][Add]: addPastAVX512, &k.binary[f32][Sub]: subPastAVX512, &k.binary[f32][Mul]: mulPastAVX512, &k.binary[f32][Div]: divPastAVX512,
		&k.right[f32][Add]: addRightPastAVX512, &k.right[f32][Sub]: subRightPastAVX512, &k.right[f32][Mul]: mulRightPastAVX512,
		&k.right[f32][Div]: divRightPastAVX512, &k.addScaled[f32]: addScaledPastAVX512, &k.unary[f32][ReLU]: reluPastAVX512,
		&k.unary[f32][Exp]: expPastAVX512, &k.unary[f32][Sigmoid]: sigmoidPastAVX512, &k.unary[f32][Tanh]: tanhPastAVX512,
	} {
		p.past = l
	}

	wholeCast(k, f64, f32, 8, float32ToFloat64AVX512)
	wholeCast(k, f32, f64, 8, float64ToFloat32AVX512)
	wholeCast(k, f32, cpu.Int32, 16, int32ToFloat32AVX512)
	wholeCast(k, f32, cpu.Uint8, 16, uint8ToFloat32AVX512)
	wholeCast(k, f32, cpu.Bool, 16, uint8ToFloat32AVX512)
	wholeCast(k, f32, cpu.Int64, 8, int64ToFloat32AVX512)
	wholeCast(k, cpu.Int64, f32, 8, float32ToInt64AVX512)
}

// wholeCast puts whole, which converts multiples of step elements, before the Go loop.
func wholeCast(k *kernels, to, from cpu.DType, step int, whole loop) {
	rest := casts[to][from].loop
	k.cast[to][from] = inVectors(func(n int, d, a, _, _ unsafe.Pointer, _, _ uint64) {
		m := n - n%step
		whole(m, d, a, nil, nil, 0, 0)
		if m < n {
			rest(n-m, unsafe.Add(d, m*to.Size()), unsafe.Add(a, m*from.Size()), nil, nil, 0, 0)
		}
	})
}

// reduced calls part, which stops before a vector with an element too large for
// it, and computes those few vectors by f.
func reduced(part func(n int, d, a unsafe.Pointer) int, f func(float64) float64) loop {
	const vector = 16 // or less
	return func(n int, dp, ap, _, _ unsafe.Pointer, _, _ uint64) {
		d, a := slice[float32](dp, n), slice[float32](ap, n)
		for {
			done := part(len(d), unsafe.Pointer(unsafe.SliceData(d)), unsafe.Pointer(unsafe.SliceData(a)))
			if done == len(d) {
				return
			}
			d, a = d[done:], a[done:]
			m := min(vector, len(d))
			for i, x := range a[:m] {
				// Elements that are not too large must have the bits that part gives them.
				if part(1, unsafe.Pointer(&d[i]), unsafe.Pointer(&a[i])) == 0 {
					d[i] = float32(f(float64(x)))
				}
			}
			d, a = d[m:], a[m:]
		}
	}
}
