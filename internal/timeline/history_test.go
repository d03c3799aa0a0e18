package timeline

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// arena is a program with segments: an allocator that is right by construction.
type arena struct {
	*program
	segments map[uint64]uint64 // address to size
	owner    map[uint64]uint64 // block to segment
}

const arenaSegment = 8 << 20

func newArena() *arena {
	return &arena{newProgram(), map[uint64]uint64{}, map[uint64]uint64{}}
}

// grow allocates a segment with room for one block at its start.
func (a *arena) grow(stack snapshot.StackID) uint64 {
	addr := a.next
	a.next += arenaSegment + 4096
	a.segments[addr] = arenaSegment
	a.event(snapshot.SegmentAlloc, addr, arenaSegment, stack, "")
	return addr
}

// sealed writes the segments as they are at the end.
func (a *arena) sealed() {
	for addr, size := range a.segments {
		g := snapshot.Segment{Addr: addr, Size: size}
		for block, e := range a.live {
			if a.owner[block] == addr {
				g.Blocks = append(g.Blocks, snapshot.Block{Addr: block, Size: (e.Size + 511) &^ 511, Requested: e.Size, State: snapshot.Allocated, Stack: e.Stack})
			}
		}
		slices.SortFunc(g.Blocks, func(x, y snapshot.Block) int { return int(x.Addr) - int(y.Addr) })
		g.Blocks = g.Tiled()
		a.d.Segments = append(a.d.Segments, g)
	}
	slices.SortFunc(a.d.Segments, func(x, y snapshot.Segment) int { return int(x.Addr) - int(y.Addr) })
}

// random makes a trace and what was live after each event.
func random(t *rapid.T) (*arena, []map[uint64]uint64) {
	a := newArena()
	stacks := []snapshot.StackID{0}
	for _, f := range []string{"a.py", "b.py", "c.py"} {
		stacks = append(stacks, a.s.StackOf([]snapshot.FrameID{a.s.FrameOf(f, 1, "f")}))
	}
	truth := []map[uint64]uint64{{}}
	note := func() {
		m := map[uint64]uint64{}
		for addr, e := range a.live {
			m[addr] = e.Size
		}
		for len(truth) <= a.d.Trace.Len() {
			truth = append(truth, m)
		}
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		stack := rapid.SampledFrom(stacks).Draw(t, "stack")
		addrs := make([]uint64, 0, len(a.live))
		for addr := range a.live {
			addrs = append(addrs, addr)
		}
		slices.Sort(addrs)
		if len(addrs) > 0 && rapid.Bool().Draw(t, "free") {
			addr := rapid.SampledFrom(addrs).Draw(t, "which")
			e := a.live[addr]
			a.event(snapshot.FreeRequested, addr, e.Size, e.Stack, "")
			note()
			delete(a.live, addr)
			a.event(snapshot.FreeCompleted, addr, e.Size, e.Stack, "")
			if rapid.Bool().Draw(t, "unmap") && !slices.Contains(mapValues(a.owner, a.live), a.owner[addr]) {
				segment := a.owner[addr]
				delete(a.segments, segment)
				a.event(snapshot.SegmentFree, segment, arenaSegment, stack, "")
			}
			note()
			continue
		}
		// In a segment that has room behind its last block, or in a new one.
		size := uint64(rapid.IntRange(1, 1<<20).Draw(t, "size"))
		var addr, segment uint64
		for g := range a.segments {
			end := g
			for block, e := range a.live {
				if a.owner[block] == g {
					end = max(end, block+(e.Size+511)&^511)
				}
			}
			if end+(size+511)&^511 <= g+arenaSegment && (segment == 0 || g < segment) {
				addr, segment = end, g
			}
		}
		if segment == 0 {
			segment = a.grow(stack)
			addr = segment
			note()
		}
		a.owner[addr] = segment
		a.live[addr] = snapshot.Event{Size: size, Stack: stack}
		a.event(snapshot.Alloc, addr, size, stack, "")
		note()
	}
	a.sealed()
	return a, truth
}

func mapValues(owner map[uint64]uint64, live map[uint64]snapshot.Event) []uint64 {
	var list []uint64
	for addr := range live {
		list = append(list, owner[addr])
	}
	return list
}

// A trace of which only the end is left tells the same live memory at every
// instant, because the segments and the frees show what was there before.
func TestLiveAtEveryInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, truth := random(t)
		lost := rapid.IntRange(0, a.d.Trace.Len()).Draw(t, "lost")
		d := *a.d
		d.Trace = snapshot.Trace{}
		for _, e := range a.d.Trace.Range(lost, a.d.Trace.Len()) {
			d.Trace.Append(e)
		}
		h := New(a.s, &d)
		if d.Trace.Len() > 0 && len(h.Warnings) > 0 && !strings.Contains(strings.Join(h.Warnings, ""), "stack") {
			t.Errorf("warnings of a trace in order: %q", h.Warnings)
		}
		var peak, tracePeak uint64
		for i := lost; i < len(truth); i++ {
			got := map[uint64]uint64{}
			var bytes, traced uint64
			for _, b := range h.LiveAt(i - lost) {
				got[b.Addr] = b.Asked
				bytes += b.Asked
				if b.Start >= 0 {
					traced += b.Asked
				}
			}
			if diff := cmp.Diff(truth[i], got); diff != "" {
				t.Fatalf("instant %d of %d, %d events lost: %s", i-lost, d.Trace.Len(), lost, diff)
			}
			peak, tracePeak = max(peak, bytes), max(tracePeak, traced)
		}
		if h.PeakBytes != peak || h.TracePeak != tracePeak {
			t.Errorf("peak %d, trace peak %d; want %d, %d", h.PeakBytes, h.TracePeak, peak, tracePeak)
		}
		var at uint64
		for _, b := range h.LiveAt(h.PeakAt) {
			at += b.Asked
		}
		if at != peak {
			t.Errorf("%d bytes live at the peak's instant, the peak is %d", at, peak)
		}
	})
}

// Whatever part is cut out, it is a snapshot that every other reader takes, and it
// says the same of its instants.
func TestTrim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, truth := random(t)
		n := a.d.Trace.Len()
		from := rapid.IntRange(0, n).Draw(t, "from")
		to := rapid.IntRange(from, n).Draw(t, "to")
		h := New(a.s, a.d)
		if rapid.Bool().Draw(t, "without segments") {
			a.d.Segments = nil
		}
		s, madeUp := Trim(a.s, []Window{{h, from, to}})
		if len(a.d.Segments) > 0 && madeUp > 0 {
			t.Errorf("%d segments made up for a trace in order", madeUp)
		}
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		if faults := snapshottest.Check(b.Bytes()); len(faults) > 0 {
			t.Fatalf("events %d to %d of %d: %s", from, to, n, strings.Join(faults, "\n"))
		}
		back, err := snapshot.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Devices) == 0 {
			return
		}
		part := New(back, back.Devices[0])
		for i := from; i <= to; i++ {
			got := map[uint64]uint64{}
			for _, k := range part.LiveAt(i - from) {
				got[k.Addr] = k.Asked
			}
			if diff := cmp.Diff(truth[i], got); diff != "" {
				t.Fatalf("instant %d: %s", i, diff)
			}
		}
	})
}

// A block that its holder dropped and that is not free yet is pending in what is
// kept, and only then.
func TestTrimKeepsStates(t *testing.T) {
	p := newProgram()
	p.event(snapshot.SegmentAlloc, p.next, 8<<20, 0, "")
	a := p.alloc("a.py:1", 4096)
	p.event(snapshot.FreeRequested, a, 4096, 0, "")
	p.free(a)
	h := New(p.s, p.d)
	for to, want := range map[int]snapshot.BlockState{2: snapshot.Allocated, 3: snapshot.PendingFree} {
		s, _ := Trim(p.s, []Window{{h, 0, to}})
		if blocks := s.Devices[0].Segments[0].Blocks; len(blocks) != 1 || blocks[0].State != want {
			t.Errorf("after %d events: %+v, want one block that is %v", to, blocks, want)
		}
	}
}

// Free bytes, holes and what is reserved agree with each other and, at the end,
// with the segments.
func TestFragmentation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, truth := random(t)
		h := New(a.s, a.d)
		for i := range truth {
			f := h.Fragmentation(i)
			var live uint64
			for _, size := range truth[i] {
				live += (size + 511) &^ 511
			}
			if f.Free+live != h.ReservedAt(i) || f.LargestHole > f.Free || f.Unplaced != 0 || f.Releasable > f.Free {
				t.Fatalf("instant %d: free %d and live %d of %d reserved, largest hole %d, releasable %d, %d unplaced",
					i, f.Free, live, h.ReservedAt(i), f.LargestHole, f.Releasable, f.Unplaced)
			}
		}
		last, now := h.Fragmentation(len(truth)-1), h.FragmentationNow()
		if last.Free != now.Free || last.LargestHole != now.LargestHole || last.Releasable != now.Releasable || last.Holes != now.Holes {
			t.Errorf("at the trace's end %d free, hole %d of %d; in the segments %d, %d of %d", last.Free, last.LargestHole, last.Holes, now.Free, now.LargestHole, now.Holes)
		}
	})
}

// Traces that do not hold together: a figure for what they show, and a word on
// what is missing.
func TestDoubts(t *testing.T) {
	tests := map[string]struct {
		run  func(p *program)
		want string
		live uint64
	}{
		"lost free": {func(p *program) {
			p.next = 4096
			p.alloc("a.py:1", 100)
			p.next = 4096
			p.alloc("a.py:1", 50)
		}, "free", 50},
		"double free": {func(p *program) {
			a := p.alloc("a.py:1", 100)
			p.free(a)
			p.event(snapshot.FreeCompleted, a, 100, 0, "")
		}, "not live", 0},
		"free of older memory": {func(p *program) { p.event(snapshot.FreeCompleted, 4096, 100, 0, "") }, "", 0},
		"requests alone":       {func(p *program) { p.event(snapshot.FreeRequested, p.alloc("a.py:1", 100), 100, 0, "") }, "no free_completed", 0},
		"time goes back": {func(p *program) {
			p.alloc("a.py:1", 100)
			p.now -= 1000
			p.alloc("a.py:1", 100)
		}, "backward", 200},
		"no stacks": {func(p *program) { p.event(snapshot.Alloc, 4096, 7, 0, "") }, "no allocation has a stack", 7},
		"wrapped": {func(p *program) {
			p.d.Overflowed = true
			p.alloc("a.py:1", 1)
		}, "wrapped", 1},
		"outside": {func(p *program) {
			p.d.Segments = []snapshot.Segment{{Addr: 1 << 20, Size: 1 << 20}}
			p.free(p.alloc("a.py:1", 64))
		}, "in no segment", 0},
		"freed and active": {func(p *program) {
			p.d.Segments = []snapshot.Segment{{Addr: 1 << 40, Size: 512, Blocks: []snapshot.Block{{Addr: 1 << 40, Size: 512, Requested: 64, State: snapshot.Allocated}}}}
			p.free(p.alloc("a.py:1", 64))
		}, "1 blocks are active in the segments, but the trace freed them", 0},
		"cut": {func(p *program) {
			p.d.Segments = []snapshot.Segment{{Addr: 1 << 40, Size: 1 << 20}}
			p.alloc("a.py:1", 64)
		}, "the trace ends with 64 bytes live", 64},
	}
	for name, test := range tests {
		p := newProgram()
		test.run(p)
		h := New(p.s, p.d)
		if got := strings.Join(h.Warnings, "\n"); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", name, got, test.want)
		}
		if h.EndBytes != test.live {
			t.Errorf("%s: %d bytes live at the end, want %d", name, h.EndBytes, test.live)
		}
	}
}

func TestFailures(t *testing.T) {
	// Two segments of 8 MiB, in each a block in the middle; 6 MiB on the device.
	build := func(asked uint64) *History {
		p := newProgram()
		const a, b = 1 << 40, 1<<40 + 64<<20
		p.event(snapshot.SegmentAlloc, a, 8<<20, 0, "")
		p.event(snapshot.SegmentAlloc, b, 8<<20, 0, "")
		p.next = a + 4<<20
		p.alloc("weights.py:1", 1<<20)
		p.next = b + 4<<20
		p.alloc("cache.py:2", 1<<20)
		p.event(snapshot.OutOfMemory, 6<<20, asked, 0, "")
		p.event(snapshot.Alloc, 5, 5, 0, "")
		return New(p.s, p.d)
	}
	for asked, want := range map[uint64]string{3 << 20: HoleThatFits, 10 << 20: Fragmented, 50 << 20: Exhaustion} {
		h := build(asked)
		if got := h.Failures(); !slices.Equal(got, []int{4}) {
			t.Fatalf("failures %v, want [4]", got)
		}
		f := h.Failure(4)
		if f.Verdict != want || f.LargestHole != 4<<20 || f.Free != 14<<20 || f.DeviceFree != 6<<20 || len(f.Live) != 2 {
			t.Errorf("%d bytes: %s, hole %d of %d free, %d on the device, %d live; want %s", asked, f.Verdict, f.LargestHole, f.Free, f.DeviceFree, len(f.Live), want)
		}
		if want == Exhaustion && f.Missing != 30<<20 {
			t.Errorf("missing %d, want %d", f.Missing, 30<<20)
		}
	}
}

// What can be computed again is released first, the model last, and no more than
// is needed.
func TestRelease(t *testing.T) {
	s := snapshot.New()
	block := func(kind string, size uint64) Block { return Block{Asked: size, Size: size, Category: s.Intern(kind)} }
	f := Failure{Verdict: Exhaustion, Live: []Block{block("parameter", 900), block("gradient", 20), block("activation", 10), block("activation", 5)}}
	for missing, want := range map[uint64][]string{1: {"activation"}, 15: {"activation"}, 16: {"activation", "gradient"}, 36: {"activation", "gradient", "parameter"}, 5000: {"activation", "gradient", "parameter"}} {
		f.Missing = missing
		var got []string
		for _, h := range f.Release(NewNames(s)) {
			got = append(got, h.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes missing: %v, want %v", missing, got, want)
		}
	}
}

func TestSites(t *testing.T) {
	s := snapshot.New()
	n := NewNames(s)
	stack := func(frames ...[2]string) snapshot.StackID {
		var ids []snapshot.FrameID
		for i, f := range frames {
			ids = append(ids, s.FrameOf(f[0], int32(i+1), f[1]))
		}
		return s.StackOf(ids)
	}
	for want, id := range map[string]snapshot.StackID{
		NoStack: 0,
		"/home/me/model.py:3 forward": stack([2]string{"??", "c10::alloc"}, [2]string{"/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", "forward"},
			[2]string{"/home/me/model.py", "forward"}, [2]string{"/home/me/train.py", "main"}),
		"/opt/site-packages/lib/x.py:2 f":                 stack([2]string{"/opt/site-packages/torch/a.py", "g"}, [2]string{"/opt/site-packages/lib/x.py", "f"}, [2]string{"/usr/lib/python3.12/runpy.py", "run"}),
		"CUDACachingAllocator.cpp malloc":                 0,
		"c10::only()":                                     stack([2]string{"??", "c10::only()"}),
		"/src/main.go:2 main.train":                       stack([2]string{"/src/ebb/tensor.go", "github.com/ebb-ml/ebb.(*Tensor).MatMul"}, [2]string{"/src/main.go", "main.train"}),
		"/e/train.go:2 github.com/ebb-ml/ebb/cmd/ebb.run": stack([2]string{"/e/nn.go", "github.com/ebb-ml/ebb/nn.Call"}, [2]string{"/e/train.go", "github.com/ebb-ml/ebb/cmd/ebb.run"}),
	} {
		if id == 0 && want != NoStack {
			f := s.StackOf([]snapshot.FrameID{s.FrameOf("CUDACachingAllocator.cpp", 0, "malloc")})
			id = f
		}
		if got := n.Site(id); got != want {
			t.Errorf("site %q, want %q", got, want)
		}
	}
	b := Block{Metadata: s.Intern("op=MatMul module=fc1 dtype=float32")}
	if n.Module(&b) != "fc1" || n.Label(&b, "dtype") != "float32" || n.Label(&b, "owner") != "" {
		t.Errorf("module %q, dtype %q", n.Module(&b), n.Label(&b, "dtype"))
	}
}

func TestDiff(t *testing.T) {
	key := func(b *Block) string { return map[uint64]string{1: "a", 2: "b", 3: "c"}[b.Addr] }
	before := []Block{{Addr: 1, Size: 10}, {Addr: 2, Size: 5}, {Addr: 3, Size: 1}}
	after := []Block{{Addr: 1, Size: 10}, {Addr: 1, Size: 30}, {Addr: 3, Size: 1}}
	got := Diff(before, after, key, key)
	want := []Difference{
		{Key: "a", Bytes: 30, Count: 1, Before: 10, After: 40, BeforeCount: 1, AfterCount: 2},
		{Key: "b", Bytes: -5, Count: -1, Before: 5, After: 0, BeforeCount: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
