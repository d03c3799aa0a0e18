package snapshot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// describe writes a snapshot out in full, so that two can be compared.
func describe(s *Snapshot) string {
	var b strings.Builder
	stack := func(id StackID) string {
		var parts []string
		for _, f := range s.Stack(id) {
			v := s.Frame(f)
			parts = append(parts, fmt.Sprintf("%s:%d %s", s.String(v.File), v.Line, s.String(v.Name)))
		}
		return strings.Join(parts, " < ")
	}
	for _, d := range s.Devices {
		fmt.Fprintf(&b, "%s overflowed %v of %d\n", d.Name(), d.Overflowed, d.MaxEntries)
		for i := range d.Segments {
			g := &d.Segments[i]
			fmt.Fprintf(&b, " segment %#x+%d stream %d small %v expandable %v pool %v [%s]\n", g.Addr, g.Size, g.Stream, g.Small, g.Expandable, g.Pool, stack(g.Stack))
			for j := range g.Blocks {
				k := &g.Blocks[j]
				fmt.Fprintf(&b, "  block %#x+%d asked %d %s %q %q [%s]\n", k.Addr, k.Size, k.Requested, k.State, s.String(k.Category), s.String(k.Metadata), stack(k.Stack))
			}
		}
		for _, e := range d.Trace.All() {
			c := s.Class(e.Class)
			fmt.Fprintf(&b, " event %s%s %#x %d at %d stream %d pool %v %v %q %q %q [%s]\n", c.Action, s.String(c.Name), e.Addr, e.Size, e.Time,
				c.Stream, c.Pool, c.HasPool, s.String(c.Context), s.String(c.Metadata), s.String(c.Category), stack(e.Stack))
		}
	}
	fmt.Fprintf(&b, "%v\n%v\n", s.Settings, s.Annotations)
	return b.String()
}

// sample is a snapshot with something of everything.
func sample() *Snapshot {
	s := New()
	d := s.Device(0)
	main, alloc := s.FrameOf("main.py", 10, "main"), s.FrameOf("??", 0, "c10::alloc()")
	fc := s.StackOf([]FrameID{alloc, s.FrameOf("model.py", 7, "forward"), main})
	load := s.StackOf([]FrameID{alloc, s.FrameOf("data.py", 3, "läden"), main})
	class := func(a Action, category, metadata string) ClassID {
		return s.ClassOf(Class{Action: a, Category: s.Intern(category), Metadata: s.Intern(metadata), Pool: [2]int64{0, 0}, HasPool: true})
	}
	const base = 0x7f00_0000_0000
	at := int64(1_771_267_191_145_495)
	event := func(c ClassID, addr, size uint64, stack StackID) {
		at += 3
		d.Trace.Append(Event{Addr: addr, Size: size, Time: at, Stack: stack, Class: c})
	}
	event(class(SegmentAlloc, "", ""), base, 2<<20, load)
	event(class(Alloc, "input", "op=Load dtype=float32"), base, 1000, load)
	event(class(Alloc, "activation", "module=fc1 op=MatMul"), base+1024, 5000, fc)
	event(class(FreeRequested, "activation", ""), base+1024, 5000, fc)
	event(class(FreeCompleted, "activation", ""), base+1024, 5000, fc)
	event(class(Alloc, "activation", "module=fc2"), base+1024, 4096, fc)
	event(class(FreeRequested, "", ""), base+1024, 4096, fc)
	event(s.ClassOf(Class{Action: OutOfMemory}), 12345, 1<<40, fc)
	event(class(Annotate, "", "step 3"), 0, 0, 0)
	d.Segments = []Segment{{
		Addr: base, Size: 2 << 20, Small: true, Stack: load,
		Blocks: []Block{
			{Addr: base, Size: 1024, Requested: 1000, State: Allocated, Stack: load, Category: s.Intern("input")},
			{Addr: base + 1024, Size: 4096, Requested: 4096, State: PendingFree, Stack: fc},
			{Addr: base + 5120, Size: 2<<20 - 5120},
		},
	}}
	other := s.Device(2)
	other.Segments = []Segment{{Addr: base + 1<<30, Size: 20 << 20, Stream: 3, Expandable: true, Pool: [2]int64{0, 7},
		Blocks: []Block{{Addr: base + 1<<30, Size: 20 << 20, Requested: 12 << 20, State: Allocated, Stack: fc}}}}
	s.Settings = []Setting{{"PYTORCH_CUDA_ALLOC_CONF", ""}, {"max_split_size", "-1"}, {"expandable_segments", "False"}, {"garbage_collection_threshold", "0.8"}}
	s.Annotations = []Annotation{{"step 3", true, 0, at - 5}, {"step 3", false, 0, at}}
	return s
}

func written(t testing.TB, s *Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustRead(t testing.TB, data []byte) *Snapshot {
	t.Helper()
	s, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
