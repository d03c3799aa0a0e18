// Command reduce writes the assembly of package reduce for amd64:
//
//	go run ./reduce -pkg reduce -out ../reduce/reduce_amd64.s -stubs ../reduce/stubs_amd64.go
package main

import (
	"fmt"
	"strings"

	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	for _, l := range Levels {
		sum(l, "sum", "sum += float64(x[i])", []string{"x"}, func(k *Kernel, in [][2]V, h int, sum V) {
			VADDPD(in[0][h], sum, sum)
		})
		sum(l, "sumSquares", "sum += float64(x[i]) * float64(x[i])", []string{"x"}, func(k *Kernel, in [][2]V, h int, sum V) {
			VFMADD231PD(in[0][h], in[0][h], sum)
		})
		dot(l)
		sum64(l)
		addRows(l)
		extreme(l, "greatest", false)
		k := Begin(l, Float32, "peak", "(n int, x *float32) float32", PeakDoc, "x")
		k.Peak("x")
		extreme(l, "least", true)
		indexOf(l)
		expSum(l, "expSum", true)
		expSum(l, "sumExp", false)
		lines(l)
	}
	Write()
}

func loop(what string) string {
	return "for i := range n {\n\t\t" + strings.ReplaceAll(what, "\n", "\n\t\t") + "\n\t}\n"
}

// sum writes a sum of float32 in float64, in eight vectors of partial sums.
func sum(l Level, name, line string, inputs []string, add func(k *Kernel, in [][2]V, h int, sum V)) {
	k := Begin(l, Float32, name, "(n int, "+strings.Join(inputs, ", ")+" *float32) float64",
		fmt.Sprintf("returns a sum in %d partial sums:\n\n\t", l.Bytes)+loop(line), inputs...)
	sums := k.Zeros(8)
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			var in [][2]V
			for _, p := range inputs {
				in = append(in, k.LoadWide(at(p, i)))
			}
			for h := range 2 {
				add(k, in, h, sums[2*i+h])
			}
		}
	})
	Store(k.Total(sums), ReturnIndex(0))
	k.End()
}

// dot adds up products of float32, four vectors in float32 before they are widened:
// each product and two additions round, by at most 2^-24 of the products' absolute values.
func dot(l Level) {
	k := Begin(l, Float32, "dot", "(n int, x, y *float32) float64",
		"returns a sum of which four terms at a time are added in float32:\n\n\t"+loop("sum += float64(x[i] * y[i])"), "x", "y")
	sums := k.Zeros(2)
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		var ps []V
		for i := range vectors {
			ps = append(ps, k.Op2(VMULPS, k.Load(at("x", i)), k.Load(at("y", i))))
		}
		k.SumOfFew(sums, ps)
	})
	Store(k.Total(sums), ReturnIndex(0))
	k.End()
}

// sum64 is the sum of float64.
func sum64(l Level) {
	k := Begin(l, Float64, "sum", "(n int, x *float64) float64",
		fmt.Sprintf("returns a sum in %d partial sums:\n\n\t", l.Bytes)+loop("sum += x[i]"), "x")
	sums := k.Zeros(8)
	k.Each(8, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			if k.Tail() {
				VADDPD(k.Load(at("x", i)), sums[i], sums[i])
			} else {
				VADDPD(at("x", i), sums[i], sums[i])
			}
		}
	})
	Store(k.Total(sums), ReturnIndex(0))
	k.End()
}

// addRows adds rows of float32 to sums of float64: four rows in one go along the
// columns, as memory likes it, and each sum is read and written once for them.
func addRows(l Level) {
	lanes := l.Bytes / 8
	k := Begin(l, Float32, "addRows", "(n int, x *float32, stride int, cols int, sums *float64)",
		fmt.Sprintf("adds n rows, stride bytes apart. sums has room for cols rounded up to %d:\n\n", lanes)+
			"\tfor i := range n {\n\t\tfor j := range cols {\n\t\t\tsums[j] += float64(x[i, j])\n\t\t}\n\t}\n", "x", "sums")
	stride, cols, end := GP64(), GP64(), GP64()
	Load(Param("stride"), stride)
	Load(Param("cols"), cols)
	SHLQ(U8(2), cols) // in bytes
	MOVQ(cols, end)
	ANDQ(I32(-l.Bytes/2), end) // of whole vectors
	SUBQ(end, cols)
	var mask Op
	if l.Wide() {
		MOVQ(cols, RCX)
		SHRQ(U8(2), RCX)
		bits := GP64()
		MOVQ(U32(1), bits)
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), K1)
		mask = K1
	} else {
		at, m := GP64(), XMM()
		LEAQ(TailMask(), at)
		SUBQ(cols, at)
		VMOVUPS(Mem{Base: at}, m)
		mask = m
	}
	for _, rows := range []int{4, 1} {
		name := func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
		Label(name("rows"))
		SUBQ(U8(rows), k.N)
		JL(LabelRef(name("end")))
		bases := []Register{k.Ptr["x"]}
		for range rows - 1 {
			b := GP64()
			LEAQ(Mem{Base: bases[len(bases)-1], Index: stride, Scale: 1}, b)
			bases = append(bases, b)
		}
		j := GP64()
		XORQ(j, j)
		add := func(masked bool) {
			s, at := k.Vector(), Mem{Base: k.Ptr["sums"], Index: j, Scale: 2}
			VMOVUPD(at, s)
			for _, b := range bases {
				v, m := k.Vector(), Mem{Base: b, Index: j, Scale: 1}
				switch {
				case !masked:
					VCVTPS2PD(m, v)
				case l.Wide():
					VMOVUPS_Z(m, mask, v.AsY())
					VCVTPS2PD(v.AsY(), v)
				default:
					VMASKMOVPS(m, mask, v.AsX())
					VCVTPS2PD(v.AsX(), v)
				}
				VADDPD(v, s, s)
			}
			VMOVUPD(s, at)
		}
		Label(name("columns"))
		CMPQ(j, end)
		JGE(LabelRef(name("rest")))
		add(false)
		ADDQ(U8(l.Bytes/2), j)
		JMP(LabelRef(name("columns")))
		Label(name("rest"))
		TESTQ(cols, cols)
		JZ(LabelRef(name("next")))
		add(true)
		Label(name("next"))
		LEAQ(Mem{Base: bases[rows-1], Index: stride, Scale: 1}, k.Ptr["x"])
		JMP(LabelRef(name("rows")))
		Label(name("end"))
		ADDQ(U8(rows), k.N)
	}
	k.End()
}

func extreme(l Level, name string, least bool) {
	builtin := map[bool]string{true: "min", false: "max"}[least]
	k := Begin(l, Float32, name, "(n int, x *float32) float32",
		"is the "+name+" element, NaN if there is one; n is at least 1:\n\n\tm = x[0]\n\t"+loop("m = "+builtin+"(m, x[i])"), "x")
	x := k.NewExtreme(least, 4)
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			x.Add(i, k.Load(at("x", i)))
		}
	})
	Store(x.Result(), ReturnIndex(0))
	k.End()
}

// indexOf finds an element.
func indexOf(l Level) {
	k := Begin(l, Float32, "indexOf", "(n int, x *float32, v float32) int",
		"returns the first i with x[i] == v, n or more if there is none:\n\n\t"+loop("if x[i] == v {\n\treturn i\n}"), "x")
	v := k.Scalar("v")
	found := GP32()
	k.Each(1, func(at func(string, int) Mem, _ int) {
		x := k.Load(at("x", 0))
		if m := k.Test(Eq, x, v); l.Wide() {
			KMOVW(m, found)
		} else {
			VMOVMSKPS(m, found)
		}
		TESTL(found, found)
		JNZ(LabelRef("found"))
	})
	MOVQ(U32(1<<31-1), k.Offset)
	Store(k.Offset, ReturnIndex(0))
	k.End()
	Label("found")
	TZCNTL(found, found)
	SHRQ(U8(2), k.Offset)
	ADDQ(found.As64(), k.Offset)
	Store(k.Offset, ReturnIndex(0))
	k.End()
}

// expSum writes the sum of the exponentials of a line, which are kept or not.
func expSum(l Level, name string, keeps bool) {
	signature, line, ptrs := "(n int, x *float32, shift float32) float64", "sum += exp(x[i] - shift)", []string{"x"}
	if keeps {
		signature, line = "(n int, d, x *float32, shift float32) float64", "d[i] = exp(x[i] - shift)\nsum += d[i]"
		ptrs = append(ptrs, "d")
	}
	k := Begin(l, Float32, name, signature, "is for x <= shift:\n\n\t"+loop(line), ptrs...)
	shift := k.Scalar("shift")
	exp := k.ExpBelow()
	zero := k.Zero()
	sums := k.Zeros(2)
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		var es []V
		for i := range vectors {
			e := exp(k.Op2(VSUBPS, k.Load(at("x", i)), shift))
			if keeps {
				k.Store(e, at("d", i))
			}
			es = append(es, k.OnlyTail(e, zero))
		}
		k.SumOfFew(sums, es)
	})
	Store(k.Total(sums), ReturnIndex(0))
	k.End()
}

// lines writes what softmax and its relatives do to a line after its sums.
func lines(l Level) {
	k := Begin(l, Float32, "scale", "(n int, d *float32, v float32)", "is:\n\n\t"+loop("d[i] *= v"), "d")
	v := k.Scalar("v")
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			k.Store(k.Op2(VMULPS, k.Load(at("d", i)), v), at("d", i))
		}
	})
	k.End()

	k = Begin(l, Float32, "subtract", "(n int, d, x *float32, v, w float32)", "is, each difference rounded:\n\n\t"+
		loop("d[i] = (x[i] - v) - w"), "d", "x")
	v, w := k.Scalar("v"), k.Scalar("w")
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			k.Store(k.Op2(VSUBPS, k.Op2(VSUBPS, k.Load(at("x", i)), v), w), at("d", i))
		}
	})
	k.End()

	k = Begin(l, Float32, "softMaxGradient", "(n int, d, grad, y *float32, sum float32)", "is:\n\n\t"+
		loop("d[i] = y[i] * (grad[i] - sum)"), "d", "grad", "y")
	sum := k.Scalar("sum")
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			g, y := k.Load(at("grad", i)), k.Load(at("y", i))
			k.Store(k.Op2(VMULPS, k.Op2(VSUBPS, g, sum), y), at("d", i))
		}
	})
	k.End()

	k = Begin(l, Float32, "logSoftMaxGradient", "(n int, d, grad, y *float32, sum float32)", "is, the difference rounded once:\n\n\t"+
		loop("d[i] = grad[i] - exp(y[i])*sum"), "d", "grad", "y")
	sum = k.Scalar("sum")
	exp := k.Exp()
	k.Each(1, func(at func(string, int) Mem, _ int) {
		g, y := k.Load(at("grad", 0)), k.Load(at("y", 0))
		VFNMADD231PS(sum, exp(y), g)
		k.Store(g, at("d", 0))
	})
	k.End()
}
