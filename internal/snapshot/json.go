package snapshot

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads a snapshot written as JSON, in one pass.
type jsonReader struct {
	*builder
	src  *source
	text []byte
	open []value // items of the lists and dicts not yet complete
}

const (
	maxJSONDepth = 200
	jsonBatch    = 1024 // items of one list or dict that wait
)

var errJSONEnd = errors.New("the file goes on after its end")

func readJSON(b *builder, src *source) (value, error) {
	r := &jsonReader{builder: b, src: src}
	v, err := r.value(maxJSONDepth)
	if err == nil {
		if c := r.space(); c != 0 {
			err = errJSONEnd
		} else if src.err != io.EOF {
			err = src.err
		}
	}
	if err != nil && (src.err == nil || src.err == io.EOF) {
		err = &FormatError{src.offset(), err.Error()}
	}
	return v, err
}

// space skips white space and returns the character after it, not taken; 0 at
// the end.
func (r *jsonReader) space() byte {
	for {
		if r.src.pos == r.src.end && !r.src.fill(1) {
			return 0
		}
		switch c := r.src.buf[r.src.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.src.pos++
		default:
			return c
		}
	}
}

func (r *jsonReader) cut() error {
	if r.src.err != nil && r.src.err != io.EOF {
		return r.src.err
	}
	return errCut
}

func (r *jsonReader) unexpected(c byte) error {
	if c == 0 && r.src.pos == r.src.end {
		return r.cut()
	}
	return fmt.Errorf("unexpected %q in JSON", rune(c))
}

func (r *jsonReader) value(depth int) (value, error) {
	switch c := r.space(); {
	case c == '{':
		return r.dict(depth)
	case c == '[':
		return r.list(depth)
	case c == '"':
		if err := r.str(); err != nil {
			return 0, err
		}
		return vString | value(r.s.strings.intern(r.text)), nil
	case c == '-' || '0' <= c && c <= '9':
		return r.numeral()
	case c == 'n':
		return vNone, r.word("null")
	case c == 't':
		return vBool | 1, r.word("true")
	case c == 'f':
		return vBool, r.word("false")
	case c == 'N':
		return vNone, r.word("NaN") // Python's json writes it
	default:
		return 0, r.unexpected(c)
	}
}

func (r *jsonReader) word(w string) error {
	b := r.src.take(len(w))
	if b == nil {
		return r.cut()
	}
	if string(b) != w {
		return r.unexpected(b[0])
	}
	return nil
}

func (r *jsonReader) dict(depth int) (value, error) {
	if depth == 0 {
		return 0, errDepth
	}
	r.src.pos++
	d, err := r.object(vDict)
	if err != nil {
		return 0, err
	}
	first := len(r.open)
	for more := r.space() != '}'; more; {
		if c := r.space(); c != '"' {
			return 0, r.unexpected(c)
		}
		if err := r.str(); err != nil {
			return 0, err
		}
		key := vString | value(r.s.strings.intern(r.text))
		if c := r.space(); c != ':' {
			return 0, r.unexpected(c)
		}
		r.src.pos++
		v, err := r.value(depth - 1)
		if err != nil {
			return 0, err
		}
		r.open = append(r.open, key, v)
		if len(r.open)-first >= jsonBatch {
			if err := r.set(d, r.open[first:]); err != nil {
				return 0, err
			}
			r.open = r.open[:first]
		}
		if more, err = r.comma('}'); err != nil {
			return 0, err
		}
	}
	r.src.pos++
	err = r.set(d, r.open[first:])
	r.open = r.open[:first]
	return d, err
}

func (r *jsonReader) list(depth int) (value, error) {
	if depth == 0 {
		return 0, errDepth
	}
	r.src.pos++
	l, err := r.object(vList)
	if err != nil {
		return 0, err
	}
	first := len(r.open)
	for more := r.space() != ']'; more; {
		v, err := r.value(depth - 1)
		if err != nil {
			return 0, err
		}
		r.open = append(r.open, v)
		if len(r.open)-first >= jsonBatch {
			if err := r.append(l, r.open[first:]); err != nil {
				return 0, err
			}
			r.open = r.open[:first]
		}
		if more, err = r.comma(']'); err != nil {
			return 0, err
		}
	}
	r.src.pos++
	err = r.append(l, r.open[first:])
	r.open = r.open[:first]
	return l, err
}

// comma takes a comma, or finds the end, which it leaves.
func (r *jsonReader) comma(end byte) (more bool, err error) {
	switch c := r.space(); c {
	case ',':
		r.src.pos++
		return true, nil
	case end:
		return false, nil
	default:
		return false, r.unexpected(c)
	}
}

// str reads a string into r.text, of which it keeps maxString bytes.
func (r *jsonReader) str() error {
	r.src.pos++
	r.text = r.text[:0]
	for {
		if r.src.pos == r.src.end && !r.src.fill(1) {
			return r.cut()
		}
		from := r.src.pos
		for r.src.pos < r.src.end && r.src.buf[r.src.pos] != '"' && r.src.buf[r.src.pos] != '\\' {
			r.src.pos++
		}
		r.keep(r.src.buf[from:r.src.pos])
		if r.src.pos == r.src.end {
			continue
		}
		r.src.pos++
		if r.src.buf[r.src.pos-1] == '"' {
			return nil
		}
		if err := r.escape(); err != nil {
			return err
		}
	}
}

func (r *jsonReader) keep(b []byte) {
	if room := maxString + 1 - len(r.text); room > 0 {
		r.text = append(r.text, b[:min(len(b), room)]...)
	}
}

func (r *jsonReader) escape() error {
	b := r.src.take(1)
	if b == nil {
		return r.cut()
	}
	switch b[0] {
	case 'n':
		r.keep([]byte{'\n'})
	case 't':
		r.keep([]byte{'\t'})
	case 'r':
		r.keep([]byte{'\r'})
	case 'b':
		r.keep([]byte{'\b'})
	case 'f':
		r.keep([]byte{'\f'})
	case '"', '\\', '/':
		r.keep(b)
	case 'u':
		c, err := r.hex()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(c) {
			low := r.src.take(2)
			if low == nil {
				return r.cut()
			}
			if low[0] != '\\' || low[1] != 'u' { // half a character: it stays one
				r.src.pos -= 2
			} else {
				second, err := r.hex()
				if err != nil {
					return err
				}
				c = utf16.DecodeRune(c, second)
			}
		}
		r.keep(utf8.AppendRune(nil, c))
	default:
		return r.unexpected(b[0])
	}
	return nil
}

func (r *jsonReader) hex() (rune, error) {
	b := r.src.take(4)
	if b == nil {
		return 0, r.cut()
	}
	n, err := strconv.ParseUint(string(b), 16, 16)
	if err != nil {
		return 0, errors.New("a bad escape in JSON")
	}
	return rune(n), nil
}

const maxNumeral = 400 // characters; Python writes floats with 17 digits

func (r *jsonReader) numeral() (value, error) {
	r.text = r.text[:0]
	whole := true
	for {
		if r.src.pos == r.src.end && !r.src.fill(1) {
			break
		}
		c := r.src.buf[r.src.pos]
		if c == '.' || c == 'e' || c == 'E' || c == '+' {
			whole = false
		} else if c != '-' && (c < '0' || c > '9') {
			break
		}
		if len(r.text) == maxNumeral {
			return 0, errors.New("a number without end")
		}
		r.text = append(r.text, c)
		r.src.pos++
	}
	text := string(r.text)
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return r.number(n), nil
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			r.wide = append(r.wide, wideInt{n, false})
			return vWide | value(len(r.wide)-1), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("a bad number in JSON: %.40q", text)
	}
	return r.float(f), nil
}
