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
	rows := func(label string, ragged bool, note func(bits GPVirtual)) {
		Label(label)
		var bits [2]GPVirtual
		for h := range 2 {
			at := Mem{Base: c, Disp: l.bytes * h}
			x, some := l.vector(), l.vector()
			switch {
			case !ragged:
				e.load(at, x)
			case l.bytes == 64:
				e.loadMasked(at, []Register{K1, K2}[h], x)
			default:
				VMOVUPS(columns[h], some)
				maskedLoad(e, at, some, x)
			}
			// Of two zeros, and of a number and a NaN, the maximum is its second
			// operand, here the first.
			e.max(x, least, x)
			switch {
			case !ragged:
				e.store(x, at)
			case l.bytes == 64:
				e.store(x, []Register{K1, K2}[h], at)
			default:
				maskedStore(e, x, some, at)
			}
			bits[h] = GP64()
			if l.bytes == 64 {
				e.compare(U8(notLessEqual), least, x, K3)
				KMOVW(K3, bits[h].As32())
			} else {
				e.compare(U8(notLessEqual), least, x, some)
				e.signs(some, bits[h].As32())
			}
		}
		TESTQ(mask, mask)
		JZ(LabelRef(label + "Noted"))
		SHLQ(U8(l.lanes(e)), bits[1])
		ORQ(bits[1], bits[0])
		note(bits[0])
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
	rows("whole", false, func(bits GPVirtual) {
		switch m := (Mem{Base: mask}); 2 * l.lanes(e) {
		case 32:
			MOVL(bits.As32(), m)
		case 16:
			MOVW(bits.As16(), m)
		case 8:
			MOVB(bits.As8(), m)
		}
	})
	rows("ragged", true, func(bits GPVirtual) {
		// No byte more than the columns fill.
		left, at := GP64(), GP64()
		MOVQ(cols.Addr, left)
		MOVQ(mask, at)
		Label("byte")
		MOVB(bits.As8(), Mem{Base: at})
		SHRQ(U8(8), bits)
		INCQ(at)
		SUBQ(U8(8), left)
		JG(LabelRef("byte"))
	})
}
