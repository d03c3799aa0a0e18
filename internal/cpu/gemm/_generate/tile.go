package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A tileKernel is what the parts of a tile's kernel share.
type tileKernel struct {
	l    level
	e    element
	rows int
	sums [][2]VecVirtual
	mask [2]Mem // for AVX2

	how   reading
	a     []Mem       // the rows of a
	bases []GPVirtual // what of a moves on with the inner dimension
	ak    GPVirtual   // by how much, unless its elements lie side by side there
	b     GPVirtual
	ldb   GPVirtual // unless it is packed
}

// A reading is how a tile's kernel reads its operands.
type reading struct {
	name, note string
	columns    bool // the elements of a column of a lie side by side
	rows       bool // the elements of a row of a do, and b is packed
}

var readings = []reading{
	{name: "tile"},
	{name: "columns", note: "\nlda is 1.\n", columns: true},
	{name: "rows", note: "\nak is 1 and ldb the width of a whole tile.\n", rows: true},
}

// tile writes the kernel for a tile of the given rows and two vectors.
func tile(l level, e element, rows int, how reading) {
	name := fmt.Sprintf("%s%dx%d%s", how.name, rows, 2*l.lanes(e), l.name)
	if e.size == 8 {
		name += "f64"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(k int, a *%[1]s, lda, ak int, b *%[1]s, ldb int, c *%[1]s, ldc int, add *%[1]s, ldadd int, cols int)", e.goType))
	Pragma("noescape")
	doc(fmt.Sprintf(`
%s computes a tile of %d rows and cols <= %d columns, with fused products and sums:

	for i := range %d {
		for j := range cols {
			sum := 0
			for p := range k {
				sum = a[i*lda+p*ak]*b[p*ldb+j] + sum
			}
			if add != nil {
				sum += add[i*ldadd+j]
			}
			c[i*ldc+j] = sum
		}
	}
%s`, name, rows, 2*l.lanes(e), rows, how.note))

	t := tileKernel{l: l, e: e, rows: rows, how: how}
	t.mask = columnMasks(l, e)
	t.prefetch()
	t.operands()
	t.sums = make([][2]VecVirtual, rows)
	for i := range t.sums {
		for h := range 2 {
			t.sums[i][h] = l.vector()
			zero(l, t.sums[i][h])
		}
	}

	cols, err := Param("cols").Resolve()
	if err != nil {
		panic(err)
	}
	CMPQ(cols.Addr, U8(l.lanes(e)))
	JLE(LabelRef("narrow"))
	CMPQ(cols.Addr, U8(2*l.lanes(e)))
	JNE(LabelRef("ragged"))
	t.loop("whole", 2, false) // a masked load costs the units that multiply an instruction more
	JMP(LabelRef("summed"))
	t.loop("ragged", 2, true) // the last columns only: not worth taking several steps a turn
	JMP(LabelRef("summed"))
	t.loop("narrow", 1, true)

	Label("summed")
	t.addAndStore()
	VZEROUPPER()
	RET()
}

// prefetch asks for the tile's lines of c, which is written, and mostly also
// added, when the products are done.
func (t *tileKernel) prefetch() {
	c, ldc := param("c"), bytesOf(t.e, "ldc")
	for i := range t.rows {
		for at := 0; at < 2*t.l.bytes; at += 64 {
			PREFETCHT0(Mem{Base: c, Disp: at})
		}
		if i < t.rows-1 {
			ADDQ(ldc, c)
		}
	}
}

// operands reads where a and b are.
func (t *tileKernel) operands() {
	switch a := param("a"); {
	case t.how.columns:
		t.bases = []GPVirtual{a}
		for i := range t.rows {
			t.a = append(t.a, Mem{Base: a, Disp: i * t.e.size})
		}
	case t.how.rows:
		lda := bytesOf(t.e, "lda")
		for i := range t.rows {
			if i > 0 {
				next := GP64()
				LEAQ(Mem{Base: a, Index: lda, Scale: 1}, next)
				a = next
			}
			t.bases, t.a = append(t.bases, a), append(t.a, Mem{Base: a})
		}
	default:
		t.a, t.bases = rowsOf(a, bytesOf(t.e, "lda"), t.rows)
	}
	t.b = param("b")
	if !t.how.rows {
		t.ak, t.ldb = bytesOf(t.e, "ak"), bytesOf(t.e, "ldb")
	}
}

// unroll is how many steps of the inner dimension a turn of the loop takes.
const unroll = 4

// loop multiplies the first halves vectors of each row of b.
func (t *tileKernel) loop(label string, halves int, masked bool) {
	Label(label)
	k := param("k")
	if (t.how.columns || t.how.rows) && (halves == 1 || !masked) {
		SHRQ(U8(2), k)
		JZ(LabelRef(label + "Rest"))
		t.turn(label+"Turn", k, unroll, halves, masked)
		Label(label + "Rest")
		k = param("k")
		ANDQ(U32(unroll-1), k)
		JZ(LabelRef(label + "End"))
	}
	t.turn(label+"Step", k, 1, halves, masked)
	Label(label + "End")
}

// turn takes n times so many steps.
func (t *tileKernel) turn(label string, n GPVirtual, steps, halves int, masked bool) {
	row := []Mem{{Base: t.b}}
	if steps == unroll {
		if t.how.rows {
			for range steps - 1 {
				row = append(row, row[len(row)-1].Offset(2*t.l.bytes))
			}
		} else {
			ldb3 := GP64()
			LEAQ(Mem{Base: t.ldb, Index: t.ldb, Scale: 2}, ldb3)
			row = append(row, Mem{Base: t.b, Index: t.ldb, Scale: 1}, Mem{Base: t.b, Index: t.ldb, Scale: 2}, Mem{Base: t.b, Index: ldb3, Scale: 1})
		}
	}
	Label(label)
	for i, b := range row {
		at := 0
		if t.how.rows {
			at = i * t.e.size
		}
		t.step(at, b, halves, masked)
		if !t.how.rows {
			for _, r := range t.bases {
				ADDQ(t.ak, r)
			}
		}
	}
	switch {
	case t.how.rows:
		for _, r := range t.bases {
			ADDQ(U32(steps*t.e.size), r)
		}
		ADDQ(U32(2*steps*t.l.bytes), t.b)
	case steps == unroll:
		LEAQ(Mem{Base: t.b, Index: t.ldb, Scale: 4}, t.b)
	default:
		ADDQ(t.ldb, t.b)
	}
	DECQ(n)
	JNZ(LabelRef(label))
}

// step adds the products of a column of a, at bytes further on, and a row of b.
func (t *tileKernel) step(at int, b Mem, halves int, masked bool) {
	var row [2]VecVirtual
	for h := range halves {
		row[h] = t.l.vector()
		m := b.Offset(t.l.bytes * h)
		switch {
		case !masked:
			t.e.load(m, row[h])
		case t.l.bytes == 64:
			t.e.loadMasked(m, []Register{K1, K2}[h], row[h])
		default:
			x := t.l.vector()
			VMOVUPS(t.mask[h], x)
			maskedLoad(t.e, m, x, row[h])
		}
	}
	for i := range t.rows {
		// A multiplication that reads its element of a from memory is one
		// instruction less for the processor's front end, and a load more. It must
		// not be addressed with an index, or the front end takes it apart.
		if (t.how.columns || t.how.rows) && t.l.bytes == 64 && i%4 != 0 {
			for h := range halves {
				t.e.fmaBcst(t.a[i].Offset(at), row[h], t.sums[i][h])
			}
			continue
		}
		x := t.l.vector()
		t.e.bcst(t.a[i].Offset(at), x)
		for h := range halves {
			t.e.fma(x, row[h], t.sums[i][h])
		}
	}
}

// addAndStore writes the sums to c, with add if there is one.
func (t *tileKernel) addAndStore() {
	l, e := t.l, t.e
	add, ldadd := param("add"), bytesOf(e, "ldadd")
	TESTQ(add, add)
	JZ(LabelRef("store"))
	for i := range t.rows {
		for h := range 2 {
			x, m := l.vector(), Mem{Base: add, Disp: l.bytes * h}
			if l.bytes == 64 {
				e.loadMasked(m, []Register{K1, K2}[h], x)
			} else {
				y := l.vector()
				VMOVUPS(t.mask[h], y)
				maskedLoad(e, m, y, x)
			}
			e.add(x, t.sums[i][h], t.sums[i][h])
		}
		if i < t.rows-1 {
			ADDQ(ldadd, add)
		}
	}
	Label("store")
	c, ldc := param("c"), bytesOf(e, "ldc")
	for i := range t.rows {
		for h := range 2 {
			m := Mem{Base: c, Disp: l.bytes * h}
			if l.bytes == 64 {
				e.store(t.sums[i][h], []Register{K1, K2}[h], m)
			} else {
				x := l.vector()
				VMOVUPS(t.mask[h], x)
				maskedStore(e, t.sums[i][h], x, m)
			}
		}
		if i < t.rows-1 {
			ADDQ(ldc, c)
		}
	}
}
