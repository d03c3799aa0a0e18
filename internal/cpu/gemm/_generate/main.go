// Command _generate writes the assembly of package gemm for amd64:
//
//	go run . -pkg gemm -out ../gemm_amd64.s -stubs ../stubs_amd64.go
package main

import (
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
	fmaBcst                     func(ops ...Op) // of an element in memory
	loadMasked                  func(from, mask, to Op)
	max, compare                func(ops ...Op)
	signs                       func(v, to Op)         // of a vector's elements, as bits
	joinMasks                   func(low, high, to Op) // of two AVX-512 vectors
	moveMask                    func(from, to Op)      // of two
}

var elements = []element{
	{
		"float32", "32", 4,
		VFMADD231PS, VADDPS, VMOVUPS, VMOVUPS, VBROADCASTSS,
		VFMADD231PS_BCST, VMOVUPS_Z,
		VMAXPS, VCMPPS, VMOVMSKPS, KUNPCKWD, KMOVD,
	},
	{
		"float64", "64", 8,
		VFMADD231PD, VADDPD, VMOVUPD, VMOVUPD, VBROADCASTSD,
		VFMADD231PD_BCST, VMOVUPD_Z,
		VMAXPD, VCMPPD, VMOVMSKPD, KUNPCKBW, KMOVW,
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
				for _, how := range readings {
					tile(l, e, rows, how)
				}
			}
			dot(l, e, 1)
			dot(l, e, 4)
			copyRows(l, e)
			relu(l, e)
		}
	}
	for _, e := range elements {
		for lanes := 1; lanes <= 4; lanes++ {
			transpose(e, lanes)
		}
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

// columnMasks makes the masks for the parameter cols: for AVX-512 in K1 and K2, for
// AVX2 as memory operands.
func columnMasks(l level, e element) (m [2]Mem) {
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
