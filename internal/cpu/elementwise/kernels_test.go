package elementwise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// twin is a kernel and the Go loop that it must equal.
type twin struct {
	name      string
	got, want loop
	d, a, b   cpu.DType // of the operands; c has b's
	step      int       // n is a multiple of it
	mask      bool      // b is a bit mask
}

// twins lists what a level has of its own, with all numbers alike.
func twins(level cpu.SIMD) (list []twin) {
	k, g := kernelsOf(level), kernelsOf(cpu.Generic)
	add := func(name string, got, want kernel, d, a, b cpu.DType, step int) {
		if got.loop != nil && *(*unsafe.Pointer)(unsafe.Pointer(&got.loop)) != *(*unsafe.Pointer)(unsafe.Pointer(&want.loop)) {
			list = append(list, twin{name, got.loop, want.loop, d, a, b, step, step == maskStep})
		}
	}
	for _, t := range []cpu.DType{cpu.Float32, cpu.Float64} {
		for op := range k.unary[t] {
			if _, inexact := float32Errors[UnaryOp(op)]; !inexact {
				add(fmt.Sprint("unary ", op, t), k.unary[t][op], g.unary[t][op], t, t, t, 1)
			}
		}
		for op := range k.binary[t] {
			out := t
			if BinaryOp(op) >= Eq && BinaryOp(op) <= LogicalXor {
				out = cpu.Bool
			}
			add(fmt.Sprint("binary ", op, t), k.binary[t][op], g.binary[t][op], out, t, t, 1)
			add(fmt.Sprint("right ", op, t), k.right[t][op], withNumber(g.binary[t][op], t, false), out, t, t, 1)
			add(fmt.Sprint("left ", op, t), k.left[t][op], withNumber(g.binary[t][op], t, true), out, t, t, 1)
		}
		add(fmt.Sprint("addScaled ", t), k.addScaled[t], g.addScaled[t], t, t, t, 1)
		add(fmt.Sprint("addcmul ", t), k.addcmul[t], g.addcmul[t], t, t, t, 1)
		add(fmt.Sprint("addcdiv ", t), k.addcdiv[t], g.addcdiv[t], t, t, t, 1)
		add(fmt.Sprint("lerpNear ", t), k.lerpNear[t], g.lerpNear[t], t, t, t, 1)
		add(fmt.Sprint("lerpFar ", t), k.lerpFar[t], g.lerpFar[t], t, t, t, 1)
		add(fmt.Sprint("clamp ", t), k.clamped[t], g.clamped[t], t, t, t, 1)
		add(fmt.Sprint("reluMask ", t), k.reluMask[t], g.reluMask[t], t, t, cpu.Uint8, maskStep)
		add(fmt.Sprint("maskMul ", t), k.maskMul[t], g.maskMul[t], t, t, cpu.Uint8, maskStep)
	}
	for to := range k.cast {
		for from := range k.cast[to] {
			add(fmt.Sprint("cast ", to, from), k.cast[to][from], g.cast[to][from], cpu.DType(to), cpu.DType(from), cpu.Float32, 1)
		}
	}
	add("where", k.where[4], g.where[4], cpu.Float32, cpu.Bool, cpu.Float32, 1)
	add("fill", k.fill, g.fill, cpu.Float64, cpu.Float32, cpu.Float32, 1)
	return list
}

// withNumber is binary with a number, v, as an operand.
func withNumber(k kernel, t cpu.DType, left bool) kernel {
	return inGo(func(n int, d, a, _, _ unsafe.Pointer, v, _ uint64) {
		block := make([]uint64, n+1)
		b := unsafe.Pointer(&block[0])
		for i := range n {
			move(t.Size(), view{unsafe.Add(b, i*t.Size()), 0, 0}, view{numberAt(v, t), 0, 0}, 1, 1)
		}
		if left {
			a, b = b, a
		}
		k.loop(n, d, a, b, nil, 0, 0)
	})
}

// Each kernel of each level gives the bits of its Go twin, for every length,
// with aliased operands and special values; it neither reads past the end of its
// operands, where a page begins that cannot be read, nor writes elsewhere.
func TestKernelsAgainstGo(t *testing.T) {
	const most = 200
	room := make([]unsafe.Pointer, 5)
	for i := range room {
		room[i] = arraytest.Memory(t, (most+8)*8)
	}
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(p unsafe.Pointer, n int, t cpu.DType) {
		for i := range n {
			v := r.NormFloat64() * 3
			if r.IntN(4) == 0 {
				v = arraytest.Specials[r.IntN(len(arraytest.Specials))]
			}
			bits := bitsOf(t, v)
			move(t.Size(), view{unsafe.Add(p, i*t.Size()), 0, 0}, view{numberAt(bits, t), 0, 0}, 1, 1)
		}
	}
	tested := 0
	for _, level := range levels() {
		for _, k := range twins(level) {
			tested++
			step := k.step
			if testing.Short() {
				step *= 7
			}
			for n := 0; n <= most; n += step {
				numbers := [2]float64{0.25, 1.5}
				if n%3 == 1 {
					numbers = [2]float64{-0.7, math.Inf(1)}
				}
				v, w := bitsOf(k.d, numbers[0]), bitsOf(k.d, numbers[1])
				if k.d == cpu.Bool {
					v, w = bitsOf(k.a, numbers[0]), 0
				}
				// at is where an operand of n elements lies that ends at the guard page.
				at := func(i int, t cpu.DType) unsafe.Pointer {
					return unsafe.Add(room[i], (most+8)*8-n*t.Size())
				}
				d, want, a, b, c := at(0, k.d), at(4, k.d), at(1, k.a), at(2, k.b), at(3, k.b)
				fill(a, n, k.a)
				fill(b, n, k.b)
				fill(c, n, k.b)
				for i := range (most + 8) * 8 {
					*(*byte)(unsafe.Add(room[0], i)) = arraytest.Canary
				}
				bGot, bWant := b, b
				if k.mask {
					b, c = unsafe.Add(room[2], (most+8)*8-n/8), unsafe.Add(room[3], (most+8)*8-n/8)
					copy(slice[uint8](c, n/8), slice[uint8](b, n/8))
					bGot, bWant = b, c
				}
				if n%2 == 1 && k.d == k.a && k.name != "fill" { // in place
					copy(slice[byte](d, n*k.d.Size()), slice[byte](a, n*k.a.Size()))
					k.want(n, want, a, bWant, c, v, w)
					k.got(n, d, d, bGot, c, v, w)
				} else {
					k.want(n, want, a, bWant, c, v, w)
					k.got(n, d, a, bGot, c, v, w)
				}
				if k.mask && string(slice[byte](b, n/8)) != string(slice[byte](c, n/8)) {
					t.Fatalf("%v %s, %d elements: masks differ", level, k.name, n)
				}
				size := k.d.Size()
				for i := range n {
					got, expected := loadBits(unsafe.Add(d, i*size), size), loadBits(unsafe.Add(want, i*size), size)
					if got != expected && !bothNaN(k.d, got, expected) {
						t.Fatalf("%v %s, %d elements: element %d is %x, in Go %x", level, k.name, n, i, got, expected)
					}
				}
				for i := range (most+8)*8 - n*size {
					if *(*byte)(unsafe.Add(room[0], i)) != arraytest.Canary {
						t.Fatalf("%v %s, %d elements: byte %d before the output was written", level, k.name, n, i)
					}
				}
			}
		}
	}
	if len(levels()) > 0 && tested < 10 {
		t.Errorf("only %d kernels tested", tested)
	}
}

func bothNaN(t cpu.DType, a, b uint64) bool {
	switch t {
	case cpu.Float32:
		x, y := fromBits[float32](a), fromBits[float32](b)
		return x != x && y != y
	case cpu.Float64:
		x, y := fromBits[float64](a), fromBits[float64](b)
		return x != x && y != y
	}
	return false
}

// Functions at the ends of arrays: the bits of an element do not depend on where
// it is, and nothing outside of the array is touched.
func TestFunctionsAtEveryLength(t *testing.T) {
	const most = 70
	in, out := arraytest.Memory(t, most*4), arraytest.Memory(t, most*4)
	r := rand.New(rand.NewPCG(3, 4))
	for _, level := range levels() {
		table := kernelsOf(level).unary[cpu.Float32]
		for op := range float32Errors {
			for n := range most + 1 {
				a, d := slice[float32](unsafe.Add(in, (most-n)*4), n), slice[float32](unsafe.Add(out, (most-n)*4), n)
				whole := slice[byte](out, most*4)
				for i := range whole {
					whole[i] = arraytest.Canary
				}
				for i := range a {
					a[i] = float32(r.NormFloat64() * 10)
					if r.IntN(4) == 0 {
						a[i] = float32(arraytest.Specials[r.IntN(len(arraytest.Specials))])
					}
				}
				table[op].loop(n, unsafe.Pointer(unsafe.SliceData(d)), unsafe.Pointer(unsafe.SliceData(a)), nil, nil, 0, 0)
				for i := range a {
					var one float32
					table[op].loop(1, unsafe.Pointer(&one), unsafe.Pointer(&a[i]), nil, nil, 0, 0)
					if !arraytest.SameFloat(float64(one), float64(d[i])) {
						t.Fatalf("%v function %d of %v is %v at %d of %d, %v alone", level, op, a[i], d[i], i, n, one)
					}
				}
				for i := range (most - n) * 4 {
					if whole[i] != arraytest.Canary {
						t.Fatalf("%v function %d of %d: byte %d before the output was written", level, op, n, i)
					}
				}
			}
		}
	}
}
