package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func packText(e element, name, text string) {
	if e.size == 8 {
		name += "f64"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, src *%[1]s, lds int, dst *%[1]s, ldd int)", e.goType))
	Pragma("noescape")
	doc(fmt.Sprintf(text, name))
}

// transpose writes the kernel that turns squares of 32 bytes' side. The upper
// half of each vector holds the rows from the middle on, so that no element
// has to cross the middle.
func transpose(e element) {
	side := 32 / e.size
	packText(e, "transposeAVX2", fmt.Sprintf(`
%%s transposes %[1]d rows into panel rows of %[1]d elements, n squares of them:

	for p := range n * %[1]d {
		for j := range %[1]d {
			dst[p*ldd+j] = src[j*lds+p]
		}
	}
`, side))
	n := param("n")
	src, from := rowsOf(param("src"), bytesOf(e, "lds"), side)
	ldd := bytesOf(e, "ldd")
	dst, to := rowsOf(param("dst"), ldd, side)
	forward := GP64()
	MOVQ(ldd, forward)
	SHLQ(U8(map[int]uint8{4: 2, 8: 3}[side]), forward)

	Label("square")
	half := side / 2
	for part := range 2 { // a half of each row: 16 bytes
		var r []VecVirtual // rows i and i+half
		for i := range half {
			v := YMM()
			VMOVUPS(src[i].Offset(16*part), v.AsX())
			VINSERTF128(U8(1), src[i+half].Offset(16*part), v, v)
			r = append(r, v)
		}
		var out []VecVirtual
		if e.size == 8 {
			out = []VecVirtual{YMM(), YMM()}
			VUNPCKLPD(r[1], r[0], out[0])
			VUNPCKHPD(r[1], r[0], out[1])
		} else {
			t := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
			VUNPCKLPS(r[1], r[0], t[0])
			VUNPCKHPS(r[1], r[0], t[1])
			VUNPCKLPS(r[3], r[2], t[2])
			VUNPCKHPS(r[3], r[2], t[3])
			for i := range 4 {
				v := YMM()
				VSHUFPS(U8([]uint8{0x44, 0xee}[i%2]), t[i/2+2], t[i/2], v)
				out = append(out, v)
			}
		}
		for i, v := range out {
			VMOVUPS(v, dst[part*half+i])
		}
	}
	for _, p := range from {
		ADDQ(U32(32), p)
	}
	for _, p := range to {
		ADDQ(forward, p)
	}
	DECQ(n)
	JNZ(LabelRef("square"))
	VZEROUPPER()
	RET()
}

// copyLine writes the kernel that copies strips of 64 bytes.
func copyLine(e element) {
	packText(e, "copyLineAVX2", fmt.Sprintf(`
%%s copies n rows of %[1]d elements:

	for p := range n {
		for j := range %[1]d {
			dst[p*ldd+j] = src[p*lds+j]
		}
	}
`, 64/e.size))
	n, src, dst := param("n"), param("src"), param("dst")
	lds, ldd := bytesOf(e, "lds"), bytesOf(e, "ldd")
	Label("row")
	low, high := YMM(), YMM()
	VMOVUPS(Mem{Base: src}, low)
	VMOVUPS(Mem{Base: src, Disp: 32}, high)
	VMOVUPS(low, Mem{Base: dst})
	VMOVUPS(high, Mem{Base: dst, Disp: 32})
	ADDQ(lds, src)
	ADDQ(ldd, dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
