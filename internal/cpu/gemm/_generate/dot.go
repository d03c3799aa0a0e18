package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// dot writes the kernel for the products of rows and one vector.
func dot(l level, e element, rows int) {
	parts := map[int]int{1: 4, 4: 2}[rows] // vectors of partial sums to a row
	lanes := l.lanes(e)
	name := fmt.Sprintf("dot%d%s", rows, l.name)
	if e.size == 8 {
		name += "f64"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(k int, a *%[1]s, lda int, x, y *%[1]s)", e.goType))
	Pragma("noescape")
	doc(fmt.Sprintf(`
%s computes %d dot products, each in %d partial sums that are added at the end:

	for i := range %d {
		y[i] = 0
		for p := range k {
			y[i] += a[i*lda+p] * x[p]
		}
	}
`, name, rows, parts*lanes, rows))

	k := param("k")
	a, bases := rowsOf(param("a"), bytesOf(e, "lda"), rows)
	x := param("x")
	sums := make([][]VecVirtual, rows)
	for i := range sums {
		for range parts {
			v := l.vector()
			zero(l, v)
			sums[i] = append(sums[i], v)
		}
	}
	advance := func(vectors int) {
		for _, r := range append(bases, x.(GPVirtual)) {
			ADDQ(U32(vectors*l.bytes), r)
		}
	}
	// whole multiplies n vectors.
	whole := func(n int) {
		for v := range n {
			xs := l.vector()
			e.load(Mem{Base: x, Disp: v * l.bytes}, xs)
			for i := range rows {
				e.fma(a[i].Offset(v*l.bytes), xs, sums[i][v])
			}
		}
		advance(n)
	}
	for _, n := range []int{parts, 1} {
		loop, end := fmt.Sprintf("loop%d", n), fmt.Sprintf("end%d", n)
		Label(loop)
		SUBQ(U32(n*lanes), k)
		JL(LabelRef(end))
		whole(n)
		JMP(LabelRef(loop))
		Label(end)
		ADDQ(U32(n*lanes), k)
	}

	TESTQ(k, k)
	JZ(LabelRef("sum"))
	xs := l.vector()
	if l.bytes == 64 {
		MOVQ(k, RCX)
		bits := GP64()
		MOVQ(U32(1), bits)
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), K1)
		e.loadMasked(Mem{Base: x}, K1, xs)
		for i := range rows {
			as := l.vector()
			e.loadMasked(a[i], K1, as)
			e.fma(as, xs, sums[i][0])
		}
	} else {
		at, mask := GP64(), l.vector()
		SHLQ(U8(map[int]uint8{4: 2, 8: 3}[e.size]), k)
		LEAQ(maskTable.Offset(64), at)
		SUBQ(k, at)
		VMOVUPS(Mem{Base: at}, mask)
		maskedLoad(e, Mem{Base: x}, mask, xs)
		for i := range rows {
			as := l.vector()
			maskedLoad(e, a[i], mask, as)
			e.fma(as, xs, sums[i][0])
		}
	}

	Label("sum")
	y := param("y")
	for i := range rows {
		for width := parts; width > 1; width /= 2 {
			for v := range width / 2 {
				e.add(sums[i][v+width/2], sums[i][v], sums[i][v])
			}
		}
		total := horizontal(l, e, sums[i][0])
		if e.size == 4 {
			VMOVSS(total, Mem{Base: y, Disp: e.size * i})
		} else {
			VMOVSD(total, Mem{Base: y, Disp: e.size * i})
		}
	}
	VZEROUPPER()
	RET()
}

// horizontal adds the lanes of v, halving them until one is left.
func horizontal(l level, e element, v VecVirtual) VecVirtual {
	if l.bytes == 64 {
		upper := YMM()
		VEXTRACTF64X4(U8(1), v, upper)
		e.add(upper, v.AsY(), v.AsY())
	}
	x, t := XMM(), XMM()
	VEXTRACTF128(U8(1), v.AsY(), x)
	e.add(x, v.AsX(), x)
	VPERMILPD(U8(1), x, t)
	if e.size == 8 {
		VADDSD(t, x, x)
		return x
	}
	VADDPS(t, x, x)
	VMOVSHDUP(x, t)
	VADDSS(t, x, x)
	return x
}
