// Command image writes the assembly of package image for amd64:
//
//	go run ./image -pkg image -out ../image/image_amd64.s -stubs ../image/stubs_amd64.go
package main

import (
	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	for _, l := range Levels {
		lookup(l)
	}
	Write()
}

// lookup reads the table with gathers, a vector of elements each, two of them
// under way at a time.
func lookup(l Level) {
	lanes := l.Bytes / 4
	TEXT("lookup"+l.Name, NOSPLIT, "func(n int, d *float32, s *uint8, t *[256]float32, next *uint8)")
	Pragma("noescape")
	Doc("lookup"+l.Name+" asks for the memory of next, n bytes as well, and is, for n a", "multiple of 32:", "",
		"	for i := range n {", "		d[i] = t[s[i]]", "	}")
	n := Load(Param("n"), GP64())
	d, s, t := Load(Param("d"), GP64()), Load(Param("s"), GP64()), Load(Param("t"), GP64())
	next := Load(Param("next"), GP64())
	JMP(LabelRef("test"))
	Label("loop")
	PREFETCHT0(Mem{Base: next})
	for at := 0; at < 32; at += lanes {
		index, value := l.Vector(), l.Vector()
		VPMOVZXBD(Mem{Base: s, Disp: at}, index)
		from := Mem{Base: t, Index: index, Scale: 4}
		if l.Wide() {
			VPXORQ(value, value, value)
			mask := []Register{K1, K2}[at/lanes%2]
			KXNORW(mask, mask, mask)
			VGATHERDPS(from, mask, value)
		} else {
			mask := YMM()
			VPCMPEQD(mask, mask, mask)
			VXORPS(value, value, value)
			VGATHERDPS(mask, from, value)
		}
		VMOVUPS(value, Mem{Base: d, Disp: 4 * at})
	}
	ADDQ(U32(32), s)
	ADDQ(U32(32), next)
	ADDQ(U32(128), d)
	Label("test")
	SUBQ(U32(32), n)
	JGE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
