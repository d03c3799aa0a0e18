// Command index writes the assembly of package index for amd64:
//
//	go run ./index -pkg index -out ../index/index_amd64.s -stubs ../index/stubs_amd64.go
package main

import (
	"fmt"

	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	for _, l := range Levels {
		for _, e := range []Element{Float32, Float64} {
			addTo(l, e)
		}
		selectRows(l)
	}
	Write()
}

func addTo(l Level, e Element) {
	k := Begin(l, e, "addTo", fmt.Sprintf("(n int, d, x *%s)", e.Type), "is:\n\n\tfor i := range n {\n\t\td[i] += x[i]\n\t}\n", "d", "x")
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		var vs []V
		for i := range vectors {
			v := k.Load(at("d", i))
			if k.Tail() {
				e.Add(k.Load(at("x", i)), v, v)
			} else {
				e.Add(at("x", i), v, v)
			}
			vs = append(vs, v)
		}
		for i, v := range vs {
			k.Store(v, at("d", i))
		}
	})
	k.End()
}

// ahead is how many rows before its copy a row's beginning is asked for: rows that are
// named by indices no processor foresees.
const ahead = 8

// selectRows copies rows of 4-byte elements.
func selectRows(l Level) {
	k := Begin(l, Float32, "selectRows", "(n int, d *byte, dRow int, s *byte, sRow int, idx *int64, width int)",
		"copies n rows of width elements of 4 bytes, strides in bytes:\n\n"+
			"\tfor i := range n {\n\t\tcopy(d[i*dRow:][:width*4], s[idx[i]*sRow:][:width*4])\n\t}\n", "d", "s", "idx")
	dRow, sRow, bytes, rest, left := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("dRow"), dRow)
	Load(Param("sRow"), sRow)
	Load(Param("width"), bytes)
	MOVQ(bytes, rest)
	ANDQ(U8(l.Bytes/4-1), rest)
	SHLQ(U8(2), bytes)
	var mask Op
	if l.Wide() {
		MOVQ(rest, RCX)
		bits := GP64()
		MOVQ(U32(1), bits)
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), K1)
		mask = K1
	} else {
		at, length, m := GP64(), GP64(), k.Vector()
		MOVQ(rest, length)
		SHLQ(U8(2), length)
		LEAQ(TailMask(), at)
		SUBQ(length, at)
		VMOVUPS(Mem{Base: at}, m)
		mask = m
	}
	row := func(index int, p Register) {
		MOVQ(Mem{Base: k.Ptr["idx"], Disp: 8 * index}, p)
		IMULQ(sRow, p)
		ADDQ(k.Ptr["s"], p)
	}
	offset, p := GP64(), GP64()
	Label("rows")
	TESTQ(k.N, k.N)
	JZ(LabelRef("done"))
	CMPQ(k.N, U8(ahead))
	JLE(LabelRef("last"))
	row(ahead, p)
	PREFETCHT0(Mem{Base: p})
	PREFETCHT0(Mem{Base: p, Disp: 64})
	Label("last")
	row(0, p)
	XORQ(offset, offset)
	MOVQ(bytes, left)
	for _, n := range []int{4, 1} {
		name := map[int]string{4: "four", 1: "one"}[n]
		Label(name)
		SUBQ(U32(n*l.Bytes), left)
		JL(LabelRef(name + "End"))
		var vs []V
		for i := range n {
			v := k.Vector()
			VMOVUPS(Mem{Base: p, Index: offset, Scale: 1, Disp: i * l.Bytes}, v)
			vs = append(vs, v)
		}
		for i, v := range vs {
			VMOVUPS(v, Mem{Base: k.Ptr["d"], Index: offset, Scale: 1, Disp: i * l.Bytes})
		}
		ADDQ(U32(n*l.Bytes), offset)
		JMP(LabelRef(name))
		Label(name + "End")
		ADDQ(U32(n*l.Bytes), left)
	}
	JZ(LabelRef("next"))
	v := k.Vector()
	from, to := Mem{Base: p, Index: offset, Scale: 1}, Mem{Base: k.Ptr["d"], Index: offset, Scale: 1}
	if l.Wide() {
		VMOVUPS_Z(from, mask, v)
		VMOVUPS(v, mask, to)
	} else {
		VMASKMOVPS(from, mask, v)
		VMASKMOVPS(v, mask, to)
	}
	Label("next")
	ADDQ(dRow, k.Ptr["d"])
	ADDQ(U8(8), k.Ptr["idx"])
	DECQ(k.N)
	JMP(LabelRef("rows"))
	Label("done")
	k.End()
}
