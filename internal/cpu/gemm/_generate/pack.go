package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// transpose writes the kernel that turns rows of a matrix into columns: of
// float32 4 rows to each of the lanes of 16 bytes that a vector has, of float64
// 2. The lanes of a vector hold rows that many apart, so that no element has to
// cross from one lane to another.
func transpose(e element, lanes int) {
	quad := 16 / e.size // rows in a lane, and elements of a row in it
	rows := lanes * quad
	name := fmt.Sprintf("transpose%d%s", rows, map[bool]string{false: "AVX2", true: "AVX512"}[lanes > 2])
	if e.size == 8 {
		name += "f64"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, src *%[1]s, lds int, dst *%[1]s, ldd int)", e.goType))
	Pragma("noescape")
	doc(fmt.Sprintf(`
%s turns %d rows of n elements, n a multiple of %d, into n rows of %d:

	for p := range n {
		for j := range %d {
			dst[p*ldd+j] = src[j*lds+p]
		}
	}
`, name, rows, quad, rows, rows))
	n := param("n")
	SHRQ(U8(map[int]uint8{4: 2, 2: 1}[quad]), n)
	lds := bytesOf(e, "lds")
	src, from := rowsOf(param("src"), lds, rows)
	dst, ldd := param("dst"), bytesOf(e, "ldd")
	if lanes == 3 { // a vector has four
		bits := GP32()
		MOVL(U32(1<<rows-1), bits)
		KMOVW(bits, K1)
	}
	JMP(LabelRef("test"))

	Label("quad")
	var r []VecVirtual // each with rows i, i+quad, ...
	for i := range quad {
		v := vectorOf(lanes)
		VMOVUPS(src[i], v.AsX())
		for lane := 1; lane < lanes; lane++ {
			m := src[i+lane*quad]
			if lanes == 2 {
				VINSERTF128(U8(1), m, v, v)
			} else {
				VINSERTF32X4(U8(lane), m, v, v)
			}
		}
		r = append(r, v)
	}
	var out []VecVirtual
	for range quad {
		out = append(out, vectorOf(lanes))
	}
	if e.size == 8 {
		VUNPCKLPD(r[1], r[0], out[0])
		VUNPCKHPD(r[1], r[0], out[1])
	} else {
		low, high := [2]VecVirtual{vectorOf(lanes), vectorOf(lanes)}, [2]VecVirtual{vectorOf(lanes), vectorOf(lanes)}
		for i := range 2 {
			VUNPCKLPS(r[2*i+1], r[2*i], low[i])
			VUNPCKHPS(r[2*i+1], r[2*i], high[i])
		}
		for i, half := range [][2]VecVirtual{low, high} {
			VUNPCKLPD(half[1], half[0], out[2*i])
			VUNPCKHPD(half[1], half[0], out[2*i+1])
		}
	}
	for _, v := range out {
		if lanes == 3 {
			e.store(v, K1, Mem{Base: dst})
		} else {
			VMOVUPS(v, Mem{Base: dst})
		}
		ADDQ(ldd, dst)
	}
	for _, p := range from {
		ADDQ(U32(16), p)
	}
	Label("test")
	DECQ(n)
	JGE(LabelRef("quad"))
	VZEROUPPER()
	RET()
}

func vectorOf(lanes int) VecVirtual {
	switch lanes {
	case 1:
		return XMM()
	case 2:
		return YMM()
	}
	return ZMM()
}

// copyRows writes the kernel that copies rows of at most two vectors.
func copyRows(l level, e element) {
	name := "copyRows" + l.name
	if e.size == 8 {
		name += "f64"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, src *%[1]s, lds int, dst *%[1]s, ldd, cols int)", e.goType))
	Pragma("noescape")
	doc(fmt.Sprintf(`
%s copies n rows of cols <= %d elements:

	for p := range n {
		for j := range cols {
			dst[p*ldd+j] = src[p*lds+j]
		}
	}
`, name, 2*l.lanes(e)))
	n, src, dst := param("n"), param("src"), param("dst")
	lds, ldd := bytesOf(e, "lds"), bytesOf(e, "ldd")
	mask := columnMasks(l, e)
	cols, err := Param("cols").Resolve()
	if err != nil {
		panic(err)
	}
	rows := func(label string, masked bool) {
		Label(label)
		for h := range 2 {
			x := l.vector()
			from, to := Mem{Base: src, Disp: l.bytes * h}, Mem{Base: dst, Disp: l.bytes * h}
			switch {
			case !masked:
				e.load(from, x)
				e.store(x, to)
			case l.bytes == 64:
				e.loadMasked(from, []Register{K1, K2}[h], x)
				e.store(x, []Register{K1, K2}[h], to)
			default:
				m := l.vector()
				VMOVUPS(mask[h], m)
				maskedLoad(e, from, m, x)
				maskedStore(e, x, m, to)
			}
		}
		ADDQ(lds, src)
		ADDQ(ldd, dst)
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
