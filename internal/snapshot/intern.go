package snapshot

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"
)

// StringID stands for a string in one snapshot; 0 is the empty string.
type StringID uint32

// FrameID stands for a [Frame] in one snapshot.
type FrameID uint32

// StackID stands for a call stack in one snapshot; 0 is the empty one, which
// also means that none was recorded.
type StackID uint32

// Frame is one level of a call stack.
type Frame struct {
	File, Name StringID
	Line       int32
}

const (
	maxString = 64 << 10 // bytes kept of a string
	maxStack  = 4096     // frames kept of a stack, the innermost
)

// String returns the text of an id, which may hold any characters.
func (s *Snapshot) String(id StringID) string {
	if int(id) >= len(s.strings.list) {
		return ""
	}
	return s.strings.list[id]
}

// Intern returns the id of a text. Beyond 64 KiB it is cut.
func (s *Snapshot) Intern(text string) StringID { return s.strings.intern([]byte(text)) }

// NumStrings returns how many strings there are; their ids are below.
func (s *Snapshot) NumStrings() int { return len(s.strings.list) }

// Frame returns the frame of an id.
func (s *Snapshot) Frame(id FrameID) Frame {
	if int(id) >= len(s.frames.list) {
		return Frame{}
	}
	return s.frames.list[id]
}

// FrameOf interns a frame.
func (s *Snapshot) FrameOf(file string, line int32, name string) FrameID {
	return s.frames.intern(Frame{File: s.Intern(file), Name: s.Intern(name), Line: line})
}

// Stack returns the frames of a stack, innermost first. They must not be changed.
func (s *Snapshot) Stack(id StackID) []FrameID { return s.stacks.at(id) }

// StackOf interns a stack, innermost frame first.
func (s *Snapshot) StackOf(frames []FrameID) StackID { return s.stacks.intern(frames) }

// NumStacks returns how many stacks there are; their ids are below.
func (s *Snapshot) NumStacks() int { return s.stacks.n() }

type stringTable struct {
	list []string
	ids  map[string]StringID
}

func (t *stringTable) init() {
	t.list = []string{""}
	t.ids = map[string]StringID{"": 0}
}

func (t *stringTable) intern(b []byte) StringID {
	if id, ok := t.ids[string(b)]; ok {
		return id
	}
	text := string(b)
	if len(text) > maxString || !utf8.ValidString(text) {
		if len(text) > maxString {
			text = text[:maxString]
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		if id, ok := t.ids[text]; ok {
			return id
		}
	}
	id := StringID(len(t.list))
	t.list = append(t.list, text)
	t.ids[text] = id
	return id
}

type frameTable struct {
	list []Frame
	ids  map[Frame]FrameID
}

func (t *frameTable) init() { t.ids = map[Frame]FrameID{} }

func (t *frameTable) intern(f Frame) FrameID {
	id, ok := t.ids[f]
	if !ok {
		id = FrameID(len(t.list))
		t.list = append(t.list, f)
		t.ids[f] = id
	}
	return id
}

// stackTable keeps the frames of all stacks one after another. The hash is
// seeded anew in every process, so that no file can be made to collide.
type stackTable struct {
	frames []FrameID
	ends   []uint64 // where the stack after the ith begins
	first  map[uint64]StackID
	next   []StackID // of the same hash
	seed   maphash.Seed
	bytes  []byte
}

func (t *stackTable) init() {
	t.ends = []uint64{0}
	t.next = []StackID{0}
	t.first = map[uint64]StackID{}
	t.seed = maphash.MakeSeed()
}

func (t *stackTable) n() int { return len(t.ends) }

func (t *stackTable) at(id StackID) []FrameID {
	if id == 0 || int(id) >= len(t.ends) {
		return nil
	}
	return t.frames[t.ends[id-1]:t.ends[id]:t.ends[id]]
}

func (t *stackTable) intern(frames []FrameID) StackID {
	frames = frames[:min(len(frames), maxStack)]
	if len(frames) == 0 {
		return 0
	}
	t.bytes = t.bytes[:0]
	for _, f := range frames {
		t.bytes = binary.LittleEndian.AppendUint32(t.bytes, uint32(f))
	}
	hash := maphash.Bytes(t.seed, t.bytes)
	head := t.first[hash]
	for id := head; id != 0; id = t.next[id] {
		if slices.Equal(t.at(id), frames) {
			return id
		}
	}
	id := StackID(len(t.ends))
	t.frames = append(t.frames, frames...)
	t.ends = append(t.ends, uint64(len(t.frames)))
	t.next = append(t.next, head)
	t.first[hash] = id
	return id
}
