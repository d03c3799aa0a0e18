package main

import (
	"math"
	"strings"
)

// elementwise: R0 n, R1 d, R2 a, R3 b; V28 is the number v.
func elementwise() {
	function := func(name, line string, inputs int, number bool, constants func(), f func(i, a, b int)) {
		begin(name+"NEON", "(n int, d, a, b, c unsafe.Pointer, v, w uint64)",
			"is, for n elements of float32, n a multiple of 4:"+loopOf(line), 56)
		p("MOVD n+0(FP), R0")
		p("MOVD d+8(FP), R1")
		p("MOVD a+16(FP), R2")
		if inputs > 1 {
			p("MOVD b+24(FP), R3")
		}
		if number {
			p("MOVD v+40(FP), R9")
			p("VDUP R9, V28.S4")
		}
		constants()
		each(func(n int) {
			load(2, 0, n)
			if inputs > 1 {
				load(3, 4, n)
			}
			for i := range n {
				f(i, i, 4+i)
			}
			store(1, 0, n)
		})
		p("RET")
	}
	none := func() {}
	for _, o := range []struct {
		name, sign string
		op         op
	}{{"add", "+", fadd}, {"sub", "-", fsub}, {"mul", "*", fmul}, {"div", "/", fdiv}} {
		function(o.name, "d[i] = a[i] "+o.sign+" b[i]", 2, false, none, func(d, a, b int) { do(o.op, d, a, b) })
		function(o.name+"Right", "d[i] = a[i] "+o.sign+" v", 1, true, none, func(d, a, _ int) { do(o.op, d, a, 28) })
	}
	function("addScaled", "d[i] = v*b[i] + a[i] // rounded once", 2, true, none, func(d, _, b int) { do(fmla, d, 28, b) })
	function("relu", "d[i] = a[i]\nif a[i] < 0 {\n\td[i] = 0\n}", 1, false, none, func(d, a, _ int) {
		one(0x4ea0e800, 4, a, "fcmlt v%d.4s, v%d.4s, #0.0")
		do(bic, d, a, 4)
	})
	function("exp", "d[i] = exp(a[i])", 1, false, expConstants, func(d, _, _ int) { exp(d) })
}

const (
	magic   = 0x1.8p23 // x + magic has the whole number nearest to x in its low bits
	ln2High = 0x1.63p-1
)

// expConstants are in V16 to V29. The polynomial is that of package vec.
func expConstants() {
	for i, v := range []float64{-104, 89, math.Log2E, magic, ln2High, math.Ln2 - ln2High,
		0.0013941878, 0.00836867932, 0.0416663885, 0.166665211, 0.5, 1} {
		float(16+i, v)
	}
	splat(28, 127)
}

// exp is e^x of Vx, by way of V4 to V9, as package vec computes it.
func exp(x int) {
	do(fmax, x, x, 16)
	do(fmin, x, x, 17)
	move(4, 19)
	do(fmla, 4, x, 18)
	do(fsub, 5, 4, 19) // n
	do(fmls, x, 5, 20)
	do(fmls, x, 5, 21) // r
	q, next := 22, 6
	for c := 23; c <= 26; c++ {
		move(next, c)
		do(fmla, next, q, x)
		q, next = next, 13-next // 6 and 7 in turn
	}
	do(fmul, 8, x, x)
	do(fmla, x, q, 8)
	do(fadd, x, x, 27)
	// 2^n in two factors, for denormals
	do(isub, 4, 4, 19)
	one(0x4f3f0400, 5, 4, "sshr v%d.4s, v%d.4s, #1")
	do(isub, 4, 4, 5)
	for _, half := range []int{5, 4} {
		do(iadd, half, half, 28)
		one(0x4f375400, half, half, "shl v%d.4s, v%d.4s, #23")
		do(fmul, x, x, half)
	}
}

// sum: R0 n, R1 x, R2 sums, which are in V8 to V15; the lanes are in V16 to V31.
func sum() {
	begin("sumNEON", "(n int, x *float32, sums *[16]float64)",
		"adds n elements, a multiple of 64, to sums: up to 16 rows of 64 are added up in float32 first (see sumFloat32).\n", 24)
	p("MOVD n+0(FP), R0")
	p("MOVD x+8(FP), R1")
	p("MOVD sums+16(FP), R2")
	doubles := func(first int) string { return strings.ReplaceAll(vectors(first, 4), ".S4", ".D2") }
	p("VLD1.P 64(R2), %s", doubles(8))
	p("VLD1 (R2), %s", doubles(12))
	label("block")
	p("CBZ R0, done")
	for i := range 4 {
		load(1, 16+4*i, 4)
	}
	p("SUB $64, R0, R0")
	p("MOVD $15, R3")
	label("row")
	p("CBZ R0, folded")
	p("CBZ R3, folded")
	for i := range 4 {
		load(1, 0, 4)
		for j := range 4 {
			do(fadd, 16+4*i+j, 16+4*i+j, j)
		}
	}
	p("SUB $64, R0, R0")
	p("SUB $1, R3, R3")
	p("B row")
	label("folded")
	for width := 8; width > 2; width /= 2 {
		for i := range width {
			do(fadd, 16+i, 16+i, 16+i+width)
		}
	}
	for i := range 4 {
		one(0x0e617800, 0, 16+i, "fcvtl v%d.2d, v%d.2s")
		one(0x4e617800, 1, 16+i, "fcvtl2 v%d.2d, v%d.4s")
		do(fadd64, 8+2*i, 8+2*i, 0)
		do(fadd64, 9+2*i, 9+2*i, 1)
	}
	p("B block")
	label("done")
	p("VST1 %s, (R2)", doubles(12))
	p("SUB $64, R2, R2")
	p("VST1 %s, (R2)", doubles(8))
	p("RET")
}

// update: R0 n, R1 param, R2 grad, R3 buf; V28 to V31 the numbers.
func update() {
	for _, decay := range []bool{false, true} {
		suffix, line := "NEON", ""
		if decay {
			suffix, line = "DecayNEON", "d = decay*param[i] + d\n"
		}
		number := func(reg int, name string, offset int) {
			p("FMOVS %s+%d(FP), F%d", name, offset, reg)
			p("VDUP V%[1]d.S[0], V%[1]d.S4", reg)
		}
		const doc = "updates n elements, a multiple of 4, each line with one rounding:"
		begin("sgd"+suffix, "(n int, param, grad *float32, minusLR, decay float32)",
			doc+loopOf("d := grad[i]\n"+line+"param[i] = minusLR*d + param[i]"), 32)
		p("MOVD n+0(FP), R0")
		p("MOVD param+8(FP), R1")
		p("MOVD grad+16(FP), R2")
		number(28, "minusLR", 24)
		if decay {
			number(29, "decay", 28)
		}
		each(func(n int) {
			p("VLD1 (R1), %s", vectors(0, n))
			load(2, 4, n)
			for i := range n {
				if decay {
					do(fmla, 4+i, 29, i)
				}
				do(fmla, i, 28, 4+i)
			}
			store(1, 0, n)
		})
		p("RET")

		for _, nesterov := range []bool{false, true} {
			name, last := "momentum", "d = buf[i]\n"
			if nesterov {
				name, last = "nesterov", "d = momentum*buf[i] + d\n"
			}
			begin(name+suffix, "(n int, param, grad, buf *float32, minusLR, decay, momentum, keep float32)",
				doc+loopOf("d := grad[i]\n"+line+"b := momentum*buf[i]\nbuf[i] = keep*d + b\n"+last+"param[i] = minusLR*d + param[i]"), 48)
			p("MOVD n+0(FP), R0")
			p("MOVD param+8(FP), R1")
			p("MOVD grad+16(FP), R2")
			p("MOVD buf+24(FP), R3")
			number(28, "minusLR", 32)
			if decay {
				number(29, "decay", 36)
			}
			number(30, "momentum", 40)
			number(31, "keep", 44)
			each(func(n int) {
				p("VLD1 (R1), %s", vectors(0, n))
				load(2, 4, n)
				p("VLD1 (R3), %s", vectors(8, n))
				for i := range n {
					x, d, b := i, 4+i, 8+i
					if decay {
						do(fmla, d, 29, x)
					}
					do(fmul, b, 30, b)
					do(fmla, b, 31, d)
					if nesterov {
						do(fmla, d, 30, b)
					} else {
						d = b
					}
					do(fmla, x, 28, d)
				}
				store(3, 8, n)
				store(1, 0, n)
			})
			p("RET")
		}
	}
}
