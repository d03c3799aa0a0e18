package snapshot

import (
	"strconv"
	"strings"
)

// text returns a value as text. Dicts, which some writers use for metadata, come
// out as "key: value" with a bounded length.
func (b *builder) text(v value) StringID {
	if v.kind() == vString {
		return StringID(v.index())
	}
	if v.kind() == vNone {
		return 0
	}
	id, ok := b.texts[v]
	if !ok { // once for each, however often the file refers to it
		var t strings.Builder
		b.render(&t, v, 2)
		id = b.s.Intern(t.String())
		b.texts[v] = id
	}
	return id
}

const maxRendered = 4 << 10

func (b *builder) render(t *strings.Builder, v value, depth int) {
	if t.Len() >= maxRendered {
		return
	}
	v = b.resolve(v)
	switch v.kind() {
	case vNone:
		t.WriteString("None")
	case vBool:
		if v.int() != 0 {
			t.WriteString("True")
		} else {
			t.WriteString("False")
		}
	case vInt:
		t.WriteString(strconv.FormatInt(v.int(), 10))
	case vWide:
		if w := b.wide[v.index()]; w.negative {
			t.WriteString(strconv.FormatInt(int64(w.bits), 10))
		} else {
			t.WriteString(strconv.FormatUint(w.bits, 10))
		}
	case vFloat:
		t.WriteString(strconv.FormatFloat(b.floats[v.index()], 'g', -1, 64))
	case vString:
		s := b.s.String(StringID(v.index()))
		t.WriteString(s[:min(len(s), maxRendered)])
	case vPair:
		p := v.pair()
		t.WriteString(strconv.FormatInt(p[0], 10) + ", " + strconv.FormatInt(p[1], 10))
	case vList:
		if l := b.list(v); l != nil && depth > 0 {
			first := true
			l.each(func(item value) bool {
				if !first {
					t.WriteString(", ")
				}
				first = false
				b.render(t, item, depth-1)
				return t.Len() < maxRendered
			})
		}
	case vPlain:
		if depth == 0 {
			t.WriteString("...")
			return
		}
		items := b.plain[v.index()]
		for i := 0; i+1 < len(items) && t.Len() < maxRendered; i += 2 {
			if i > 0 {
				t.WriteString(", ")
			}
			b.render(t, items[i], 0)
			t.WriteString(": ")
			b.render(t, items[i+1], depth-1)
		}
	}
}
