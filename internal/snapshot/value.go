package snapshot

import "math"

// value is an object of the file: its kind in the upper 4 bits, and what it is
// or where it lies in the rest.
type value uint64

const (
	vNone   value = iota << kindShift
	vBool         // 0 or 1
	vInt          // a signed number of 60 bits
	vWide         // index in builder.wide
	vFloat        // index in builder.floats
	vString       // StringID
	vPair         // a tuple of two numbers of 30 bits
	vList         // index in builder.objects: a list, tuple or set
	vDict         // index in builder.objects
	vEvent        // these are what a dict turned out to be: index in its table
	vFrame
	vBlock
	vSegment
	vUse   // an entry of a block's history, as torch 1.13 has it
	vPlain // a dict of none of these kinds: index in builder.plain
	vOther // something that is never of interest

	kindShift = 60
	kindMask  = value(15) << kindShift
)

func (v value) kind() value { return v & kindMask }
func (v value) index() int  { return int(v &^ kindMask) }

func intValue(n int64) (value, bool) {
	if n<<4>>4 != n {
		return 0, false
	}
	return vInt | value(n)&^kindMask, true
}

func (v value) int() int64 { return int64(v<<4) >> 4 }

func pairValue(a, b int64) (value, bool) {
	if uint64(a) >= 1<<30 || uint64(b) >= 1<<30 {
		return 0, false
	}
	return vPair | value(a)<<30 | value(b), true
}

func (v value) pair() [2]int64 {
	return [2]int64{int64(v>>30) & (1<<30 - 1), int64(v) & (1<<30 - 1)}
}

// words is a long list of 32-bit words that grows without copying.
type words struct {
	chunks []*[wordChunk]uint32
	n      int
}

const wordChunk = 1 << 14

func (w *words) append(x uint32) {
	if w.n%wordChunk == 0 && w.n/wordChunk == len(w.chunks) {
		w.chunks = append(w.chunks, new([wordChunk]uint32))
	}
	w.chunks[w.n/wordChunk][w.n%wordChunk] = x
	w.n++
}

func (w *words) at(i int) uint32     { return w.chunks[i/wordChunk][i%wordChunk] }
func (w *words) set(i int, x uint32) { w.chunks[i/wordChunk][i%wordChunk] = x }

// list is a list of the file as runs of consecutive values: a trace of millions
// of events is one run.
type list struct {
	runs  []run
	stack StackID // of a list of frames, once it is known
	known bool
	taken bool // it is a device's trace or segments, or a segment's blocks
}

type run struct {
	first value
	n     uint32
}

func (l *list) append(v value) {
	if len(l.runs) > 0 {
		last := &l.runs[len(l.runs)-1]
		if v.kind() >= vDict && last.first+value(last.n) == v && last.n < math.MaxUint32 {
			last.n++
			return
		}
	}
	l.runs = append(l.runs, run{v, 1})
}

// each calls f with the values until it returns false.
func (l *list) each(f func(v value) bool) {
	for _, r := range l.runs {
		for i := range r.n {
			if !f(r.first + value(i)) {
				return
			}
		}
	}
}
