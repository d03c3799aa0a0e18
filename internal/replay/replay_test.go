package replay

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
	"pgregory.net/rapid"
)

// PyTorch's rules predict what a real program's allocator did.
func TestPredictsRealTrace(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "snapshots", "cuda_trimmed.pickle")
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real snapshots are not here")
	}
	s, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h := timeline.New(s, s.Devices[0])
	r := Run(h, "pytorch", NewPyTorch(Options{}))
	if r.Addresses != 28 || r.AddressesOf != 28 || r.SegmentsRight != 14 || r.SegmentsRecorded != 14 {
		t.Errorf("predicted %d of %d addresses and %d of %d segments, want 28 and 14", r.Addresses, r.AddressesOf, r.SegmentsRight, r.SegmentsRecorded)
	}
	if r.ReservedPeak != 421_527_552 || r.Asked != 402_752_512 {
		t.Errorf("reserved %d, asked %d; want 421527552 and 402752512", r.ReservedPeak, r.Asked)
	}
	if r := Run(h, "pytorch", NewPyTorch(Options{Capacity: 400 << 20})); r.Fits || r.Failed.Event != 31 {
		t.Errorf("in 400 MiB: fits %v, %+v; want the first small request, of event 31, to fail", r.Fits, r.Failed)
	}
}

func TestRounding(t *testing.T) {
	divided := Options{}
	for i := range divided.Divisions {
		divided.Divisions[i] = 4
	}
	for _, test := range []struct {
		options    Options
		size, want uint64
	}{
		{Options{}, 0, 512}, {Options{}, 1, 512}, {Options{}, 512, 512}, {Options{}, 513, 1024},
		{divided, 1200, 1536}, {divided, 2048, 2048}, {divided, 3000, 3072}, {divided, 5000, 5120}, {divided, 5 << 20, 5 << 20}, {divided, 5<<20 + 1, 6 << 20},
	} {
		if got := test.options.Round(test.size); got != test.want {
			t.Errorf("%d bytes with divisions %d round to %d, want %d", test.size, test.options.Divisions[0], got, test.want)
		}
	}
}

func TestSegmentSizes(t *testing.T) {
	for asked, want := range map[uint64]uint64{1: 2 << 20, 1 << 20: 2 << 20, 1<<20 + 1: 20 << 20, 9 << 20: 20 << 20, 10 << 20: 10 << 20, 10<<20 + 1: 12 << 20, 100<<20 - 5: 100 << 20} {
		p := NewPyTorch(Options{})
		p.Alloc(Request{Size: asked})
		if got := p.Figures().Reserved; got != want {
			t.Errorf("%d bytes reserve %d, want %d", asked, got, want)
		}
	}
}

// Large blocks stay whole where what is left would be 1 MiB or less, and blocks
// of max_split_size are never split.
func TestSplitting(t *testing.T) {
	reserve := func(o Options, sizes ...uint64) uint64 {
		p := NewPyTorch(o)
		for _, s := range sizes {
			p.Alloc(Request{Size: s})
		}
		return p.Figures().Reserved
	}
	if got := reserve(Options{}, 9<<20, 9<<20, 2<<20); got != 20<<20 {
		t.Errorf("three blocks of 20 MiB reserve %d, want one segment", got)
	}
	if got := reserve(Options{}, 19<<20-1, 512); got != 20<<20+2<<20 {
		t.Errorf("a small request shares a large segment: %d reserved", got)
	}
	for asked, want := range map[uint64]uint64{11 << 20: 12 << 20, 11<<20 - 512: 11<<20 - 512} {
		p := NewPyTorch(Options{})
		p.Alloc(Request{Size: asked})
		if got := p.Figures().Live; got != want {
			t.Errorf("%d bytes of a segment of 12 MiB take %d, want %d", asked, got, want)
		}
	}
	p := NewPyTorch(Options{MaxSplit: 64 << 20})
	addr, _ := p.Alloc(Request{Size: 100 << 20})
	p.Free(addr)
	p.Alloc(Request{Size: 32 << 20})
	if got := p.Figures().Reserved; got != 132<<20 {
		t.Errorf("a block of max_split_size served a smaller request: %d reserved, want 132 MiB", got)
	}
}

// Blocks never move between streams.
func TestStreams(t *testing.T) {
	p := NewPyTorch(Options{})
	addr, _ := p.Alloc(Request{Size: 30 << 20, Stream: 1})
	p.Free(addr)
	p.Alloc(Request{Size: 30 << 20, Stream: 2})
	if got := p.Figures().Reserved; got != 60<<20 {
		t.Errorf("%d reserved, want a segment for each stream", got)
	}
}

// At the capacity the cache goes first; expandable segments give back pages
// inside, which segments of fixed size cannot.
func TestCapacity(t *testing.T) {
	pieces := func(a Allocator) bool {
		var addrs []uint64
		for range 10 {
			addr, ok := a.Alloc(Request{Size: 20 << 20})
			if !ok {
				return false
			}
			addrs = append(addrs, addr)
		}
		for i, addr := range addrs {
			if i%2 == 0 {
				a.Free(addr)
			}
		}
		_, ok := a.Alloc(Request{Size: 90 << 20})
		return ok
	}
	o := Options{Capacity: 200 << 20}
	if !pieces(NewPyTorch(o)) {
		t.Error("five free segments of 20 MiB do not make room for 90 MiB")
	}
	if !pieces(NewExpandable(o)) {
		t.Error("five holes of 20 MiB in an expandable segment do not make room for 90 MiB")
	}
	// Every segment of 20 MiB is held open by a block of 9 MiB.
	p := NewPyTorch(Options{Capacity: 220 << 20})
	var addrs []uint64
	for range 20 {
		addr, _ := p.Alloc(Request{Size: 9 << 20})
		addrs = append(addrs, addr)
	}
	for i := 1; i < len(addrs); i += 2 {
		p.Free(addrs[i])
	}
	if f := p.Figures(); f.Reserved != 200<<20 || f.Live != 90<<20 {
		t.Errorf("reserved %d, live %d; want 200 and 90 MiB", f.Reserved, f.Live)
	}
	if _, ok := p.Alloc(Request{Size: 60 << 20}); ok {
		t.Error("memory in pieces met a large request")
	}
}

// What an expandable segment gives back is joined with what it never mapped, and
// handed out once.
func TestPagesGivenBack(t *testing.T) {
	p := NewExpandable(Options{})
	alloc := func() uint64 { addr, _ := p.Alloc(Request{Size: 20 << 20}); return addr }
	first := alloc()
	p.Free(alloc())
	p.EmptyCache()
	if got := p.Figures().Reserved; got != 20<<20 {
		t.Errorf("%d reserved, want the first block's 20 MiB", got)
	}
	for i := range uint64(4) {
		if addr := alloc(); addr != first+(i+1)*20<<20 {
			t.Errorf("block %d lies %d MiB behind the first, want %d", i+1, (addr-first)>>20, (i+1)*20)
		}
	}
	l := p.pools[poolKey{}]
	if n := l.bare.Len(); n != 1 {
		t.Errorf("%d parts that are not mapped, want 1", n)
	}
}

// Whatever is asked for: live blocks do not overlap, what is reserved holds them
// and stays within the capacity, and everything comes back.
func TestModelsHoldTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Capacity: rapid.SampledFrom([]uint64{0, 64 << 20, 256 << 20}).Draw(t, "capacity"),
			MaxSplit: rapid.SampledFrom([]uint64{0, 0, 32 << 20}).Draw(t, "max split"),
		}
		var a Allocator
		switch rapid.IntRange(0, 2).Draw(t, "model") {
		case 0:
			a = NewPyTorch(o)
		case 1:
			a = NewExpandable(o)
		default:
			a = NewEbb(o.Capacity)
		}
		live := map[uint64]uint64{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 9).Draw(t, "op"); {
			case op == 0:
				a.EmptyCache()
			case op < 5 && len(live) > 0:
				addrs := make([]uint64, 0, len(live))
				for addr := range live {
					addrs = append(addrs, addr)
				}
				slices.Sort(addrs)
				addr := rapid.SampledFrom(addrs).Draw(t, "which")
				a.Free(addr)
				delete(live, addr)
			default:
				size := rapid.OneOf(rapid.Uint64Range(0, 1<<20), rapid.Uint64Range(1, 40<<20)).Draw(t, "size")
				addr, ok := a.Alloc(Request{Size: size, Stream: rapid.Uint64Range(0, 1).Draw(t, "stream")})
				if !ok {
					if o.Capacity == 0 {
						t.Fatalf("%d bytes do not fit without a capacity", size)
					}
					continue
				}
				for other, n := range live {
					if addr < other+n && other < addr+size {
						t.Fatalf("%#x+%d overlaps %#x+%d", addr, size, other, n)
					}
				}
				live[addr] = size
			}
			f := a.Figures()
			var sum uint64
			for _, n := range live {
				sum += n
			}
			if f.Live < sum || f.Reserved < f.Live || o.Capacity > 0 && f.Reserved > o.Capacity {
				t.Fatalf("asked %d, live %d, reserved %d, capacity %d", sum, f.Live, f.Reserved, o.Capacity)
			}
		}
		for addr := range live {
			a.Free(addr)
		}
		a.EmptyCache()
		if f := a.Figures(); f.Live != 0 || f.Reserved != 0 {
			t.Errorf("all freed and emptied: live %d, reserved %d", f.Live, f.Reserved)
		}
	})
}

// The cache is emptied where the program did it, and not where the allocator did
// for want of memory.
func TestEmptyCacheIsReplayed(t *testing.T) {
	for name, want := range map[string]uint64{"empty_cache": 0, "malloc": 20 << 20} {
		s := snapshot.New()
		d := s.Device(0)
		stack := s.StackOf([]snapshot.FrameID{s.FrameOf("torch/cuda/memory.py", 1, name)})
		event := func(a snapshot.Action, size uint64) {
			d.Trace.Append(snapshot.Event{Addr: 1 << 30, Size: size, Stack: stack, Class: s.ClassOf(snapshot.Class{Action: a})})
		}
		event(snapshot.SegmentAlloc, 20<<20)
		event(snapshot.Alloc, 5<<20)
		event(snapshot.FreeCompleted, 5<<20)
		event(snapshot.SegmentFree, 20<<20)
		if r := Run(timeline.New(s, d), "pytorch", NewPyTorch(Options{})); r.ReservedEnd != want || r.SegmentsRight != 1 {
			t.Errorf("%s: %d reserved at the end, want %d", name, r.ReservedEnd, want)
		}
	}
}
