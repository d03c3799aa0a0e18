package vec

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// What follows is for float32.

// Const is c in all lanes, as a source operand (the first of an instruction).
// With AVX-512 the first ones stay in registers: ask for them before the loop.
func (k *Kernel) Const(c float64) Op { return k.Bits(math.Float32bits(float32(c))) }

// Bits is [Kernel.Const] for a pattern of bits.
func (k *Kernel) Bits(bits uint32) Op {
	m := inPool(uint64(bits)<<32 | uint64(bits))
	if !k.Wide() || k.held == k.space {
		return m
	}
	k.held++
	v := k.Vector()
	VBROADCASTSS(m, v)
	return v
}

// Consts is [Kernel.Const] of several.
func (k *Kernel) Consts(cs ...float64) (ops []Op) {
	for _, c := range cs {
		ops = append(ops, k.Const(c))
	}
	return ops
}

// Move is a new register with the value of op.
func (k *Kernel) Move(op Op) V {
	v := k.Vector()
	VMOVUPS(op, v)
	return v
}

// register is op if it is in a register, else a new one with its value.
func (k *Kernel) register(op Op) V {
	if v, ok := op.(V); ok {
		return v
	}
	return k.Move(op)
}

// Op2 is the result of an instruction on b, the second operand, which may be in
// memory, and a.
func (k *Kernel) Op2(instruction func(ops ...Op), a Op, b Op) V {
	v := k.Vector()
	instruction(b, a, v)
	return v
}

// Poly is a polynomial of x, the coefficient of the highest power first.
func (k *Kernel) Poly(x V, c []Op) V {
	y := k.Move(c[0])
	for _, c := range c[1:] {
		VFMADD213PS(c, x, y)
	}
	return y
}

// Comparisons, false for NaN unless named Un.
const (
	Eq   = 0x00
	Lt   = 0x11
	Le   = 0x12
	Un   = 0x03
	UnGe = 0x15 // not less
	UnGt = 0x16 // not less or equal
	Ne   = 0x04 // true for NaN
	Ge   = 0x1d
	Gt   = 0x1e
)

// Test is the mask of a op b; b may be in memory.
func (k *Kernel) Test(op uint8, a V, b Op) Op {
	if k.Wide() {
		m := K()
		VCMPPS(U8(op), b, a, m)
		return m
	}
	m := k.Vector()
	VCMPPS(U8(op), b, a, m)
	return m
}

// Select is yes where the mask is set and no elsewhere; yes may be in memory.
func (k *Kernel) Select(mask Op, yes Op, no V) V {
	r := k.Vector()
	if k.Wide() {
		VBLENDMPS(yes, no, mask, r)
	} else {
		VBLENDVPS(mask, yes, no, r)
	}
	return r
}

const (
	signBit = 0x80000000
	magic   = 0x1.8p23 // x + magic has the whole number nearest to x in its low bits
)

// Abs is |x|.
func (k *Kernel) Abs(x V) V { return k.Op2(VANDPS, x, k.Bits(^uint32(signBit))) }
