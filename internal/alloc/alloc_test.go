package alloc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

func memory(b *Block) []byte { return unsafe.Slice((*byte)(b.Pointer()), b.Size()) }

func mustAlloc(t testing.TB, a *Allocator, n int) *Block {
	t.Helper()
	b, err := a.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustClose(t testing.TB, a *Allocator) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if s := a.Stats(); s.Mapped != 0 || s.InUse != 0 || s.Free != 0 || s.Segments != 0 || s.Blocks != 0 || s.LargestHole != 0 {
		t.Fatalf("closed, and still %+v", s)
	}
}

func TestBlock(t *testing.T) {
	a := New()
	seen := map[uint64]int{}
	var bs []*Block
	for _, n := range []int{0, 0, 1, 63, 64, 65, 4095, 4096, 1<<20 - 1, 1 << 20, 1<<20 + 1, 4 << 20, 9<<20 + 7} {
		b := mustAlloc(t, a, n)
		bs = append(bs, b)
		if want := max(64, (n+63)/64*64); b.Size() != want {
			t.Errorf("Alloc(%d) has size %d, want %d", n, b.Size(), want)
		}
		if b.Pointer() == nil || b.Addr()%64 != 0 || uint64(uintptr(b.Pointer())) != b.Addr() {
			t.Errorf("Alloc(%d) lies at %p, Addr %#x", n, b.Pointer(), b.Addr())
		}
		if was, ok := seen[b.Addr()]; ok {
			t.Errorf("Alloc(%d) has the address of Alloc(%d)", n, was)
		}
		seen[b.Addr()] = n
		m := memory(b)
		for i := range m {
			m[i] = byte(n)
		}
	}
	for _, b := range bs {
		m := memory(b)
		if !bytes.Equal(m, bytes.Repeat(m[:1], len(m))) {
			t.Errorf("the block of %d bytes was overwritten", b.Size())
		}
		a.Free(b)
	}
	mustClose(t, a)
}

func TestImpossibleSizes(t *testing.T) {
	a := New()
	defer mustClose(t, a)
	for _, n := range []int{-1, -64, math.MinInt, math.MaxInt, math.MaxInt - 1, math.MaxInt - 64, 1<<46 + 1, 1 << 62} {
		b, err := a.Alloc(n)
		var oom *OutOfMemoryError
		if b != nil || !errors.As(err, &oom) || oom.Asked != int64(n) || oom.Cause == nil || oom.Rounded < 0 {
			t.Errorf("Alloc(%d) = %v, %v", n, b, err)
		}
	}
	// A size the system must refuse: all that a process can address.
	if _, err := a.Alloc(1 << 46); err == nil {
		t.Error("64 TiB were granted")
	}
	if s := a.Stats(); s.NumOOMs != 9 || s.Mapped != 0 {
		t.Errorf("%+v", s)
	}
}

// Random calls on real memory: what was written stays, whatever happens around it.
func TestContent(t *testing.T) {
	a := New()
	a.SetLimit(96 << 20)
	r := rand.New(rand.NewPCG(3, 4))
	type held struct {
		b    *Block
		fill byte
	}
	var live []held
	var sum int64
	drop := func(i int) {
		h := live[i]
		m := memory(h.b)
		if !bytes.Equal(m, bytes.Repeat([]byte{h.fill}, len(m))) {
			t.Fatalf("the block of %d bytes at %#x was overwritten", h.b.Size(), h.b.Addr())
		}
		sum -= int64(h.b.Size())
		a.Free(h.b)
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
	}
	steps := 4000
	if raceEnabled {
		steps = 1500 // every byte costs there
	}
	for step := range steps {
		switch {
		case step%500 == 499:
			a.EmptyCache()
		case len(live) > 0 && r.IntN(len(live)+60) > 60:
			drop(r.IntN(len(live)))
		default:
			b, err := a.Alloc(r.IntN(1 << (4 + r.IntN(18))))
			if err != nil {
				var oom *OutOfMemoryError
				if !errors.As(err, &oom) || oom.Limit != 96<<20 || oom.Mapped > oom.Limit || oom.Fits >= oom.Rounded {
					t.Fatal(err)
				}
				for range len(live) / 2 {
					drop(r.IntN(len(live)))
				}
				continue
			}
			h := held{b, byte(step%255 + 1)}
			m := memory(b)
			for i := range m {
				m[i] = h.fill
			}
			live, sum = append(live, h), sum+int64(b.Size())
		}
		s := a.Stats()
		if s.InUse != sum || s.Blocks != int64(len(live)) || s.Mapped > 96<<20 || s.MappedPeak > 96<<20 {
			t.Fatalf("%d bytes in %d blocks are live: %+v", sum, len(live), s)
		}
	}
	for len(live) > 0 {
		drop(0)
	}
	if err := audit(&a.plan); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
}

// For every n, failing the nth request leaves all but the cache as it was.
func TestFailNth(t *testing.T) {
	sizes := []int{10, 1 << 20, 0, 5 << 20, 300 << 10, 10, 2 << 20}
	for n := 1; n <= len(sizes)+1; n++ {
		a := New()
		keep := mustAlloc(t, a, 100)
		before := a.Stats()
		a.FailNth(n)
		var got []*Block
		for i, size := range sizes {
			b, err := a.Alloc(size)
			if failed := err != nil; failed != (i+1 == n) {
				t.Fatalf("FailNth(%d): request %d: %v", n, i+1, err)
			}
			if err != nil {
				var oom *OutOfMemoryError
				if !errors.As(err, &oom) || oom.Asked != int64(size) || oom.Cause == nil || oom.Mapped != a.Stats().Mapped {
					t.Fatalf("%#v", err)
				}
				break
			}
			got = append(got, b)
		}
		for _, b := range got {
			a.Free(b)
		}
		after := a.Stats()
		if after.InUse != before.InUse || after.Blocks != before.Blocks || after.Mapped != after.Free+before.Mapped-before.Free {
			t.Fatalf("FailNth(%d): before %+v, after %+v", n, before, after)
		}
		a.FailNth(1)
		a.FailNth(0)
		a.Free(mustAlloc(t, a, 1))
		a.Free(keep)
		mustClose(t, a)
	}
}

func TestLimit(t *testing.T) {
	a := New()
	a.SetLimit(8 << 20)
	big := mustAlloc(t, a, 5<<20)
	_, err := a.Alloc(4 << 20)
	var oom *OutOfMemoryError
	if !errors.As(err, &oom) {
		t.Fatal(err)
	}
	if oom.Cause != nil || oom.Asked != 4<<20 || oom.Rounded != 4<<20 || oom.Limit != 8<<20 || oom.Mapped != a.Stats().Mapped {
		t.Errorf("%#v", oom)
	}
	if want := "out of memory: asked for 4194304 bytes (mapped "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("message %q", err)
	}
	fit := mustAlloc(t, a, int(oom.Fits)) // it says what would fit, and it does
	if _, err := a.Alloc(int(oom.Fits)); err == nil {
		t.Error("it fits twice")
	}
	a.Free(fit)
	a.Free(big)

	// The cache makes way: no hole is large enough, and the segments are unmapped.
	whole := mustAlloc(t, a, 8<<20-2*int(pageSize))
	if s := a.Stats(); s.Mapped > 8<<20 || s.NumRetries == 0 || s.NumOOMs != 2 {
		t.Errorf("%+v", s)
	}

	// A lower limit takes effect on the cache at once, and on blocks when they are freed.
	a.SetLimit(1 << 20)
	if _, err := a.Alloc(1); err == nil {
		t.Error("allocated over the limit")
	}
	a.Free(whole)
	if s := a.Stats(); s.Mapped != 0 {
		t.Errorf("over the limit and free, yet cached: %+v", s)
	}
	a.Free(mustAlloc(t, a, 1000))
	if s := a.Stats(); s.Mapped == 0 {
		t.Error("under the limit and free, yet not cached")
	}
	a.SetLimit(-1)
	a.Free(mustAlloc(t, a, 2<<20))
	a.SetLimit(1)
	if s := a.Stats(); s.Mapped != 0 {
		t.Errorf("the lower limit left %+v", s)
	}
	mustClose(t, a)
}

func TestFreeTwice(t *testing.T) {
	a := New()
	b := mustAlloc(t, a, 100)
	a.Free(b)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	a.Free(b)
}

func TestClose(t *testing.T) {
	a := New()
	small, large := mustAlloc(t, a, 100), mustAlloc(t, a, 3<<20)
	a.Free(mustAlloc(t, a, 2<<20))
	err := a.Close()
	var out *BlocksOutError
	if !errors.As(err, &out) || out.Blocks != 2 || out.Bytes != 128+3<<20 || out.Mapped != a.Stats().Mapped {
		t.Fatalf("Close: %v", err)
	}
	clear(memory(large)) // still there
	if _, err := a.Alloc(1 << 20); !errors.Is(err, ErrClosed) {
		t.Fatalf("Alloc after Close: %v", err)
	}
	a.Free(small)
	a.Free(large)
	if s := a.Stats(); s.Mapped != 0 {
		t.Fatalf("the last block is freed, and still %+v", s)
	}
	mustClose(t, a)
	mustClose(t, a)
}

func TestStatsAndPeaks(t *testing.T) {
	a := New()
	b := mustAlloc(t, a, 4<<20)
	c := mustAlloc(t, a, 100)
	a.Free(b)
	s := a.Stats()
	if s.InUse != 128 || s.InUsePeak != 4<<20+128 || s.Blocks != 1 || s.Segments != 2 || s.NumMaps != 2 || s.NumUnmaps != 0 {
		t.Errorf("%+v", s)
	}
	if s.LargestHole < 4<<20 || s.Free < s.LargestHole || s.Mapped < s.Free+s.InUse || s.MappedPeak != s.Mapped {
		t.Errorf("%+v", s)
	}
	a.EmptyCache()
	a.ResetPeaks()
	s = a.Stats()
	if s.MappedPeak != s.Mapped || s.InUsePeak != 128 || s.Segments != 1 || s.NumUnmaps != 1 {
		t.Errorf("%+v", s)
	}
	a.Free(c)
	mustClose(t, a)
}

// Segments covers each segment without gaps, in order, and finds every block.
func TestSegments(t *testing.T) {
	a := New()
	live := map[*Block]bool{}
	var bs []*Block
	for i := range 120 {
		bs = append(bs, mustAlloc(t, a, i*i*i))
	}
	for i, b := range bs {
		if i%3 == 0 {
			a.Free(b)
		} else {
			live[b] = true
		}
	}
	var last uint64
	var mapped, inUse, free int64
	for s := range a.Segments() {
		if s.Addr < last {
			t.Error("segments out of order")
		}
		at := s.Addr
		for sp := range s.Spans() {
			if sp.Addr != at || sp.Size <= 0 {
				t.Fatalf("span at %#x, want %#x", sp.Addr, at)
			}
			at += uint64(sp.Size)
			switch sp.State {
			case InUse:
				if !live[sp.Block] || sp.Block.Addr() != sp.Addr || int64(sp.Block.Size()) != sp.Size {
					t.Fatalf("unknown block in %+v", sp)
				}
				delete(live, sp.Block)
				inUse += sp.Size
			case Free:
				free += sp.Size
				if sp.Block != nil {
					t.Error("a free span has a block")
				}
			}
		}
		if at != s.Addr+uint64(s.Size) {
			t.Errorf("spans end at %#x, the segment at %#x", at, s.Addr+uint64(s.Size))
		}
		last, mapped = at, mapped+s.Size
	}
	st := a.Stats()
	if len(live) != 0 || mapped != st.Mapped || inUse != st.InUse || free != st.Free {
		t.Errorf("%d blocks not found; sums %d %d %d of %+v", len(live), mapped, inUse, free, st)
	}
	for s := range a.Segments() {
		for range s.Spans() {
			break
		}
		break
	}
	for i, b := range bs {
		if i%3 != 0 {
			a.Free(b)
		}
	}
	mustClose(t, a)
}

// A million random calls leave the Go heap as a thousand did.
func TestGoHeapFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("a million calls")
	}
	if invariants || raceEnabled {
		t.Skip("records are not recycled, or memory comes from the Go heap")
	}
	a := New()
	r := rand.New(rand.NewPCG(5, 6))
	var live [512]*Block
	step := func() {
		i := r.IntN(len(live))
		if live[i] != nil {
			a.Free(live[i])
		}
		live[i] = mustAlloc(t, a, r.IntN(1<<(6+r.IntN(15))))
	}
	objects := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapObjects
	}
	for range 20_000 {
		step()
	}
	before := objects()
	for range 1_000_000 {
		step()
	}
	if after := objects(); after > before+200 {
		t.Errorf("%d objects on the Go heap, %d before", after, before)
	}
	if n := testing.AllocsPerRun(1000, step); n >= 1 {
		t.Errorf("%v Go allocations per call", n)
	}
	for _, b := range live {
		if b != nil {
			a.Free(b)
		}
	}
	mustClose(t, a)
}

func ExampleAllocator() {
	a := New()
	b, err := a.Alloc(1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Size(), b.Addr()%Alignment)
	a.Free(b)
	fmt.Println(a.Close())
	// Output:
	// 1024 0
	// <nil>
}
