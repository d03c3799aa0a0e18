// Package image has the processor's kernels on images of bytes.
//
// A byte has 256 values, so a function of one byte is a table of 256 numbers:
// scaling and normalising an image, in whatever way, is one lookup for each
// byte, and the results are the same bits as those of the steps one by one.
package image

import (
	"encoding/binary"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Table is a function of a byte.
type Table [256]float32

// taskBytes is how many bytes one task of a gather covers.
const taskBytes = 1 << 17

// Gather writes images to dst, one after another, those of src that rows names,
// each byte through the table of its channel. An image of src has pixels x
// len(tables) bytes, the channels of a pixel side by side; in dst each channel
// has its pixels side by side. Every row must be in src, and dst as long as the
// rows need.
func Gather(dst []float32, src []uint8, rows []int64, pixels int, tables []Table) {
	size := pixels * len(tables)
	if size == 0 || len(rows) == 0 {
		return
	}
	each := max(1, taskBytes/size)
	cpu.Parallel((len(rows)+each-1)/each, func(task int) {
		image := func(i int) []uint8 { return src[int(rows[i])*size:][:size] }
		for i := task * each; i < min((task+1)*each, len(rows)); i++ {
			row(dst[i*size:(i+1)*size], image(i), tables, image(min(i+1, len(rows)-1)))
		}
	})
}

// row maps one image, and asks for the memory of the next.
func row(dst []float32, src []uint8, tables []Table, next []uint8) {
	if len(tables) == 1 {
		lookup(dst, src, &tables[0], next)
		return
	}
	channels := len(tables)
	pixels := len(src) / channels
	for c := range tables {
		t, plane := &tables[c], dst[c*pixels:(c+1)*pixels]
		for p := range plane {
			plane[p] = t[src[p*channels+c]]
		}
	}
}

// lookup sets dst[i] to t[src[i]], and asks for the memory of next, as long.
func lookup(dst []float32, src []uint8, t *Table, next []uint8) {
	n := 0
	if inUse != nil {
		if n = len(src) - len(src)%lookupStep; n > 0 {
			cpu.MarkRead(unsafe.Pointer(&src[0]), n)
			cpu.MarkWrite(unsafe.Pointer(&dst[0]), 4*n)
			inUse(n, &dst[0], &src[0], (*[256]float32)(t), &next[0])
		}
	}
	goLookup(dst[n:], src[n:], t)
}

// lookupStep is what the number of elements of a lookupFunc is a multiple of.
const lookupStep = 32

// A lookupFunc sets d[i] to t[s[i]] for i < n. It asks for n bytes from next on,
// which is read soon: rows in random order are nowhere near each other.
type lookupFunc func(n int, d *float32, s *uint8, t *[256]float32, next *uint8)

// A lookupKernel is the lookupFunc of a processor level.
type lookupKernel struct {
	level cpu.SIMD
	run   lookupFunc
}

// inUse is that of the processor's level, nil if there is none but goLookup.
var inUse = cpu.Best(lookups(), func(k lookupKernel) cpu.SIMD { return k.level }).run

// goLookup sets dst[i] to t[src[i]], eight at a time. Eight zeros, the background
// of digits and drawings, are a copy.
func goLookup(dst []float32, src []uint8, t *Table) {
	var background [8]float32
	for i := range background {
		background[i] = t[0]
	}
	for len(src) >= 8 && len(dst) >= 8 {
		d, w := (*[8]float32)(dst), binary.LittleEndian.Uint64(src)
		if w == 0 {
			*d = background
		} else {
			d[0] = t[uint8(w)]
			d[1] = t[uint8(w>>8)]
			d[2] = t[uint8(w>>16)]
			d[3] = t[uint8(w>>24)]
			d[4] = t[uint8(w>>32)]
			d[5] = t[uint8(w>>40)]
			d[6] = t[uint8(w>>48)]
			d[7] = t[uint8(w>>56)]
		}
		dst, src = dst[8:], src[8:]
	}
	for i, b := range src {
		dst[i] = t[b]
	}
}
