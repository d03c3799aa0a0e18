// Command _generate writes the assembly of package gemm for amd64:
//
//	go run . -pkg gemm -out ../gemm_amd64.s -stubs ../stubs_amd64.go
package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An element is a dtype: its Go type, the suffix of names, and its
// instructions.
type element struct {
	goType, suffix string
	size           int

	fma, add, load, store, bcst func(ops ...Op)
	loadMasked                  func(from, mask, to Op)
}

var elements = []element{
	{
		"float32", "32", 4,
		VFMADD231PS, VADDPS, VMOVUPS, VMOVUPS, VBROADCASTSS,
		VMOVUPS_Z,
	},
	{
		"float64", "64", 8,
		VFMADD231PD, VADDPD, VMOVUPD, VMOVUPD, VBROADCASTSD,
		VMOVUPD_Z,
	},
}

// A level is a processor level: its vectors and the rows of its largest tile.
// Tiles are two vectors wide.
type level struct {
	name  string
	bytes int // of a vector
	rows  int
}

var levels = []level{{"AVX2", 32, 6}, {"AVX512", 64, 12}}

func (l level) lanes(e element) int { return l.bytes / e.size }

func (l level) vector() VecVirtual {
	if l.bytes == 64 {
		return ZMM()
	}
	return YMM()
}

func main() {
	ConstraintExpr("!noasm")
	masks()
	for _, l := range levels {
		for _, e := range elements {
			for rows := 1; rows <= l.rows; rows++ {
				tile(l, e, rows)
			}
			dot(l, e, 1)
			dot(l, e, 4)
		}
	}
	for _, e := range elements {
		transpose(e)
		copyLine(e)
	}
	Generate()
}

// masks is 64 bytes of ones and 64 of zeros: read from 64 - n on, it is the
// mask for the first n bytes of two AVX2 vectors.
func masks() {
	m := GLOBL("masks", RODATA|NOPTR)
	for i := range 16 {
		DATA(8*i, U64(map[bool]uint64{true: ^uint64(0)}[i < 8]))
	}
	maskTable = m
}

var maskTable Mem

// bytesOf reads a parameter that counts elements, in bytes.
func bytesOf(e element, name string) GPVirtual {
	r := GP64()
	Load(Param(name), r)
	SHLQ(U8(map[int]uint8{4: 2, 8: 3}[e.size]), r)
	return r
}

func param(name string) GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

// rowsOf returns the operands for n rows that lie ld bytes apart from base on,
// and the registers that hold every third row's address.
func rowsOf(base, ld GPVirtual, n int) (rows []Mem, bases []GPVirtual) {
	for i := range n {
		if i%3 == 0 {
			b := base
			if i > 0 {
				b = GP64()
				last := bases[len(bases)-1]
				LEAQ(Mem{Base: last, Index: ld, Scale: 2}, b)
				ADDQ(ld, b)
			}
			bases = append(bases, b)
		}
		m := Mem{Base: bases[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = ld, uint8(i%3)
		}
		rows = append(rows, m)
	}
	return rows, bases
}

func doc(text string) { Doc(strings.Split(strings.TrimSpace(text), "\n")...) }

// columns makes the masks for the parameter cols: for AVX-512 in K1 and K2, for
// AVX2 as memory operands.
func columns(l level, e element) (m [2]Mem) {
	if l.bytes == 64 {
		Load(Param("cols"), RCX)
		bits := GP64()
		MOVQ(U32(1), bits)
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), K1)
		SHRQ(U8(l.lanes(e)), bits)
		KMOVW(bits.As32(), K2)
		return m
	}
	n := bytesOf(e, "cols")
	at := GP64()
	LEAQ(maskTable.Offset(64), at)
	SUBQ(n, at)
	return [2]Mem{{Base: at}, {Base: at, Disp: 32}}
}

// tile writes the kernel for a tile of the given rows and two vectors.
func tile(l level, e element, rows int) {
	name := fmt.Sprintf("tile%dx%d%s", rows, 2*l.lanes(e), l.name)
	if e.size == 8 {
		name += "f64"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(k int, a *%[1]s, lda, ak int, b *%[1]s, ldb int, c *%[1]s, ldc int, add *%[1]s, ldadd int, cols int)", e.goType))
	Pragma("noescape")
	doc(fmt.Sprintf(`
%s computes a tile of %d rows and cols <= %d columns, with fused products and sums:

	for i := range %d {
		for j := range cols {
			sum := 0
			for p := range k {
				sum = a[i*lda+p*ak]*b[p*ldb+j] + sum
			}
			if add != nil {
				sum += add[i*ldadd+j]
			}
			c[i*ldc+j] = sum
		}
	}
`, name, rows, 2*l.lanes(e), rows))

	k, lda, ak, ldb := param("k"), bytesOf(e, "lda"), bytesOf(e, "ak"), bytesOf(e, "ldb")
	a, bases := rowsOf(param("a"), lda, rows)
	b := param("b")
	sums := make([][2]VecVirtual, rows)
	for i := range sums {
		for h := range 2 {
			sums[i][h] = l.vector()
			zero(l, sums[i][h])
		}
	}
	mask := columns(l, e)

	// loop multiplies the first halves vectors of each row of b.
	loop := func(label string, halves int, masked bool) {
		Label(label)
		var row [2]VecVirtual
		for h := range halves {
			row[h] = l.vector()
			m := Mem{Base: b, Disp: l.bytes * h}
			switch {
			case !masked:
				e.load(m, row[h])
			case l.bytes == 64:
				e.loadMasked(m, []Register{K1, K2}[h], row[h])
			default:
				x := l.vector()
				VMOVUPS(mask[h], x)
				maskedLoad(e, m, x, row[h])
			}
		}
		for i := range rows {
			x := l.vector()
			e.bcst(a[i], x)
			for h := range halves {
				e.fma(x, row[h], sums[i][h])
			}
		}
		for _, r := range bases {
			ADDQ(ak, r)
		}
		ADDQ(ldb, b)
		DECQ(k)
		JNZ(LabelRef(label))
	}

	cols := param("cols")
	CMPQ(cols, U8(l.lanes(e)))
	JLE(LabelRef("narrow"))
	if l.bytes == 64 {
		loop("wide", 2, true)
	} else {
		CMPQ(cols, U8(2*l.lanes(e)))
		JNE(LabelRef("ragged"))
		loop("wide", 2, false)
		JMP(LabelRef("summed"))
		loop("ragged", 2, true)
	}
	JMP(LabelRef("summed"))
	loop("narrow", 1, true)

	Label("summed")
	add, ldadd := param("add"), bytesOf(e, "ldadd")
	TESTQ(add, add)
	JZ(LabelRef("store"))
	for i := range rows {
		for h := range 2 {
			x, m := l.vector(), Mem{Base: add, Disp: l.bytes * h}
			if l.bytes == 64 {
				e.loadMasked(m, []Register{K1, K2}[h], x)
			} else {
				y := l.vector()
				VMOVUPS(mask[h], y)
				maskedLoad(e, m, y, x)
			}
			e.add(x, sums[i][h], sums[i][h])
		}
		if i < rows-1 {
			ADDQ(ldadd, add)
		}
	}
	Label("store")
	c, ldc := param("c"), bytesOf(e, "ldc")
	for i := range rows {
		for h := range 2 {
			m := Mem{Base: c, Disp: l.bytes * h}
			if l.bytes == 64 {
				e.store(sums[i][h], []Register{K1, K2}[h], m)
			} else {
				x := l.vector()
				VMOVUPS(mask[h], x)
				maskedStore(e, sums[i][h], x, m)
			}
		}
		if i < rows-1 {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}

func zero(l level, v VecVirtual) {
	if l.bytes == 64 {
		VPXORQ(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

func maskedLoad(e element, m Mem, mask, to VecVirtual) {
	if e.size == 4 {
		VMASKMOVPS(m, mask, to)
	} else {
		VMASKMOVPD(m, mask, to)
	}
}

func maskedStore(e element, v, mask VecVirtual, m Mem) {
	if e.size == 4 {
		VMASKMOVPS(v, mask, m)
	} else {
		VMASKMOVPD(v, mask, m)
	}
}
