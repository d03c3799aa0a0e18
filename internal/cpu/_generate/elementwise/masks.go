package main

import (
	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// whole writes a kernel for n elements, a multiple of the elements to a step.
// body is given the index of the first.
func whole(l Level, name, loop string, step int, ptrs []string, prepare func(k *Kernel) func(i Register)) {
	k := begin(l, Float32, name, loop+"\n// n is a multiple of "+U8(step).Asm()[1:], ptrs...)
	body := prepare(k)
	i := GP64()
	XORQ(i, i)
	TESTQ(k.N, k.N)
	JZ(LabelRef("done"))
	Label("loop")
	body(i)
	ADDQ(U8(step), i)
	CMPQ(i, k.N)
	JL(LabelRef("loop"))
	Label("done")
	k.End()
}

// masks writes the kernels of bit masks, for 64 elements and bits at a time.
func masks(l Level) {
	lanes := l.Lanes(Float32)
	at := func(k *Kernel, p string, i Register, vector int) Mem {
		return Mem{Base: k.Ptr[p], Index: i, Scale: 4, Disp: vector * l.Bytes}
	}
	bitsAt := func(k *Kernel, i Register) Mem {
		at := GP64()
		MOVQ(i, at)
		SHRQ(U8(3), at)
		return Mem{Base: k.Ptr["b"], Index: at, Scale: 1}
	}
	whole(l, "reluMask", "d[i] = a[i]\nif a[i] < 0 {\n\td[i] = 0\n}\nbit i%8 of b[i/8] = !(a[i] <= 0)", 64, []string{"d", "a", "b"}, func(k *Kernel) func(i Register) {
		zero := k.Zero()
		return func(i Register) {
			// One store of all bits: with small stores between those of vectors the
			// loop takes nearly twice as long.
			var sets []Register
			all := GP64()
			for v := range 64 / lanes {
				x := k.Load(at(k, "a", i, v))
				k.Store(k.Op2(VMAXPS, zero, x), at(k, "d", i, v))
				set := k.Test(UnGt, x, zero)
				if l.Wide() {
					sets = append(sets, set.(Register))
					continue
				}
				m := GP64()
				VMOVMSKPS(set, m.As32())
				if v == 0 {
					MOVQ(m, all)
				} else {
					SHLQ(U8(8*v), m)
					ORQ(m, all)
				}
			}
			if !l.Wide() {
				MOVQ(all, bitsAt(k, i))
				return
			}
			low, high, both := K(), K(), K()
			KUNPCKWD(sets[0], sets[1], low)
			KUNPCKWD(sets[2], sets[3], high)
			KUNPCKDQ(low, high, both)
			KMOVQ(both, bitsAt(k, i))
		}
	})
	whole(l, "maskMul", "d[i] = 0\nif bit i%8 of b[i/8] is set {\n\td[i] = a[i]\n}", 64, []string{"d", "a", "b"}, func(k *Kernel) func(i Register) {
		var each V
		if !l.Wide() {
			each = k.Move(EachBit())
		}
		return func(i Register) {
			bits := bitsAt(k, i)
			for v := range 64 / lanes {
				if l.Wide() {
					m, x := K(), k.Vector()
					KMOVW(bits.Offset(v*lanes/8), m)
					VMOVUPS_Z(at(k, "a", i, v), m, x)
					k.Store(x, at(k, "d", i, v))
					continue
				}
				m := k.Vector()
				VPBROADCASTB(bits.Offset(v*lanes/8), m)
				VPAND(each, m, m)
				VPCMPEQD(each, m, m)
				k.Store(k.Op2(VANDPS, m, at(k, "a", i, v)), at(k, "d", i, v))
			}
		}
	})
}

// casts writes conversions, which are exact or rounded once.
func casts(l Level) {
	convert := func(name, loop string, step int, load, store uint8, f func(k *Kernel, from, to Mem)) {
		whole(l, name, loop, step, []string{"d", "a"}, func(k *Kernel) func(i Register) {
			return func(i Register) {
				f(k, Mem{Base: k.Ptr["a"], Index: i, Scale: load}, Mem{Base: k.Ptr["d"], Index: i, Scale: store})
			}
		})
	}
	half := func() V { // of a vector
		if l.Wide() {
			return YMM()
		}
		return XMM()
	}
	convert("float32ToFloat64", "d[i] = float64(a[i])", l.Bytes/8, 4, 8, func(k *Kernel, from, to Mem) {
		x := k.Vector()
		VCVTPS2PD(from, x)
		VMOVUPD(x, to)
	})
	convert("float64ToFloat32", "d[i] = float32(a[i])", l.Bytes/8, 8, 4, func(k *Kernel, from, to Mem) {
		x, y := k.Vector(), half()
		VMOVUPD(from, x)
		if l.Wide() {
			VCVTPD2PS(x, y)
		} else {
			VCVTPD2PSY(x, y)
		}
		VMOVUPS(y, to)
	})
	convert("int32ToFloat32", "d[i] = float32(a[i])", l.Bytes/4, 4, 4, func(k *Kernel, from, to Mem) {
		x := k.Vector()
		VCVTDQ2PS(from, x)
		VMOVUPS(x, to)
	})
	convert("uint8ToFloat32", "d[i] = float32(a[i])", l.Bytes/4, 1, 4, func(k *Kernel, from, to Mem) {
		x := k.Vector()
		VPMOVZXBD(from, x)
		VCVTDQ2PS(x, x)
		VMOVUPS(x, to)
	})
	if l.Wide() {
		convert("int64ToFloat32", "d[i] = float32(a[i])", 8, 8, 4, func(k *Kernel, from, to Mem) {
			y := half()
			VCVTQQ2PS(from, y)
			VMOVUPS(y, to)
		})
		convert("float32ToInt64", "d[i] = int64(a[i]) // the smallest for NaN and what does not fit", 8, 4, 8, func(k *Kernel, from, to Mem) {
			x := k.Vector()
			VCVTTPS2QQ(from, x)
			VMOVDQU64(x, to)
		})
	}
}

// bytesAt is where the vector's elements are in an array of bytes.
func bytesAt(k *Kernel, p string, vector int) Mem {
	at := GP64()
	MOVQ(k.Offset, at)
	SHRQ(U8(2), at)
	return Mem{Base: k.Ptr[p], Index: at, Scale: 1, Disp: vector * 16}
}

// comparisons writes those of AVX-512, which has masks to make bytes of.
func comparisons() {
	ones := func(k *Kernel) V {
		v, one := XMM(), GP32()
		MOVL(U32(0x01010101), one)
		VPBROADCASTD(one, v)
		return v
	}
	for _, op := range []struct {
		name, sign string
		predicate  uint8
	}{{"eq", "==", Eq}, {"ne", "!=", Ne}, {"lt", "<", Lt}, {"le", "<=", Le}, {"gt", ">", Gt}, {"ge", ">=", Ge}} {
		for _, right := range []bool{false, true} {
			name, loop, ptrs := op.name, "d[i] = a[i] "+op.sign+" b[i] // 0 or 1, a byte", []string{"d", "a", "b"}
			if right {
				name, loop, ptrs = op.name+"Right", "d[i] = a[i] "+op.sign+" v // 0 or 1, a byte", []string{"d", "a"}
			}
			k := begin(AVX512, Float32, name, loop, ptrs...)
			one := ones(k)
			var v V
			if right {
				v = k.Scalar("v")
			}
			k.Each(1, func(at func(string, int) Mem, _ int) {
				x, y := k.Load(at("a", 0)), v
				if !right {
					y = k.Load(at("b", 0))
				}
				m, bytes := k.Test(op.predicate, x, y), XMM()
				VMOVDQU8_Z(one, m, bytes)
				if to := bytesAt(k, "d", 0); k.Tail() {
					VMOVDQU8(bytes, K1, to)
				} else {
					VMOVDQU8(bytes, to)
				}
			})
			k.End()
		}
	}
}

// where writes the choice between elements of 4 bytes for AVX-512.
func where() {
	k := begin(AVX512, Float32, "where", "d[i] = c[i]\nif a[i] != 0 { // bytes\n\td[i] = b[i]\n}", "d", "a", "b", "c")
	k.Each(1, func(at func(string, int) Mem, _ int) {
		bytes, m := XMM(), K()
		if from := bytesAt(k, "a", 0); k.Tail() {
			VMOVDQU8_Z(from, K1, bytes)
		} else {
			VMOVDQU8(from, bytes)
		}
		VPTESTMB(bytes, bytes, m)
		k.Store(k.Select(m, k.Load(at("b", 0)), k.Load(at("c", 0))), at("d", 0))
	})
	k.End()
}
