package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// source is a buffered reader that knows its place.
type source struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // of buf[0] in the file
	err      error // why there is no more; io.EOF at the end
}

func newSource(r io.Reader) *source { return &source{r: r, buf: make([]byte, 64<<10)} }

func (s *source) offset() int64 { return s.base + int64(s.pos) }

// fill makes n bytes available, n <= len(s.buf), or reports that there are none.
func (s *source) fill(n int) bool {
	copy(s.buf, s.buf[s.pos:s.end])
	s.base += int64(s.pos)
	s.end -= s.pos
	s.pos = 0
	for s.end < n && s.err == nil {
		var got int
		got, s.err = s.r.Read(s.buf[s.end:])
		s.end += got
	}
	return s.end >= n
}

// take returns the next n bytes, n <= len(s.buf), or nil.
func (s *source) take(n int) []byte {
	if s.end-s.pos < n && !s.fill(n) {
		return nil
	}
	b := s.buf[s.pos : s.pos+n]
	s.pos += n
	return b
}

// text returns the next n bytes, of which it keeps maxString at most. However
// large n is, no more is allocated than the file has.
func (s *source) text(n uint64) ([]byte, bool) {
	if n <= uint64(len(s.buf)) {
		b := s.take(int(n))
		return b, b != nil
	}
	kept := append([]byte(nil), s.take(maxString)...)
	if len(kept) < maxString {
		return nil, false
	}
	for n -= maxString; n > 0; {
		step := min(n, uint64(len(s.buf)))
		if s.take(int(step)) == nil {
			return nil, false
		}
		n -= step
	}
	return kept, true
}

// refused are the opcodes that import or call code, or fetch what is not in the
// file. PyTorch's snapshots have none of them.
var refused = map[byte]string{
	'c': "GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 'P': "PERSID", 'Q': "BINPERSID",
	0x81: "NEWOBJ", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x92: "NEWOBJ_EX", 0x93: "STACK_GLOBAL",
	0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// unpickler runs a pickle's opcodes on the builder.
type unpickler struct {
	*builder
	src   *source
	stack []value
	marks []int
	memo  memo
	proto byte
}

// readPickle reads the one object of a pickle.
func readPickle(b *builder, src *source) (value, byte, error) {
	u := &unpickler{builder: b, src: src}
	v, err := u.run()
	if err != nil {
		var format *FormatError
		if !errors.As(err, &format) && (src.err == nil || src.err == io.EOF) {
			err = &FormatError{src.offset(), err.Error()}
		}
	}
	return v, u.proto, err
}

var (
	errCut       = errors.New("the file ends in the middle")
	errUnderflow = errors.New("the pickle takes more than it has put")
	errTarget    = errors.New("the pickle adds to something that is no list or dict")
	errMemo      = errors.New("the pickle refers to something it has not stored")
)

// cut says that the file ended, or why it could not be read further.
func (u *unpickler) cut() error {
	if u.src.err != nil && u.src.err != io.EOF {
		return u.src.err
	}
	return errCut
}

func (u *unpickler) push(v value) error {
	if len(u.stack) >= maxOpen {
		return errOpen
	}
	u.stack = append(u.stack, v)
	return nil
}

// floor is where the values after the last mark begin.
func (u *unpickler) floor() int {
	if len(u.marks) == 0 {
		return 0
	}
	return u.marks[len(u.marks)-1]
}

// sinceMark takes the last mark away and returns where its values begin.
func (u *unpickler) sinceMark() (int, error) {
	if len(u.marks) == 0 {
		return 0, errUnderflow
	}
	at := u.floor()
	u.marks = u.marks[:len(u.marks)-1]
	return at, nil
}

func (u *unpickler) run() (value, error) {
	for {
		op := u.src.take(1)
		if op == nil {
			return 0, u.cut()
		}
		if op[0] == '.' {
			if len(u.stack) != 1 || len(u.marks) != 0 {
				return 0, errUnderflow
			}
			return u.stack[0], nil
		}
		if err := u.step(op[0]); err != nil {
			return 0, err
		}
	}
}

func (u *unpickler) step(op byte) error {
	switch op {
	case 'K', 'M', 'J', 0x8a, 0x8b, 'G', 'N', 0x88, 0x89:
		return u.scalar(op)
	case 'h', 'j', 'q', 'r', 0x94:
		return u.memoStep(op)
	case 0x8c, 'U', 'C', 'X', 'T', 'B', 0x8d, 0x8e, 0x96:
		return u.str(op)
	case '(':
		if len(u.marks) >= maxDepth {
			return errDepth
		}
		u.marks = append(u.marks, len(u.stack))
		return nil
	case '}', ']', ')', 0x8f:
		kind := vList
		if op == '}' {
			kind = vDict
		}
		v, err := u.object(kind)
		if err != nil {
			return err
		}
		return u.push(v)
	case 'a', 'e', 's', 'u', 0x90:
		return u.add(op)
	case 't', 'l', 'd', 0x91:
		at, err := u.sinceMark()
		if err != nil {
			return err
		}
		return u.collect(at, op == 'd')
	case 0x85, 0x86, 0x87:
		at := len(u.stack) - int(op-0x84)
		if at < u.floor() {
			return errUnderflow
		}
		return u.collect(at, false)
	case '0', '1', '2':
		return u.shuffle(op)
	case 0x80:
		b := u.src.take(1)
		if b == nil {
			return u.cut()
		}
		if u.proto = b[0]; u.proto > 5 {
			return fmt.Errorf("pickle protocol %d is not known", u.proto)
		}
		return nil
	case 0x95: // a frame only tells how much to read at once
		if u.src.take(8) == nil {
			return u.cut()
		}
		return nil
	}
	if name, ok := refused[op]; ok {
		return fmt.Errorf("the pickle has the opcode %s, which can run code or fetch what is not in the file; refused", name)
	}
	return fmt.Errorf("unknown pickle opcode %#02x", op)
}

func (u *unpickler) scalar(op byte) error {
	var v value
	switch op {
	case 'N':
		v = vNone
	case 0x88:
		v = vBool | 1
	case 0x89:
		v = vBool
	case 'K':
		b := u.src.take(1)
		if b == nil {
			return u.cut()
		}
		v = vInt | value(b[0])
	case 'M':
		b := u.src.take(2)
		if b == nil {
			return u.cut()
		}
		v = vInt | value(binary.LittleEndian.Uint16(b))
	case 'J':
		b := u.src.take(4)
		if b == nil {
			return u.cut()
		}
		v, _ = intValue(int64(int32(binary.LittleEndian.Uint32(b))))
	case 'G':
		b := u.src.take(8)
		if b == nil {
			return u.cut()
		}
		v = u.float(math.Float64frombits(binary.BigEndian.Uint64(b)))
	default: // LONG1, LONG4
		size := 1
		if op == 0x8b {
			size = 4
		}
		b := u.src.take(size)
		if b == nil {
			return u.cut()
		}
		n := uint64(b[0])
		if size == 4 {
			n = uint64(binary.LittleEndian.Uint32(b))
		}
		digits, ok := u.src.text(n)
		if !ok {
			return u.cut()
		}
		v = u.long(digits)
	}
	return u.push(v)
}

// long reads a number of any length, little-endian in two's complement. One that
// does not fit in 64 bits is of no use to a snapshot.
func (u *unpickler) long(b []byte) value {
	if len(b) == 0 {
		return vInt
	}
	negative := b[len(b)-1]&0x80 != 0
	var bits uint64
	for i := len(b) - 1; i >= 0; i-- {
		if i >= 8 {
			if b[i] != 0 && (b[i] != 0xff || !negative) {
				return vOther
			}
			continue
		}
		bits |= uint64(b[i]) << (8 * i)
	}
	if len(b) < 8 && negative {
		bits |= math.MaxUint64 << (8 * len(b))
	}
	if len(b) <= 8 {
		return u.number(int64(bits))
	}
	if negative && int64(bits) >= 0 {
		return vOther
	}
	u.wide = append(u.wide, wideInt{bits, negative})
	return vWide | value(len(u.wide)-1)
}

func (u *unpickler) str(op byte) error {
	size := 1
	switch op {
	case 'X', 'T', 'B':
		size = 4
	case 0x8d, 0x8e, 0x96:
		size = 8
	}
	b := u.src.take(size)
	if b == nil {
		return u.cut()
	}
	var n uint64
	for i := size - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	text, ok := u.src.text(n)
	if !ok {
		return u.cut()
	}
	return u.push(vString | value(u.s.strings.intern(text)))
}

// collect replaces the values from at by a tuple, list or dict of them.
func (u *unpickler) collect(at int, dict bool) error {
	items := u.stack[at:]
	var v value
	var err error
	if dict {
		if v, err = u.object(vDict); err == nil {
			err = u.set(v, items)
		}
	} else {
		v, err = u.tuple(items)
	}
	if err != nil {
		return err
	}
	u.stack = u.stack[:at]
	return u.push(v)
}

// add adds one item or all since the mark to the list or dict below.
func (u *unpickler) add(op byte) error {
	at := len(u.stack) - 1 // 'a'
	switch op {
	case 's':
		at--
	case 'e', 'u', 0x90:
		var err error
		if at, err = u.sinceMark(); err != nil {
			return err
		}
	}
	if at-1 < u.floor() {
		return errUnderflow
	}
	to, items := u.stack[at-1], u.stack[at:]
	dict := op == 's' || op == 'u'
	if dict && to.kind() != vDict || !dict && to.kind() != vList {
		return errTarget
	}
	u.stack = u.stack[:at]
	if dict {
		return u.set(to, items)
	}
	return u.append(to, items)
}

func (u *unpickler) shuffle(op byte) error {
	switch op {
	case '0': // POP
		if len(u.stack) == u.floor() {
			_, err := u.sinceMark()
			return err
		}
		u.stack = u.stack[:len(u.stack)-1]
	case '1': // POP_MARK
		at, err := u.sinceMark()
		if err != nil {
			return err
		}
		u.stack = u.stack[:at]
	case '2': // DUP
		if len(u.stack) <= u.floor() {
			return errUnderflow
		}
		return u.push(u.stack[len(u.stack)-1])
	}
	return nil
}

func (u *unpickler) memoStep(op byte) error {
	index := u.memo.n
	if op != 0x94 {
		size := 1
		if op == 'j' || op == 'r' {
			size = 4
		}
		b := u.src.take(size)
		if b == nil {
			return u.cut()
		}
		index = int(b[0])
		if size == 4 {
			index = int(binary.LittleEndian.Uint32(b))
		}
	}
	if op == 'h' || op == 'j' {
		v, ok := u.memo.get(index)
		if !ok {
			return errMemo
		}
		return u.push(v)
	}
	if len(u.stack) <= u.floor() {
		return errUnderflow
	}
	// No pickler numbers faster than it writes, so that the memo stays smaller
	// than what the file has shown.
	if int64(index) > u.src.offset() {
		return errMemo
	}
	u.memo.put(index, u.stack[len(u.stack)-1])
	return nil
}

// memo is what a pickle has stored to refer to: 4 bytes an object, because
// Python's pickler stores every dict of the trace.
type memo struct {
	words
	odd  []value // neither string nor list nor dict
	odds map[value]uint32
}

const memoShift = 30

func (m *memo) put(index int, v value) {
	var word uint32
	switch v.kind() {
	case vString:
		word = 1<<memoShift | uint32(v.index())
	case vList:
		word = 2<<memoShift | uint32(v.index())
	case vDict:
		word = 3<<memoShift | uint32(v.index())
	default:
		if m.odds == nil {
			m.odds = map[value]uint32{}
		}
		at, ok := m.odds[v]
		if !ok {
			m.odd = append(m.odd, v)
			at = uint32(len(m.odd))
			m.odds[v] = at
		}
		word = at // never 0, which stands for nothing stored
	}
	for m.n <= index {
		m.append(0)
	}
	m.set(index, word)
}

func (m *memo) get(index int) (value, bool) {
	if index >= m.n {
		return 0, false
	}
	word := m.at(index)
	at := value(word & (1<<memoShift - 1))
	switch word >> memoShift {
	case 1:
		return vString | at, true
	case 2:
		return vList | at, true
	case 3:
		return vDict | at, true
	}
	if at == 0 {
		return 0, false
	}
	return m.odd[at-1], true
}
