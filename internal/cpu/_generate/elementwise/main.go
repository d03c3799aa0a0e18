// Command elementwise writes the assembly of package elementwise for amd64:
//
//	go run ./elementwise -pkg elementwise -out ../elementwise/elementwise_amd64.s -stubs ../elementwise/stubs_amd64.go
package main

import (
	"strings"

	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

const signature = "(n int, d, a, b, c *byte, v, w uint64)"

func main() {
	ConstraintExpr("!noasm")
	for _, l := range Levels {
		for _, e := range []Element{Float32, Float64} {
			arithmetic(l, e)
			simple(l, e)
			fused(l, e)
		}
		functions(l)
		masks(l)
		fill(l)
		casts(l)
	}
	comparisons()
	transpose()
	where()
	Write()
}

func begin(l Level, e Element, name, loop string, ptrs ...string) *Kernel {
	doc := "is, for n elements of " + e.Type + ":\n\n\tfor i := range n {\n\t\t" + strings.ReplaceAll(loop, "\n", "\n\t\t") + "\n\t}\n"
	return Begin(l, e, name, signature, doc, ptrs...)
}

// past are the kernels of float32 with a version that writes past the caches.
var past = map[string]bool{
	"add": true, "sub": true, "mul": true, "div": true, "addRight": true, "subRight": true, "mulRight": true, "divRight": true,
	"addScaled": true, "relu": true, "exp": true, "sigmoid": true, "tanh": true,
}

// ahead is how many bytes before they are needed such a version asks for its operands:
// the processor, busy with a function, asks too late.
const ahead = 2048

// each writes the kernel d[i] = f(inputs[i]...). prepare makes f, and constants
// before the loop.
func each(l Level, e Element, name, loop string, unroll int, inputs []string, prepare func(k *Kernel) func(in []V) V) {
	ptrs := append([]string{"d"}, inputs...)
	body(begin(l, e, name, loop, ptrs...), unroll, inputs, prepare)
	if past[name] && e.Size == 4 {
		k := begin(l, e, name+"Past", loop+" // past the caches; d is a multiple of 64", ptrs...)
		k.Past = true
		body(k, unroll, inputs, prepare)
	}
}

func body(k *Kernel, unroll int, inputs []string, prepare func(k *Kernel) func(in []V) V) {
	f := prepare(k)
	k.Each(unroll, func(at func(string, int) Mem, vectors int) {
		in := make([][]V, vectors)
		for i := range in {
			for _, p := range inputs {
				if k.Past && !k.Tail() {
					PREFETCHT0(at(p, i).Offset(ahead))
				}
				in[i] = append(in[i], k.Load(at(p, i)))
			}
		}
		for i := range in {
			k.Store(f(in[i]), at("d", i))
		}
	})
	k.End()
}

func unary(l Level, e Element, name, loop string, prepare func(k *Kernel) func(x V) V) {
	each(l, e, name, loop, 4, []string{"a"}, func(k *Kernel) func(in []V) V {
		f := prepare(k)
		return func(in []V) V { return f(in[0]) }
	})
}

// binary writes the forms of an operation: of two arrays, with a number on the
// right and, unless it does not matter, with a number on the left.
func binary(l Level, e Element, name, format string, commutes bool, prepare func(k *Kernel) func(x, y V) V) {
	loop := func(x, y string) string {
		return "d[i] = " + strings.NewReplacer("X", x, "Y", y).Replace(format)
	}
	each(l, e, name, loop("a[i]", "b[i]"), 4, []string{"a", "b"}, func(k *Kernel) func(in []V) V {
		f := prepare(k)
		return func(in []V) V { return f(in[0], in[1]) }
	})
	each(l, e, name+"Right", loop("a[i]", "v"), 4, []string{"a"}, func(k *Kernel) func(in []V) V {
		v, f := k.Scalar("v"), prepare(k)
		return func(in []V) V { return f(in[0], v) }
	})
	if !commutes {
		each(l, e, name+"Left", loop("v", "a[i]"), 4, []string{"a"}, func(k *Kernel) func(in []V) V {
			v, f := k.Scalar("v"), prepare(k)
			return func(in []V) V { return f(v, in[0]) }
		})
	}
}

func arithmetic(l Level, e Element) {
	for _, op := range []struct {
		name, format string
		commutes     bool
		instruction  func(ops ...Op)
	}{
		{"add", "X + Y", true, e.Add},
		{"sub", "X - Y", false, e.Sub},
		{"mul", "X * Y", true, e.Mul},
		{"div", "X / Y", false, e.Div},
	} {
		binary(l, e, op.name, op.format, op.commutes, func(k *Kernel) func(x, y V) V {
			return func(x, y V) V { return k.Op2(op.instruction, x, y) }
		})
	}
	// The instructions give the second operand if one is NaN or both are zeros.
	// Both ways around, zeros are put together by their signs.
	extreme := func(k *Kernel, x, y V, instruction, join func(ops ...Op)) V {
		r := k.Op2(join, k.Op2(instruction, x, y), k.Op2(instruction, y, x))
		sum := k.Op2(e.Add, x, y) // NaN if one is
		if k.Wide() {
			m := K()
			e.Compare(U8(Un), y, x, m)
			VMOVAPS(sum, m, r)
			if e.Size == 8 {
				panic("not for float64")
			}
			return r
		}
		m := k.Vector()
		e.Compare(U8(Un), y, x, m)
		VBLENDVPS(m, sum, r, r)
		return r
	}
	if e.Size == 4 {
		binary(l, e, "maximum", "max(X, Y)", true, func(k *Kernel) func(x, y V) V {
			return func(x, y V) V { return extreme(k, x, y, VMAXPS, VANDPS) }
		})
		binary(l, e, "minimum", "min(X, Y)", true, func(k *Kernel) func(x, y V) V {
			return func(x, y V) V { return extreme(k, x, y, VMINPS, VORPS) }
		})
	}
}

// bits is a pattern in all lanes.
func bits(k *Kernel, e Element, pattern uint64) V {
	v := k.Vector()
	x := GP64()
	MOVQ(Imm(pattern), x)
	half := XMM()
	MOVQ(x, half)
	e.Broadcast(half, v)
	return v
}

func simple(l Level, e Element) {
	sign, one := uint64(1<<31), uint64(0x3f800000)
	if e.Size == 8 {
		sign, one = 1<<63, 0x3ff0000000000000
	}
	unary(l, e, "neg", "d[i] = -a[i]", func(k *Kernel) func(x V) V {
		s := bits(k, e, sign)
		return func(x V) V { return k.Op2(VXORPS, x, s) }
	})
	unary(l, e, "abs", "d[i] = |a[i]|", func(k *Kernel) func(x V) V {
		s := bits(k, e, sign-1)
		return func(x V) V { return k.Op2(VANDPS, x, s) }
	})
	unary(l, e, "square", "d[i] = a[i] * a[i]", func(k *Kernel) func(x V) V {
		return func(x V) V { return k.Op2(e.Mul, x, x) }
	})
	unary(l, e, "relu", "d[i] = a[i]\nif a[i] < 0 {\n\td[i] = 0\n}", func(k *Kernel) func(x V) V {
		zero := k.Zero()
		return func(x V) V { return k.Op2(e.Max, zero, x) } // x if it is NaN or -0
	})
	unary(l, e, "sqrt", "d[i] = sqrt(a[i])", func(k *Kernel) func(x V) V {
		return func(x V) V {
			r := k.Vector()
			e.Sqrt(x, r)
			return r
		}
	})
	unary(l, e, "rsqrt", "d[i] = 1 / sqrt(a[i])", func(k *Kernel) func(x V) V {
		o := bits(k, e, one)
		return func(x V) V {
			r := k.Vector()
			e.Sqrt(x, r)
			return k.Op2(e.Div, o, r)
		}
	})
	unary(l, e, "reciprocal", "d[i] = 1 / a[i]", func(k *Kernel) func(x V) V {
		o := bits(k, e, one)
		return func(x V) V { return k.Op2(e.Div, o, x) }
	})
	for i, name := range []string{"round", "floor", "ceil", "trunc"} { // to even, down, up, toward 0
		unary(l, e, name, "d[i] = "+name+"(a[i])", func(k *Kernel) func(x V) V {
			return func(x V) V {
				r := k.Vector()
				switch {
				case l.Wide() && e.Size == 4:
					VRNDSCALEPS(U8(i), x, r)
				case l.Wide():
					VRNDSCALEPD(U8(i), x, r)
				case e.Size == 4:
					VROUNDPS(U8(i), x, r)
				default:
					VROUNDPD(U8(i), x, r)
				}
				return r
			}
		})
	}
}

func fused(l Level, e Element) {
	fma := func(name, loop string, f func(k *Kernel, v V, in []V) V, inputs ...string) {
		each(l, e, name, loop, 4, inputs, func(k *Kernel) func(in []V) V {
			v := k.Scalar("v")
			return func(in []V) V { return f(k, v, in) }
		})
	}
	fma("addScaled", "d[i] = v*b[i] + a[i] // rounded once", func(k *Kernel, v V, in []V) V {
		e.FMA231(v, in[1], in[0])
		return in[0]
	}, "a", "b")
	fma("addcmul", "d[i] = (v*b[i])*c[i] + a[i] // the product in parentheses and the sum are rounded", func(k *Kernel, v V, in []V) V {
		e.FMA231(k.Op2(e.Mul, in[1], v), in[2], in[0])
		return in[0]
	}, "a", "b", "c")
	fma("addcdiv", "d[i] = a[i] + v*b[i]/c[i]", func(k *Kernel, v V, in []V) V {
		return k.Op2(e.Add, in[0], k.Op2(e.Div, k.Op2(e.Mul, in[1], v), in[2]))
	}, "a", "b", "c")
	fma("lerpNear", "d[i] = v*(b[i]-a[i]) + a[i] // the difference and the sum are rounded", func(k *Kernel, v V, in []V) V {
		e.FMA231(k.Op2(e.Sub, in[1], in[0]), v, in[0])
		return in[0]
	}, "a", "b")
	fma("lerpFar", "d[i] = v*(b[i]-a[i]) + b[i] // the difference and the sum are rounded", func(k *Kernel, v V, in []V) V {
		e.FMA231(k.Op2(e.Sub, in[1], in[0]), v, in[1])
		return in[1]
	}, "a", "b")
	each(l, e, "clamp", "d[i] = min(max(a[i], v), w) // a[i] if it is NaN", 4, []string{"a"}, func(k *Kernel) func(in []V) V {
		lo, hi := k.Scalar("v"), k.Scalar("w")
		return func(in []V) V { return k.Op2(e.Min, hi, k.Op2(e.Max, lo, in[0])) }
	})
}

// functions writes those of float32.
func functions(l Level) {
	for _, f := range []struct {
		name string
		make func(k *Kernel) func(x V) V
	}{
		{"exp", (*Kernel).Exp}, {"expm1", (*Kernel).Expm1}, {"sigmoid", (*Kernel).Sigmoid}, {"tanh", (*Kernel).Tanh},
		{"erf", (*Kernel).Erf}, {"log", (*Kernel).Log}, {"log1p", (*Kernel).Log1p},
	} {
		each(l, Float32, f.name, "d[i] = "+f.name+"(a[i])", 1, []string{"a"}, func(k *Kernel) func(in []V) V {
			g := f.make(k)
			return func(in []V) V { return g(in[0]) }
		})
	}
	for _, name := range []string{"sin", "cos"} {
		trigonometric(l, name)
	}
}

// trigonometric stops at the first vector with an element that is too large for
// the reduction to a quarter, which is rare, and says how far it came.
func trigonometric(l Level, name string) {
	k := Begin(l, Float32, name, "(n int, d, a *byte) int",
		"is, for elements of float32 up to the vector in which one is beyond 2^15:\n\n"+
			"\tfor i := range n {\n\t\td[i] = "+name+"(a[i])\n\t}\n\nIt returns how many elements it did.\n", "d", "a")
	limit := k.Const(SinLimit)
	f := k.SinCos(name == "cos")
	done := GP64()
	MOVQ(k.N, done)
	k.Each(1, func(at func(string, int) Mem, _ int) {
		x := k.Load(at("a", 0))
		large := k.Test(UnGt, k.Abs(x), limit)
		found := GP32()
		if l.Wide() {
			KMOVW(large, found)
		} else {
			VMOVMSKPS(large, found)
		}
		TESTL(found, found)
		JNZ(LabelRef("large"))
		k.Store(f(x), at("d", 0))
	})
	Store(done, ReturnIndex(0))
	k.End()
	Label("large")
	SHRQ(U8(2), k.Offset)
	Store(k.Offset, ReturnIndex(0))
	k.End()
}

// fill writes a pattern of 8 bytes, which may be two of 4.
func fill(l Level) {
	each(l, Float64, "fill", "d[i] = v // as bits", 4, nil, func(k *Kernel) func(in []V) V {
		v := k.Scalar("v")
		return func([]V) V { return v }
	})
}
