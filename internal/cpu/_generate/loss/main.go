// Command loss writes the assembly of package loss for amd64:
//
//	go run ./loss -pkg loss -out ../loss/loss_amd64.s -stubs ../loss/stubs_amd64.go
package main

import (
	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	ConstraintExpr("!noasm")
	for _, l := range Levels {
		k := Begin(l, Float32, "peak", "(n int, x *float32) float32", PeakDoc, "x")
		k.Peak("x")
		sumExp(l)
		expScale(l)
		distance(l)
		distanceGradient(l)
	}
	Write()
}

func loop(what string) string { return "for i := range n {\n\t\t" + what + "\n\t}\n" }

func sumExp(l Level) {
	k := Begin(l, Float32, "sumExp", "(n int, x *float32, shift float32) float64",
		"is for x <= shift:\n\n\t"+loop("sum += exp(x[i] - shift)"), "x")
	shift := k.Scalar("shift")
	exp := k.ExpBelow()
	zero := k.Zero()
	sums := k.Zeros(2)
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		var es []V
		for i := range vectors {
			es = append(es, k.OnlyTail(exp(k.Op2(VSUBPS, k.Load(at("x", i)), shift)), zero))
		}
		k.SumOfFew(sums, es)
	})
	Store(k.Total(sums), ReturnIndex(0))
	k.End()
}

// expScale takes its shift in two parts, as one float32 would lose what the
// logarithm of a sum adds to a large logit.
func expScale(l Level) {
	k := Begin(l, Float32, "expScale", "(n int, d, x *float32, high, low, scale float32)",
		"is for x <= high + low or so:\n\n\t"+loop("d[i] = exp((x[i]-high)-low) * scale"), "d", "x")
	high, low, scale := k.Scalar("high"), k.Scalar("low"), k.Scalar("scale")
	exp := k.Exp()
	k.Each(1, func(at func(string, int) Mem, _ int) {
		x := k.Op2(VSUBPS, k.Op2(VSUBPS, k.Load(at("x", 0)), high), low)
		k.Store(k.Op2(VMULPS, exp(x), scale), at("d", 0))
	})
	k.End()
}

func distance(l Level) {
	k := Begin(l, Float32, "squaredDistance", "(n int, x, y *float32) float64",
		"returns a sum in many partial sums:\n\n\t"+loop("d := x[i] - y[i]\n\t\tsum += float64(d) * float64(d)"), "x", "y")
	sums := k.Zeros(8)
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			d := k.Op2(VSUBPS, k.Load(at("x", i)), k.Load(at("y", i)))
			for h, w := range k.Widen(d) {
				VFMADD231PD(w, w, sums[2*i+h])
			}
		}
	})
	Store(k.Total(sums), ReturnIndex(0))
	k.End()
}

func distanceGradient(l Level) {
	k := Begin(l, Float32, "distanceGradient", "(n int, d, x, y *float32, norm, scale float32)",
		"is:\n\n\t"+loop("d[i] = (norm * (x[i] - y[i])) * scale"), "d", "x", "y")
	norm, scale := k.Scalar("norm"), k.Scalar("scale")
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			v := k.Op2(VSUBPS, k.Load(at("x", i)), k.Load(at("y", i)))
			k.Store(k.Op2(VMULPS, k.Op2(VMULPS, v, norm), scale), at("d", i))
		}
	})
	k.End()
}
