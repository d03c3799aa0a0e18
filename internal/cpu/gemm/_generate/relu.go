package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// notLessEqual is the predicate of comparisons that holds for a NaN.
const notLessEqual = 6

// relu writes the kernel that limits rows of at most two vectors to at least 0.
func relu(l level, e element) {
	name := "relu" + l.name
	if e.size == 8 {
		name += "f64"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(rows int, c *%s, ldc int, mask *byte, ldm, cols int)", e.goType))
	Pragma("noescape")
	doc(fmt.Sprintf(`
%s limits rows of cols <= %d elements to at least 0 and notes in the bits of
mask, unless it is nil, which were above 0 or NaN:

	for i := range rows {
		for j := range cols {
			v := c[i*ldc+j]
			if v < 0 {
				c[i*ldc+j] = 0
			}
			if mask != nil {
				if j%%8 == 0 {
					mask[i*ldm+j/8] = 0
				}
				if !(v <= 0) {
					mask[i*ldm+j/8] |= 1 << (j %% 8)
				}
			}
		}
	}
`, name, 2*l.lanes(e)))
	n, c, ldc := param("rows"), param("c"), bytesOf(e, "ldc")
	mask, ldm := param("mask"), param("ldm")
	columns := columnMasks(l, e)
	cols, err := Param("cols").Resolve()
	if err != nil {
		panic(err)
	}
	least := l.vector()
	zero(l, least)
	rows := func(label string, ragged bool) {
		Label(label)
		var some [2]VecVirtual // AVX2's masks, then what the comparisons give
		for h := range 2 {
			at := Mem{Base: c, Disp: l.bytes * h}
			x := l.vector()
			some[h] = l.vector()
			// Of two zeros, and of a number and a NaN, the maximum is its second
			// operand, here the first.
			switch {
			case !ragged:
				e.max(at, least, x)
				e.store(x, at)
			case l.bytes == 64:
				e.loadMasked(at, []Register{K1, K2}[h], x)
				e.max(x, least, x)
				e.store(x, []Register{K1, K2}[h], at)
			default:
				VMOVUPS(columns[h], some[h])
				maskedLoad(e, at, some[h], x)
				e.max(x, least, x)
				maskedStore(e, x, some[h], at)
			}
			if l.bytes == 64 {
				e.compare(U8(notLessEqual), least, x, []Register{K3, K4}[h])
			} else {
				e.compare(U8(notLessEqual), least, x, some[h])
			}
		}
		TESTQ(mask, mask)
		JZ(LabelRef(label + "Noted"))
		bits := GP64()
		switch {
		case l.bytes < 64:
			high := GP64()
			e.signs(some[0], bits.As32())
			e.signs(some[1], high.As32())
			SHLQ(U8(l.lanes(e)), high)
			ORQ(high, bits)
		case ragged:
			e.joinMasks(K3, K4, K3)
			e.moveMask(K3, bits.As32())
		default:
			e.joinMasks(K3, K4, K3)
			e.moveMask(K3, Mem{Base: mask})
		}
		switch {
		case ragged: // no byte more than the columns fill
			left, at := GP64(), GP64()
			MOVQ(cols.Addr, left)
			MOVQ(mask, at)
			Label("byte")
			MOVB(bits.As8(), Mem{Base: at})
			SHRQ(U8(8), bits)
			INCQ(at)
			SUBQ(U8(8), left)
			JG(LabelRef("byte"))
		case l.bytes == 64:
		case e.size == 4:
			MOVW(bits.As16(), Mem{Base: mask})
		default:
			MOVB(bits.As8(), Mem{Base: mask})
		}
		ADDQ(ldm, mask)
		Label(label + "Noted")
		ADDQ(ldc, c)
		DECQ(n)
		JNZ(LabelRef(label))
		VZEROUPPER()
		RET()
	}
	CMPQ(cols.Addr, U8(2*l.lanes(e)))
	JNE(LabelRef("ragged"))
	rows("whole", false)
	rows("ragged", true)
}
