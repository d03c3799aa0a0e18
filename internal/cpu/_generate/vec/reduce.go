package vec

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Widen adds the float32 of v to two vectors of float64.
func (k *Kernel) Widen(v V) [2]V {
	low, high, half := k.Vector(), k.Vector(), Register(nil)
	if k.Wide() {
		half = YMM()
		VEXTRACTF64X4(U8(1), v, half)
		VCVTPS2PD(v.AsY(), low)
	} else {
		half = XMM()
		VEXTRACTF128(U8(1), v, half)
		VCVTPS2PD(v.AsX(), low)
	}
	VCVTPS2PD(half, high)
	return [2]V{low, high}
}

// LoadWide is Widen of what lies at m, as float64 from float32 or as it is in the
// two vectors from m on.
func (k *Kernel) LoadWide(m Mem) [2]V {
	if k.Tail() {
		return k.Widen(k.Load(m))
	}
	low, high := k.Vector(), k.Vector()
	VCVTPS2PD(m, low)
	VCVTPS2PD(m.Offset(k.Bytes/2), high)
	return [2]V{low, high}
}

// Total puts the sum of the lanes of all vectors of float64 into the first
// lane of a register. The vectors are a power of 2.
func (k *Kernel) Total(sums []V) Register {
	for ; len(sums) > 1; sums = sums[:len(sums)/2] {
		for i := range len(sums) / 2 {
			VADDPD(sums[i+len(sums)/2], sums[i], sums[i])
		}
	}
	v := sums[0]
	if k.Wide() {
		upper := YMM()
		VEXTRACTF64X4(U8(1), v, upper)
		VADDPD(upper, v.AsY(), v.AsY())
	}
	x, t := XMM(), XMM()
	VEXTRACTF128(U8(1), v.AsY(), x)
	VADDPD(v.AsX(), x, x)
	VPERMILPD(U8(1), x, t)
	VADDSD(t, x, x)
	return x
}

// Zeros are n registers of zeros.
func (k *Kernel) Zeros(n int) (vs []V) {
	for range n {
		vs = append(vs, k.Zero())
	}
	return vs
}

// SumOfFew adds to two sums of float64 what is in one, two or four vectors of
// float32. Vectors are added up in float32 first: two roundings, by at most 2^-23
// of the sum of the absolute values.
func (k *Kernel) SumOfFew(sums []V, vs []V) {
	for ; len(vs) > 1; vs = vs[:len(vs)/2] {
		half := make([]V, len(vs)/2)
		for i := range half {
			half[i] = k.Op2(VADDPS, vs[i], vs[i+len(half)])
		}
		copy(vs, half)
	}
	for i, w := range k.Widen(vs[0]) {
		VADDPD(w, sums[i], sums[i])
	}
}

// An Extreme is the greatest or the least of many elements. The instructions give
// the second operand where zeros are equal: done both ways around, zeros are
// put together by their signs. NaN is looked for apart.
type Extreme struct {
	*Kernel
	Pick, Join func(ops ...Op)
	start      V
	acc, nan   []V
	nanMask    Register
}

// NewExtreme prepares n accumulators of float32.
func (k *Kernel) NewExtreme(least bool, n int) *Extreme {
	x := &Extreme{Kernel: k, Pick: VMAXPS, Join: VANDPS}
	first := uint32(0xff800000) // -Inf
	if least {
		x.Pick, x.Join, first = VMINPS, VORPS, 0x7f800000
	}
	x.start = k.Move(k.Bits(first))
	for range n {
		x.acc = append(x.acc, k.Move(x.start))
	}
	if k.Wide() {
		x.nanMask = K()
		KXORW(x.nanMask, x.nanMask, x.nanMask)
	} else {
		x.nan = k.Zeros(1)
	}
	return x
}

func (x *Extreme) merge(a, b V) V {
	return x.Op2(x.Join, x.Op2(x.Pick, a, b), x.Op2(x.Pick, b, a))
}

// Add takes v into accumulator i.
func (x *Extreme) Add(i int, v V) {
	v = x.OnlyTail(v, x.start)
	m := x.Test(Un, v, v)
	if x.Wide() {
		KORW(m, x.nanMask, x.nanMask)
	} else {
		VORPS(m, x.nan[0], x.nan[0])
	}
	VMOVAPS(x.merge(x.acc[i], v), x.acc[i])
}

// Result is the extreme in the first lane, NaN if one was added.
func (x *Extreme) Result() Register {
	a := x.acc
	for ; len(a) > 1; a = a[:len(a)/2] {
		for i := range len(a) / 2 {
			VMOVAPS(x.merge(a[i], a[i+len(a)/2]), a[i])
		}
	}
	v := a[0]
	lower := func(other V) { VMOVAPS(x.merge(v, other), v) }
	if x.Wide() {
		upper := ZMM()
		VSHUFF64X2(U8(0x0e), v, v, upper)
		lower(upper)
		next := ZMM()
		VSHUFF64X2(U8(0x01), v, v, next)
		lower(next)
	} else {
		upper := YMM()
		VPERM2F128(U8(0x01), v, v, upper)
		lower(upper)
	}
	two, one := x.Vector(), x.Vector()
	VPERMILPS(U8(0x0e), v, two)
	lower(two)
	VPERMILPS(U8(0x01), v, one)
	lower(one)
	found := GP32()
	if x.Wide() {
		KMOVW(x.nanMask, found)
	} else {
		VMOVMSKPS(x.nan[0], found)
	}
	TESTL(found, found)
	JZ(LabelRef("ordered"))
	VPCMPEQD(v.AsX(), v.AsX(), v.AsX()) // all ones are NaN
	Label("ordered")
	return v.AsX()
}

// PeakDoc describes [Kernel.Peak].
const PeakDoc = "is the largest element, either zero for zeros and anything if one is NaN; n is at least 1:\n\n" +
	"\tm = x[0]\n\tfor i := range n {\n\t\tm = max(m, x[i])\n\t}\n"

// Peak writes the function that returns the largest element of p.
func (k *Kernel) Peak(p string) {
	start := k.Move(k.Bits(0xff800000)) // -Inf
	var acc []V
	for range 4 {
		acc = append(acc, k.Move(start))
	}
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		for i := range vectors {
			if k.Tail() {
				VMAXPS(k.OnlyTail(k.Load(at(p, i)), start), acc[i], acc[i])
			} else {
				VMAXPS(at(p, i), acc[i], acc[i])
			}
		}
	})
	VMAXPS(acc[1], acc[0], acc[0])
	VMAXPS(acc[3], acc[2], acc[2])
	VMAXPS(acc[2], acc[0], acc[0])
	v := acc[0]
	if k.Wide() {
		upper := YMM()
		VEXTRACTF64X4(U8(1), v, upper)
		VMAXPS(upper, v.AsY(), v.AsY())
	}
	x, t := XMM(), XMM()
	VEXTRACTF128(U8(1), v.AsY(), x)
	VMAXPS(v.AsX(), x, x)
	VPERMILPS(U8(0x0e), x, t)
	VMAXPS(t, x, x)
	VPERMILPS(U8(0x01), x, t)
	VMAXPS(t, x, x)
	Store(x, ReturnIndex(0))
	k.End()
}
