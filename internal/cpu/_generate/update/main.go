// Command update writes the assembly of package update for amd64:
//
//	go run ./update -pkg update -out ../update/update_amd64.s -stubs ../update/stubs_amd64.go
package main

import (
	"fmt"

	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	ConstraintExpr("!noasm")
	for _, l := range Levels {
		for _, e := range []Element{Float32, Float64} {
			for _, decay := range []bool{false, true} {
				sgd(l, e, decay)
				momentum(l, e, decay, false)
				momentum(l, e, decay, true)
			}
			scale(l, e)
			sumSquares(l, e)
		}
	}
	Write()
}

// begin starts an update of n elements, with the decay of the parameter added to
// the gradient or not.
func begin(l Level, e Element, name string, decay bool, signature, rest string, ptrs ...string) *Kernel {
	line := ""
	if decay {
		name += "Decay"
		line = "\t\td = decay*param[i] + d\n"
	}
	return Begin(l, e, name, fmt.Sprintf(signature, e.Type),
		"updates n elements, each line with one rounding:\n\n\tfor i := range n {\n\t\td := grad[i]\n"+line+rest+
			"\t\tparam[i] = minusLR*d + param[i]\n\t}\n", ptrs...)
}

// gradient loads the gradient, with the decay of the parameter x added.
func gradient(k *Kernel, decay V, x V, grad Mem) V {
	d := k.Load(grad)
	if decay != nil {
		k.FMA231(decay, x, d)
	}
	return d
}

func sgd(l Level, e Element, decay bool) {
	k := begin(l, e, "sgd", decay, "(n int, param, grad *%[1]s, minusLR, decay %[1]s)", "", "param", "grad")
	lr, factor := k.Scalar("minusLR"), V(nil)
	if decay {
		factor = k.Scalar("decay")
	}
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			x := k.Load(at("param", i))
			d := gradient(k, factor, x, at("grad", i))
			k.FMA231(lr, d, x)
			k.Store(x, at("param", i))
		}
	})
	k.End()
}

func momentum(l Level, e Element, decay, nesterov bool) {
	name, last := "momentum", "\t\td = buf[i]\n"
	if nesterov {
		name, last = "nesterov", "\t\td = momentum*buf[i] + d\n"
	}
	k := begin(l, e, name, decay, "(n int, param, grad, buf *%[1]s, minusLR, decay, momentum, keep %[1]s)",
		"\t\tb := momentum*buf[i]\n\t\tbuf[i] = keep*d + b\n"+last, "param", "grad", "buf")
	lr, mass, keep, factor := k.Scalar("minusLR"), k.Scalar("momentum"), k.Scalar("keep"), V(nil)
	if decay {
		factor = k.Scalar("decay")
	}
	k.Each(2, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			x := k.Load(at("param", i))
			d := gradient(k, factor, x, at("grad", i))
			b := k.Op2(k.Mul, mass, k.Load(at("buf", i)))
			k.FMA231(keep, d, b)
			k.Store(b, at("buf", i))
			if nesterov {
				k.FMA231(mass, b, d)
			} else {
				d = b
			}
			k.FMA231(lr, d, x)
			k.Store(x, at("param", i))
		}
	})
	k.End()
}

func scale(l Level, e Element) {
	k := Begin(l, e, "scale", fmt.Sprintf("(n int, x *%[1]s, factor %[1]s)", e.Type),
		"is:\n\n\tfor i := range n {\n\t\tx[i] *= factor\n\t}\n", "x")
	factor := k.Scalar("factor")
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			k.Store(k.Op2(k.Mul, factor, k.Load(at("x", i))), at("x", i))
		}
	})
	k.End()
}

// sumSquares adds up in 16 parts, two or four vectors of float64, so that all
// levels and Go give the same bits.
func sumSquares(l Level, e Element) {
	k := Begin(l, e, "sumSquares", fmt.Sprintf("(n int, x *%s, sums *[16]float64)", e.Type),
		"adds the squares of n elements, a positive multiple of 16:\n\n\tfor i := range n {\n"+
			"\t\tsums[i%16] += float64(x[i]) * float64(x[i])\n\t}\n", "x", "sums")
	var sums []V
	for i := range 128 / l.Bytes {
		v := k.Vector()
		VMOVUPD(Mem{Base: k.Ptr["sums"], Disp: i * l.Bytes}, v)
		sums = append(sums, v)
	}
	Label("loop")
	for i, s := range sums {
		v, from := k.Vector(), Mem{Base: k.Ptr["x"], Disp: i * l.Bytes * e.Size / 8}
		if e.Size == 4 {
			VCVTPS2PD(from, v)
		} else {
			VMOVUPD(from, v)
		}
		VMULPD(v, v, v)
		VADDPD(v, s, s)
	}
	ADDQ(U32(16*e.Size), k.Ptr["x"])
	SUBQ(U8(16), k.N)
	JNZ(LabelRef("loop"))
	for i, s := range sums {
		VMOVUPD(s, Mem{Base: k.Ptr["sums"], Disp: i * l.Bytes})
	}
	k.End()
}
