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
		sum(l)
		sumRows(l)
		sumSquares(l)
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

// The rows of a block that sum adds up in float32, of rowLen elements each.
const (
	blockRows = 16
	rowLen    = 64
)

// sum adds in float32 where it cannot err much, and then in float64. Which elements
// are added to which, both levels have in common with the Go version.
func sum(l Level) {
	k := Begin(l, Float32, "sum", "(n int, x *float32) float64", fmt.Sprintf(
		"returns the sum of n elements. It adds up %d rows of %d in float32, and what comes of them in float64 (see sumFloat32).\n",
		blockRows, rowLen), "x")
	Store(sumLine(k, k.Ptr["x"], k.N), ReturnIndex(0))
	k.End()
}

// sumRows is sum of many rows.
func sumRows(l Level) {
	k := Begin(l, Float32, "sumRows", "(n int, x *float32, stride int, cols int, sums *float64)",
		"sets sums to those of n rows of cols elements, stride bytes apart, each as sum has it.\n", "x", "sums")
	stride, cols, x, left := GP64(), GP64(), GP64(), GP64()
	Load(Param("stride"), stride)
	Load(Param("cols"), cols)
	Label("line")
	SUBQ(U8(1), k.N)
	JL(LabelRef("end"))
	MOVQ(k.Ptr["x"], x)
	MOVQ(cols, left)
	VMOVSD(sumLine(k, x, left), Mem{Base: k.Ptr["sums"]})
	ADDQ(U8(8), k.Ptr["sums"])
	ADDQ(stride, k.Ptr["x"])
	JMP(LabelRef("line"))
	Label("end")
	k.End()
}

// sumLine is the sum of n elements from x on, in the first lane of a register. It
// changes x and n.
func sumLine(k *Kernel, x, n Register) Register {
	l := k.Level
	sums := k.Zeros(128 / l.Bytes)
	var lanes []V
	for range rowLen * 4 / l.Bytes {
		lanes = append(lanes, k.Vector())
	}
	at := func(row, vector int) Mem { return Mem{Base: x, Disp: row*rowLen*4 + vector*l.Bytes} }
	first := func() {
		for i, v := range lanes {
			VMOVUPS(at(0, i), v)
		}
	}
	add := func(row int) {
		for i, v := range lanes {
			VADDPS(at(row, i), v, v)
		}
	}
	widen := func(i int) {
		for h, w := range k.Widen(lanes[i]) {
			VADDPD(w, sums[2*i+h], sums[2*i+h])
		}
	}
	fold := func() { // to 16 lanes, which are added to sums
		half := len(lanes) / 2
		for range 2 {
			for i := range half {
				VADDPS(lanes[i+half], lanes[i], lanes[i])
			}
			half /= 2
		}
		for i := range len(lanes) / 4 {
			widen(i)
		}
	}

	Label("blocks")
	SUBQ(U32(blockRows*rowLen), n)
	JL(LabelRef("rows"))
	first()
	for r := 1; r < blockRows; r++ {
		add(r)
	}
	fold()
	ADDQ(U32(blockRows*rowLen*4), x)
	JMP(LabelRef("blocks"))

	Label("rows") // fewer than a block has
	ADDQ(U32(blockRows*rowLen), n)
	SUBQ(U32(rowLen), n)
	JL(LabelRef("tail"))
	first()
	Label("row")
	ADDQ(U32(rowLen*4), x)
	SUBQ(U32(rowLen), n)
	JL(LabelRef("folded"))
	add(0)
	JMP(LabelRef("row"))
	Label("folded")
	fold()

	Label("tail") // less than a row
	ADDQ(U32(rowLen), n)
	JZ(LabelRef("done"))
	var load func(vector int)
	if l.Wide() {
		MOVQ(n, RCX)
		bits := GP64()
		MOVQ(U32(1), bits)
		SHLQ(CL, bits)
		DECQ(bits)
		load = func(i int) {
			m := K()
			KMOVW(bits.As32(), m)
			VMOVUPS_Z(at(0, i), m, lanes[i])
			SHRQ(U8(16), bits)
		}
	} else {
		masks, bytes := GP64(), GP64()
		LEAQ(LongTailMask(), masks)
		MOVQ(n, bytes)
		SHLQ(U8(2), bytes)
		SUBQ(bytes, masks)
		load = func(i int) {
			m := k.Vector()
			VMOVUPS(Mem{Base: masks, Disp: i * l.Bytes}, m)
			VMASKMOVPS(at(0, i), m, lanes[i])
		}
	}
	load(0)
	CMPQ(n, U8(l.Bytes/4))
	JG(LabelRef("long"))
	widen(0)
	JMP(LabelRef("done"))
	Label("long")
	for i := 1; i < len(lanes); i++ {
		load(i)
	}
	fold()
	Label("done")
	return k.Total(sums)
}

// sumSquares adds in float64, in eight vectors of partial sums.
func sumSquares(l Level) {
	k := Begin(l, Float32, "sumSquares", "(n int, x *float32) float64",
		fmt.Sprintf("returns a sum in %d partial sums:\n\n\t", l.Bytes)+loop("sum += float64(x[i]) * float64(x[i])"), "x")
	sums := k.Zeros(8)
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			for h, w := range k.LoadWide(at("x", i)) {
				VFMADD231PD(w, w, sums[2*i+h])
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

// addRows adds rows of float32 to sums of float64: eight rows in one go along the
// columns, as memory likes it, are added up in float32 first.
func addRows(l Level) {
	lanes := l.Bytes / 4
	k := Begin(l, Float32, "addRows", "(n int, x *float32, stride int, cols int, sums *float64)",
		fmt.Sprintf("adds n rows, stride bytes apart. sums has room for cols rounded up to %d. Eight rows at a time it adds\n\n", lanes)+
			"\tfor j := range cols {\n\t\tsums[j] += float64(((x0[j] + x1[j]) + (x2[j] + x3[j])) + ((x4[j] + x5[j]) + (x6[j] + x7[j])))\n\t}\n\n"+
			"and the others one by one.\n", "x", "sums")
	stride, cols := GP64(), GP64()
	Load(Param("stride"), stride)
	Load(Param("cols"), cols)
	triple, rest := GP64(), GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	MOVQ(cols, rest) // of columns, less than a vector
	ANDQ(U8(lanes-1), rest)
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
		at, bytes, m := GP64(), GP64(), k.Vector()
		MOVQ(rest, bytes)
		SHLQ(U8(2), bytes)
		LEAQ(TailMask(), at)
		SUBQ(bytes, at)
		VMOVUPS(Mem{Base: at}, m)
		mask = m
	}
	for _, rows := range []int{8, 1} {
		name := func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
		Label(name("rows"))
		SUBQ(U8(rows), k.N)
		JL(LabelRef(name("end")))
		p, fifth, sums, left := GP64(), GP64(), GP64(), GP64()
		MOVQ(k.Ptr["x"], p)
		LEAQ(Mem{Base: p, Index: stride, Scale: 4}, fifth)
		MOVQ(k.Ptr["sums"], sums)
		MOVQ(cols, left)
		row := func(i int) Mem {
			base := p
			if i >= 4 {
				base = fifth
			}
			switch i % 4 {
			case 1, 2:
				return Mem{Base: base, Index: stride, Scale: uint8(i % 4)}
			case 3:
				return Mem{Base: base, Index: triple, Scale: 1}
			}
			return Mem{Base: base}
		}
		add := func(masked bool) {
			load := func(i int) V {
				v := k.Vector()
				switch {
				case !masked:
					VMOVUPS(row(i), v)
				case l.Wide():
					VMOVUPS_Z(row(i), mask, v)
				default:
					VMASKMOVPS(row(i), mask, v)
				}
				return v
			}
			var vs []V
			for i := 0; i < rows; i += 2 {
				v := load(i)
				switch {
				case rows == 1:
				case masked:
					VADDPS(load(i+1), v, v)
				default:
					VADDPS(row(i+1), v, v)
				}
				vs = append(vs, v)
			}
			for ; len(vs) > 1; vs = vs[:len(vs)/2] {
				for i := range len(vs) / 2 {
					VADDPS(vs[2*i+1], vs[2*i], vs[2*i])
					vs[i] = vs[2*i]
				}
			}
			for h, w := range k.Widen(vs[0]) {
				at := Mem{Base: sums, Disp: h * l.Bytes}
				VADDPD(at, w, w)
				VMOVUPD(w, at)
			}
		}
		Label(name("columns"))
		SUBQ(U8(lanes), left)
		JL(LabelRef(name("rest")))
		add(false)
		ADDQ(U8(l.Bytes), p)
		ADDQ(U8(l.Bytes), fifth)
		ADDQ(U32(2*l.Bytes), sums)
		JMP(LabelRef(name("columns")))
		Label(name("rest"))
		TESTQ(rest, rest)
		JZ(LabelRef(name("next")))
		add(true)
		Label(name("next"))
		if rows == 8 {
			LEAQ(Mem{Base: k.Ptr["x"], Index: stride, Scale: 8}, k.Ptr["x"])
		} else {
			ADDQ(stride, k.Ptr["x"])
		}
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
