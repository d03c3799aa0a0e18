// Package vec is what the assembly generators of internal/cpu share: loops over
// vectors with a masked tail, and float32 functions, each for AVX2 and AVX-512.
//
// It builds on avo, whose operands are in Go's order: the destination last.
package vec

import (
	"flag"
	"fmt"
	"go/types"
	"os"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// V is a vector register.
type V = VecVirtual

// An Element is a dtype: its Go type, the suffix of kernels' names, its size
// and its instructions.
type Element struct {
	Type, Suffix string
	Size         int

	Add, Sub, Mul, Div, Max, Min, Sqrt, FMA231, FNMA231, FMA213, Broadcast func(ops ...Op)
	Compare                                                                func(ops ...Op)
}

// The float dtypes.
var (
	Float32 = Element{"float32", "", 4, VADDPS, VSUBPS, VMULPS, VDIVPS, VMAXPS, VMINPS, VSQRTPS,
		VFMADD231PS, VFNMADD231PS, VFMADD213PS, VBROADCASTSS, VCMPPS}
	Float64 = Element{"float64", "f64", 8, VADDPD, VSUBPD, VMULPD, VDIVPD, VMAXPD, VMINPD, VSQRTPD,
		VFMADD231PD, VFNMADD231PD, VFMADD213PD, VBROADCASTSD, VCMPPD}
)

// A Level is a processor level and the bytes of its vectors.
type Level struct {
	Name  string
	Bytes int
}

// The processor levels.
var (
	AVX2   = Level{"AVX2", 32}
	AVX512 = Level{"AVX512", 64}
	Levels = []Level{AVX2, AVX512}
)

// Wide says that the level has masks and 32 registers.
func (l Level) Wide() bool { return l.Bytes == 64 }

// Lanes is the number of elements in a vector.
func (l Level) Lanes(e Element) int { return l.Bytes / e.Size }

// Vector is a new register.
func (l Level) Vector() V {
	if l.Wide() {
		return ZMM()
	}
	return YMM()
}

// comment sets the stub's comment.
func comment(text string) { Doc(strings.Split(strings.TrimSpace(text), "\n")...) }

// Write generates the files that -out and -stubs name. In stubs *byte stands
// for unsafe.Pointer, which avo cannot parse.
func Write() {
	for _, d := range datas {
		GLOBL(d.name, RODATA|NOPTR)
		for i, word := range d.words {
			DATA(8*i, U64(word))
		}
	}
	Generate()
	stubs := flag.Lookup("stubs").Value.String()
	text, err := os.ReadFile(stubs)
	if err != nil {
		panic(err)
	}
	pkg := strings.Index(string(text), "\npackage ")
	end := pkg + 1 + strings.Index(string(text[pkg+1:]), "\n")
	s := string(text[:end])
	if body := strings.ReplaceAll(string(text[end:]), "*byte", "unsafe.Pointer"); strings.Contains(body, "unsafe.Pointer") {
		s += "\n\nimport \"unsafe\"" + body
	} else {
		s += body
	}
	if err := os.WriteFile(stubs, []byte(s), 0o644); err != nil {
		panic(err)
	}
}

// data is read-only memory, written last: avo adds only to the newest.
type data struct {
	name  string
	words []uint64
}

var datas []*data

func newData(name string) *data {
	d := &data{name: name}
	datas = append(datas, d)
	return d
}

func (d *data) at(offset int) Mem { return NewDataAddr(NewStaticSymbol(d.name), offset) }

// constants are as often in memory as fills the largest vector.
var (
	constants     = newData("constants")
	constantsSeen = map[uint64]int{}
)

func inPool(bits uint64) Mem {
	at, ok := constantsSeen[bits]
	if !ok {
		at = 8 * len(constants.words)
		for range 8 {
			constants.words = append(constants.words, bits)
		}
		constantsSeen[bits] = at
	}
	return constants.at(at)
}

var tailMasks = func() *data {
	d := newData("tails")
	for i := range 16 {
		d.words = append(d.words, map[bool]uint64{true: ^uint64(0)}[i < 8])
	}
	return d
}()

// TailMask is the address, less the bytes of the tail, of a mask for them: 64
// bytes of ones lie before it and 64 of zeros after it.
func TailMask() Mem { return tailMasks.at(64) }

// LongTailMask is TailMask for tails of up to 63 float32: 256 bytes of ones lie
// before it and 256 of zeros after it.
func LongTailMask() Mem {
	if longTailMasks == nil {
		longTailMasks = newData("longTails")
		for i := range 64 {
			longTailMasks.words = append(longTailMasks.words, map[bool]uint64{true: ^uint64(0)}[i < 32])
		}
	}
	return longTailMasks.at(256)
}

var longTailMasks *data

// EachBit is eight 32-bit words of which word i has bit i set.
func EachBit() Mem {
	if eachBit == nil {
		eachBit = newData("eachBit")
		for i := range 4 {
			eachBit.words = append(eachBit.words, 1<<(2*i)|1<<(2*i+1+32))
		}
	}
	return eachBit.at(0)
}

var eachBit *data

// A Kernel is one assembly function under construction.
type Kernel struct {
	Level
	Element
	N     Register            // elements left
	Ptr   map[string]Register // pointers, by parameter
	held  int                 // constants in registers
	space int                 // how many there may be
	tail  Op                  // the mask of the tail, once made

	// Past says that stores of whole vectors go past the caches, to multiples of their size.
	Past bool

	// Offset is where Each's vector begins, in bytes from the pointers.
	Offset Register
}

// Begin starts a function. Of its pointer parameters those in ptrs are loaded.
func Begin(l Level, e Element, name, signature, doc string, ptrs ...string) *Kernel {
	name += l.Name + e.Suffix
	TEXT(name, NOSPLIT, "func"+signature)
	Pragma("noescape")
	comment(name + " " + doc)
	k := &Kernel{Level: l, Element: e, Ptr: map[string]Register{}, space: 14}
	k.N = GP64()
	Load(Param("n"), k.N)
	for _, p := range ptrs {
		k.Ptr[p] = GP64()
		Load(Param(p), k.Ptr[p])
	}
	return k
}

// Scalar is a parameter in all lanes.
func (k *Kernel) Scalar(name string) V {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := k.Vector()
	if p.Type.Kind() == types.Uint64 { // bits, of which a float32 has the low half
		bits, x := GP64(), XMM()
		MOVQ(p.Addr, bits)
		MOVQ(bits, x)
		k.Broadcast(x, v)
		return v
	}
	k.Broadcast(p.Addr, v)
	return v
}

// Zero is a register of zeros.
func (k *Kernel) Zero() V {
	v := k.Vector()
	if k.Wide() {
		VPXORQ(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
	return v
}

// Load reads a vector, in the tail the part that is there and zeros.
func (k *Kernel) Load(m Mem) V {
	v := k.Vector()
	switch {
	case k.tail == nil:
		VMOVUPS(m, v)
	case k.Wide() && k.Size == 4:
		VMOVUPS_Z(m, k.tail, v)
	case k.Wide():
		VMOVUPD_Z(m, k.tail, v)
	case k.Size == 4:
		VMASKMOVPS(m, k.tail, v)
	default:
		VMASKMOVPD(m, k.tail, v)
	}
	return v
}

// Store writes a vector, in the tail the part that is there.
func (k *Kernel) Store(v V, m Mem) {
	switch {
	case k.tail == nil && k.Past:
		VMOVNTPS(v, m)
	case k.tail == nil:
		VMOVUPS(v, m)
	case k.Wide() && k.Size == 4:
		VMOVUPS(v, k.tail, m)
	case k.Wide():
		VMOVUPD(v, k.tail, m)
	case k.Size == 4:
		VMASKMOVPS(v, k.tail, m)
	default:
		VMASKMOVPD(v, k.tail, m)
	}
}

// OnlyTail sets the lanes of v that are not in the tail to those of other.
func (k *Kernel) OnlyTail(v, other V) V {
	if k.tail == nil {
		return v
	}
	r := k.Vector()
	switch {
	case k.Wide() && k.Size == 4:
		VBLENDMPS(v, other, k.tail, r)
	case k.Wide():
		VBLENDMPD(v, other, k.tail, r)
	case k.Size == 4:
		VBLENDVPS(k.tail, v, other, r)
	default:
		VBLENDVPD(k.tail, v, other, r)
	}
	return r
}

// makeTail turns N, the elements left, into a mask.
func (k *Kernel) makeTail() {
	if k.Wide() {
		MOVQ(k.N, RCX)
		bits := GP64()
		MOVQ(U32(1), bits)
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), K1)
		k.tail = K1
		return
	}
	at, m := GP64(), k.Vector()
	SHLQ(U8(map[int]uint8{4: 2, 8: 3}[k.Size]), k.N)
	LEAQ(TailMask(), at)
	SUBQ(k.N, at)
	VMOVUPS(Mem{Base: at}, m)
	k.tail = m
}

// Each runs body for all N elements: vectors at a time, then one at a time, then
// for the tail that is less than a vector. body is given where each of the
// vectors begins, in vectors; Tail tells it that it is in the tail.
func (k *Kernel) Each(vectors int, body func(at func(p string, vector int) Mem, vectors int)) {
	offset := GP64()
	XORQ(offset, offset)
	k.Offset = offset
	at := func(p string, vector int) Mem {
		return Mem{Base: k.Ptr[p], Index: offset, Scale: 1, Disp: vector * k.Bytes}
	}
	lanes := k.Lanes(k.Element)
	sizes := []int{vectors, 1}
	if vectors == 1 {
		sizes = sizes[1:]
	}
	for _, n := range sizes {
		loop, end := fmt.Sprintf("loop%d", n), fmt.Sprintf("end%d", n)
		Label(loop)
		SUBQ(U32(n*lanes), k.N)
		JL(LabelRef(end))
		body(at, n)
		ADDQ(U32(n*k.Bytes), offset)
		JMP(LabelRef(loop))
		Label(end)
		ADDQ(U32(n*lanes), k.N)
	}
	JZ(LabelRef("done"))
	k.makeTail()
	body(at, 1)
	Label("done")
}

// Tail says that the code is for less than a vector.
func (k *Kernel) Tail() bool { return k.tail != nil }

// End ends the function.
func (k *Kernel) End() {
	if k.Past {
		SFENCE()
	}
	VZEROUPPER()
	RET()
}
