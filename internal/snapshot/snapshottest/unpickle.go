// Package snapshottest checks snapshots the way their other readers read them,
// and makes big ones. It shares no code with the reader and writer it checks.
package snapshottest

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Dict and List are what a pickle's containers become; they are compared by
// address, as Python's are.
type (
	Dict struct{ Items map[string]any }
	List struct{ Items []any }
)

// Unpickle reads a pickle as PyTorch's web viewer does: it knows the opcodes that
// one knows and no other, and refuses a list that is extended by more than 1,000
// items at once. Numbers are int64 or, beyond them, uint64.
func Unpickle(data []byte) (any, error) {
	u := &unpickler{data: data}
	for {
		done, err := u.step()
		if err != nil {
			return nil, fmt.Errorf("at byte %d: %w", u.at, err)
		}
		if done {
			if len(u.stack) != 1 || u.at != len(data) {
				return nil, fmt.Errorf("%d objects and %d bytes are left", len(u.stack), len(data)-u.at)
			}
			return u.stack[0], nil
		}
	}
}

type unpickler struct {
	data  []byte
	at    int
	stack []any
	memo  []any
}

type mark struct{}

func (u *unpickler) bytes(n int) []byte {
	b := u.data[u.at : u.at+n]
	u.at += n
	return b
}

func (u *unpickler) pop() any {
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v
}

func (u *unpickler) toMark() []any {
	for i := len(u.stack) - 1; ; i-- {
		if _, ok := u.stack[i].(mark); ok {
			items := append([]any(nil), u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items
		}
	}
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) step() (done bool, err error) {
	defer func() {
		if r := recover(); r != nil { // an index out of range: the pickle is cut or wrong
			err = fmt.Errorf("%v", r)
		}
	}()
	switch op := u.bytes(1)[0]; op {
	case 0x80:
		if p := u.bytes(1)[0]; p < 2 || p > 4 {
			return false, fmt.Errorf("protocol %d", p)
		}
	case 0x95:
		u.bytes(8)
	case '}':
		u.push(&Dict{map[string]any{}})
	case ']':
		u.push(&List{})
	case '(':
		u.push(mark{})
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(op == 0x88)
	case 'K':
		u.push(int64(u.bytes(1)[0]))
	case 'M':
		u.push(int64(binary.LittleEndian.Uint16(u.bytes(2))))
	case 'J':
		u.push(int64(int32(binary.LittleEndian.Uint32(u.bytes(4)))))
	case 'G':
		u.push(math.Float64frombits(binary.BigEndian.Uint64(u.bytes(8))))
	case 0x8a:
		u.push(long(u.bytes(int(u.bytes(1)[0]))))
	case 0x8c:
		u.push(string(u.bytes(int(u.bytes(1)[0]))))
	case 'X':
		u.push(string(u.bytes(int(binary.LittleEndian.Uint32(u.bytes(4))))))
	case 0x94:
		u.memo = append(u.memo, u.stack[len(u.stack)-1])
	case 'h':
		u.push(u.memo[u.bytes(1)[0]])
	case 'j':
		u.push(u.memo[binary.LittleEndian.Uint32(u.bytes(4))])
	case 0x86:
		b, a := u.pop(), u.pop()
		u.push([2]any{a, b})
	case 'e':
		items := u.toMark()
		if len(items) > 1000 {
			return false, fmt.Errorf("a list grows by %d items at once", len(items))
		}
		l := u.stack[len(u.stack)-1].(*List)
		l.Items = append(l.Items, items...)
	case 'u':
		items := u.toMark()
		if len(items) > 2000 {
			return false, fmt.Errorf("a dict grows by %d items at once", len(items)/2)
		}
		d := u.stack[len(u.stack)-1].(*Dict)
		for i := 0; i < len(items); i += 2 {
			d.Items[items[i].(string)] = items[i+1]
		}
	case '.':
		return true, nil
	default:
		return false, fmt.Errorf("opcode %#02x, which the viewer does not know", op)
	}
	return false, nil
}

func long(b []byte) any {
	var n uint64
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	if len(b) == 9 {
		return n
	}
	if len(b) < 8 && len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n |= math.MaxUint64 << (8 * len(b))
	}
	return int64(n)
}
