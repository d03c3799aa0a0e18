// Command _generate writes the assembly of package update for amd64:
//
//	go run . -pkg update -out ../update_amd64.s -stubs ../stubs_amd64.go
//
// Updates are bound by memory, so AVX2 serves AVX-512 processors too.
package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An element is a dtype: its Go type, the suffix of names, its size and its
// instructions.
type element struct {
	goType, suffix string
	size           int
	fma231         func(ops ...Op)
	mul            func(ops ...Op)
	broadcast      func(ops ...Op)
}

var elements = []element{
	{"float32", "", 4, VFMADD231PS, VMULPS, VBROADCASTSS},
	{"float64", "f64", 8, VFMADD231PD, VMULPD, VBROADCASTSD},
}

func main() {
	ConstraintExpr("!noasm")
	for _, e := range elements {
		for _, decay := range []bool{false, true} {
			sgd(e, decay)
			sgdMomentum(e, decay, false)
			sgdMomentum(e, decay, true)
		}
		sumSquares(e)
	}
	Generate()
}

func doc(lines ...string) {
	Doc(strings.Split(strings.Join(lines, "\n"), "\n")...)
}

func param(name string) Register {
	r := GP64()
	Load(Param(name), r)
	return r
}

// scalar is a parameter in all lanes of a register.
func (e element) scalar(name string) VecVirtual {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := YMM()
	e.broadcast(p.Addr, v)
	return v
}

// loop runs body for each vector of n elements, with the offset so far.
func (e element) loop(n Register, body func(at func(base Register) Mem)) {
	offset := GP64()
	XORQ(offset, offset)
	SHLQ(U8(map[int]uint8{4: 2, 8: 3}[e.size]), n)
	Label("loop")
	body(func(base Register) Mem { return Mem{Base: base, Index: offset, Scale: 1} })
	ADDQ(U8(32), offset)
	CMPQ(offset, n)
	JL(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func (e element) name(parts ...string) string { return strings.Join(parts, "") + "AVX2" + e.suffix }

func title(use bool, s string) string {
	if use {
		return s
	}
	return ""
}

// gradient loads the gradient, with the decay of the parameter added.
func (e element) gradient(decay bool, factor VecVirtual, param VecVirtual, grad Mem) VecVirtual {
	d := YMM()
	VMOVUPS(grad, d)
	if decay {
		e.fma231(factor, param, d)
	}
	return d
}

const decayDoc = "		d = decay*param[i] + d\n"

func sgd(e element, decay bool) {
	name := e.name("sgd", title(decay, "Decay"))
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, param, grad *%[1]s, minusLR, decay %[1]s)", e.goType))
	Pragma("noescape")
	doc(name+" updates n elements, a positive multiple of 32 bytes, each line with one rounding:", "",
		"	for i := range n {\n		d := grad[i]\n"+title(decay, decayDoc)+"		param[i] = minusLR*d + param[i]\n	}", "")
	n, p, g := param("n"), param("param"), param("grad")
	lr, factor := e.scalar("minusLR"), VecVirtual(nil)
	if decay {
		factor = e.scalar("decay")
	}
	e.loop(n, func(at func(Register) Mem) {
		x := YMM()
		VMOVUPS(at(p), x)
		d := e.gradient(decay, factor, x, at(g))
		e.fma231(lr, d, x)
		VMOVUPS(x, at(p))
	})
}

func sgdMomentum(e element, decay, nesterov bool) {
	name := e.name("sgd", map[bool]string{false: "Momentum", true: "Nesterov"}[nesterov], title(decay, "Decay"))
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, param, grad, buf *%[1]s, minusLR, decay, momentum, keep %[1]s)", e.goType))
	Pragma("noescape")
	last := "		d = buf[i]\n"
	if nesterov {
		last = "		d = momentum*buf[i] + d\n"
	}
	doc(name+" updates n elements, a positive multiple of 32 bytes, each line with one rounding:", "",
		"	for i := range n {\n		d := grad[i]\n"+title(decay, decayDoc)+
			"		b := momentum*buf[i]\n		buf[i] = keep*d + b\n"+last+"		param[i] = minusLR*d + param[i]\n	}", "")
	n, p, g, m := param("n"), param("param"), param("grad"), param("buf")
	lr, momentum, keep, factor := e.scalar("minusLR"), e.scalar("momentum"), e.scalar("keep"), VecVirtual(nil)
	if decay {
		factor = e.scalar("decay")
	}
	e.loop(n, func(at func(Register) Mem) {
		x := YMM()
		VMOVUPS(at(p), x)
		d := e.gradient(decay, factor, x, at(g))
		b := YMM()
		e.mul(at(m), momentum, b)
		e.fma231(keep, d, b)
		VMOVUPS(b, at(m))
		if nesterov {
			e.fma231(momentum, b, d)
		} else {
			d = b
		}
		e.fma231(lr, d, x)
		VMOVUPS(x, at(p))
	})
}

// sumSquares adds up in 16 parts: four vectors of float64.
func sumSquares(e element) {
	name := e.name("sumSquares")
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, x *%s, sums *[16]float64)", e.goType))
	Pragma("noescape")
	doc(name+" adds the squares of n elements, a positive multiple of 16:", "",
		"	for i := range n {\n		sums[i%16] += float64(x[i]) * float64(x[i])\n	}", "")
	n, x, s := param("n"), param("x"), param("sums")
	var sums [4]VecVirtual
	for i := range sums {
		sums[i] = YMM()
		VMOVUPD(Mem{Base: s, Disp: 32 * i}, sums[i])
	}
	Label("loop")
	for i := range sums {
		v := YMM()
		if from := (Mem{Base: x, Disp: 4 * e.size * i}); e.size == 4 {
			VCVTPS2PD(from, v)
		} else {
			VMOVUPD(from, v)
		}
		VMULPD(v, v, v)
		VADDPD(v, sums[i], sums[i])
	}
	ADDQ(U32(16*e.size), x)
	SUBQ(U8(16), n)
	JNZ(LabelRef("loop"))
	for i, v := range sums {
		VMOVUPD(v, Mem{Base: s, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}
