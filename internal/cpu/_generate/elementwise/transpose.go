package main

import (
	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// transpose writes blocks of 8 by 8 elements of 4 bytes. Half rows that are four apart
// are loaded into one register, so that it is left to transpose 4 by 4 in each half.
func transpose() {
	k := Begin(AVX2, Float32, "transpose", "(n, cols int, d *byte, dRow int, s *byte, sCol int)",
		"is, for n rows and cols columns of elements of 4 bytes, multiples of 8, with strides in bytes:\n\n"+
			"\tfor r := range n {\n\t\tfor c := range cols {\n\t\t\td[r*dRow+c*4] = s[c*sCol+r*4]\n\t\t}\n\t}\n", "d", "s")
	type strided struct{ base, fifth, stride, triple Register }
	row := func(m strided, i int) Mem {
		base := m.base
		if i >= 4 {
			base = m.fifth
		}
		switch i % 4 {
		case 1, 2:
			return Mem{Base: base, Index: m.stride, Scale: uint8(i % 4)}
		case 3:
			return Mem{Base: base, Index: m.triple, Scale: 1}
		}
		return Mem{Base: base}
	}
	array := func(stride string) strided {
		m := strided{GP64(), GP64(), GP64(), GP64()}
		Load(Param(stride), m.stride)
		LEAQ(Mem{Base: m.stride, Index: m.stride, Scale: 2}, m.triple)
		return m
	}
	d, s := array("dRow"), array("sCol")
	cols, left := GP64(), GP64()
	Load(Param("cols"), cols)

	Label("rows")
	SUBQ(U8(8), k.N)
	JL(LabelRef("done"))
	MOVQ(k.Ptr["d"], d.base)
	MOVQ(k.Ptr["s"], s.base)
	LEAQ(Mem{Base: d.base, Index: d.stride, Scale: 4}, d.fifth)
	LEAQ(Mem{Base: s.base, Index: s.stride, Scale: 4}, s.fifth)
	MOVQ(cols, left)
	Label("columns")
	SUBQ(U8(8), left)
	JL(LabelRef("next"))
	for half := range 2 {
		var in [4]V
		for i := range in {
			in[i] = k.Vector()
			VMOVUPS(row(s, i).Offset(16*half), in[i].AsX())
			VINSERTF128(U8(1), row(s, i+4).Offset(16*half), in[i], in[i])
		}
		low := [2]V{k.Op2(VUNPCKLPS, in[0], in[1]), k.Op2(VUNPCKLPS, in[2], in[3])}
		high := [2]V{k.Op2(VUNPCKHPS, in[0], in[1]), k.Op2(VUNPCKHPS, in[2], in[3])}
		for i, pair := range [][2]V{low, low, high, high} {
			instruction := VUNPCKLPD
			if i%2 == 1 {
				instruction = VUNPCKHPD
			}
			VMOVUPS(k.Op2(instruction, pair[0], pair[1]), row(d, 4*half+i))
		}
	}
	for _, r := range []Register{d.base, d.fifth} {
		ADDQ(U8(32), r)
	}
	for _, r := range []Register{s.base, s.fifth} {
		LEAQ(Mem{Base: r, Index: s.stride, Scale: 8}, r)
	}
	JMP(LabelRef("columns"))
	Label("next")
	LEAQ(Mem{Base: k.Ptr["d"], Index: d.stride, Scale: 8}, k.Ptr["d"])
	ADDQ(U8(32), k.Ptr["s"])
	JMP(LabelRef("rows"))
	Label("done")
	k.End()
}
