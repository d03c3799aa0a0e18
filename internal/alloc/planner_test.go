package alloc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// anySize draws sizes of all magnitudes, with equal ones often.
func anySize(most uint64) *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		shift := rapid.IntRange(0, 24).Draw(t, "shift")
		n := uint64(rapid.IntRange(1, 5).Draw(t, "n")) << shift
		n += uint64(rapid.IntRange(0, 2).Draw(t, "more")) * 64
		return round(int(min(n, most)))
	})
}

// TestPlannerModel runs random calls against the obvious model: a list of live
// ranges. After each, ranges must not overlap and the audit must agree.
func TestPlannerModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, f := newFake(t)
		f.limit = rapid.SampledFrom([]uint64{0, 4 << 20, 64 << 20}).Draw(rt, "limit")
		f.capacity = rapid.SampledFrom([]uint64{0, 24 << 20}).Draw(rt, "capacity")
		p.setLimit(f.limit)
		var live []*Block
		type span struct{ addr, size uint64 }
		model := map[*Block]span{}
		rt.Repeat(map[string]func(*rapid.T){
			"alloc": func(rt *rapid.T) {
				n := anySize(32<<20).Draw(rt, "size")
				holes, best := fits(p, n)
				b, err := p.alloc(n)
				if err != nil {
					if f.limit == 0 && f.capacity == 0 {
						rt.Fatalf("alloc(%d): %v", n, err)
					}
					if hole := request(p.largestHole()); hole >= n {
						rt.Fatalf("alloc(%d) failed with a hole of %d", n, hole)
					}
					for _, s := range p.segments {
						if s.free() {
							rt.Fatal("failed with a free segment still mapped")
						}
					}
					if errors.Is(err, errLimit) != (f.capacity == 0 || p.mapped+roundUp(footprint(n), pageSize) > f.limit && f.limit > 0) {
						rt.Fatalf("wrong cause %v", err)
					}
					return
				}
				if best > 0 && holes[b.addr] != best {
					rt.Fatalf("alloc(%d) took a hole of %d, the best fit was %d", n, holes[b.addr], best)
				}
				data := span{b.Addr(), uint64(b.Size())}
				if data.size != n {
					rt.Fatalf("block of %d for %d", data.size, n)
				}
				for _, o := range model {
					if data.addr < o.addr+o.size && o.addr < data.addr+data.size {
						rt.Fatalf("%#x+%d overlaps %#x+%d", data.addr, data.size, o.addr, o.size)
					}
				}
				live = append(live, b)
				model[b] = data
			},
			"free": func(rt *rapid.T) {
				if len(live) == 0 {
					rt.Skip()
				}
				i := rapid.IntRange(0, len(live)-1).Draw(rt, "which")
				b := live[i]
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
				delete(model, b)
				p.free(b)
			},
			"emptyCache": func(rt *rapid.T) {
				mapped, released := p.mapped, f.released
				returned := p.emptyCache()
				if want := mapped - p.mapped + f.released - released; returned != want {
					rt.Fatalf("emptyCache returned %d, the pager saw %d", returned, want)
				}
				for _, s := range p.segments {
					if s.free() {
						rt.Fatal("a free segment is still mapped")
					}
				}
				if again := p.emptyCache(); again != 0 {
					rt.Fatalf("a second emptyCache returned %d", again)
				}
			},
			"setLimit": func(rt *rapid.T) {
				if f.limit == 0 {
					rt.Skip()
				}
				f.limit = uint64(rapid.IntRange(0, 8).Draw(rt, "MiB")+4) << 20
				p.setLimit(f.limit)
			},
			"": func(rt *rapid.T) {
				if err := audit(p); err != nil {
					rt.Fatal(err)
				}
				if f.mapped != p.mapped || len(f.live) != len(p.segments) {
					rt.Fatalf("pager has %d bytes mapped, planner %d", f.mapped, p.mapped)
				}
				var sum uint64
				for _, s := range model {
					sum += s.size
				}
				if sum != p.inUse || int64(len(model)) != p.blocks {
					rt.Fatalf("%d bytes in %d blocks are live, planner has %d in %d", sum, len(model), p.inUse, p.blocks)
				}
				for b, s := range model {
					if b.Addr() != s.addr || uint64(b.Size()) != s.size {
						rt.Fatalf("block moved from %#x+%d to %#x+%d", s.addr, s.size, b.Addr(), b.Size())
					}
				}
			},
		})
		for _, b := range live {
			p.free(b)
		}
		for _, s := range p.segments {
			if !s.free() {
				rt.Fatal("all is freed, and a segment is not one hole")
			}
		}
		if err := p.close(); err != nil || f.mapped != 0 {
			rt.Fatalf("close: %v, %d bytes mapped", err, f.mapped)
		}
	})
}

// fits returns the sizes of the holes that alloc may take without mapping, by
// address, and the smallest that fits; 0 if none does.
func fits(p *planner, n uint64) (holes map[uint64]uint64, best uint64) {
	holes = map[uint64]uint64{}
	for _, s := range p.segments {
		if s.small != (footprint(n) < largeRequest) {
			continue
		}
		for b := s.first; b != nil; b = b.next {
			if b.state == hole {
				holes[b.addr] = b.size
				if b.size >= footprint(n) && (best == 0 || b.size < best) {
					best = b.size
				}
			}
		}
	}
	return holes, best
}

func TestTrimTakesTheSmallestThatIsEnough(t *testing.T) {
	p, _ := newFake(t)
	var bs []*Block
	for _, mib := range []uint64{2, 3, 5, 9} {
		b, err := p.alloc(mib << 20)
		if err != nil {
			t.Fatal(err)
		}
		bs = append(bs, b)
	}
	for _, b := range bs {
		p.free(b)
	}
	sizes := func() string {
		var s string
		for _, mib := range []uint64{2, 3, 5, 9} {
			for _, g := range p.segments {
				if g.size>>20 == mib {
					s += fmt.Sprint(mib, " ")
				}
			}
		}
		return s
	}
	for _, c := range []struct {
		need uint64
		left string
	}{{4 << 20, "2 3 9 "}, {10 << 20, "3 "}, {1, ""}, {1, ""}} {
		p.trim(c.need)
		if got := sizes(); got != c.left {
			t.Fatalf("after trim(%d) the segments are %q, want %q", c.need, got, c.left)
		}
	}
	if err := audit(p); err != nil {
		t.Fatal(err)
	}
}

// A segment that the system will not unmap stays in the cache and in the ledger.
func TestUnmapRefused(t *testing.T) {
	p, f := newFake(t)
	b, _ := p.alloc(4 << 20)
	p.free(b)
	f.stuck = true
	if n := p.emptyCache(); n != 0 || p.mapped != f.mapped || p.mapped == 0 {
		t.Fatalf("returned %d, mapped %d of %d", n, p.mapped, f.mapped)
	}
	if err := p.close(); err == nil {
		t.Fatal("close hid that a segment is still mapped")
	}
	f.stuck = false
	if err := p.close(); err != nil || f.mapped != 0 {
		t.Fatalf("close: %v, %d mapped", err, f.mapped)
	}
}

// In need, a small request takes a hole among the large, and the other way round.
func TestLastResort(t *testing.T) {
	p, f := newFake(t)
	f.limit = 8 << 20
	p.setLimit(f.limit)
	first, _ := p.alloc(4<<20 - 4*pageSize)
	second, err := p.alloc(4<<20 - 4*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	p.free(first)
	third, err := p.alloc(2 << 20)
	if err != nil || third.segment == second.segment {
		t.Fatal(err, "the hole was not used")
	}
	var small []*Block
	for {
		b, err := p.alloc(64 << 10)
		if err != nil {
			break
		}
		small = append(small, b)
	}
	var held uint64
	for _, b := range small {
		held += b.size
	}
	if want := uint64(8<<20) - second.size - third.size - 256<<10; held < want {
		t.Fatalf("small requests got %d bytes, %d were free", held, want)
	}
	if err := audit(p); err != nil {
		t.Fatal(err)
	}
}

// A large request takes a hole that small ones left, when nothing can be mapped.
func TestLastResortLarge(t *testing.T) {
	p, f := newFake(t)
	var small []*Block
	for p.smallMapped < 64<<20 { // segments of several MiB by then
		b, err := p.alloc(64 << 10)
		if err != nil {
			t.Fatal(err)
		}
		small = append(small, b)
	}
	last := small[len(small)-1]
	for _, b := range small {
		if b.segment == last.segment && b != last {
			p.free(b)
		}
	}
	f.capacity = f.mapped // the system refuses more
	b, err := p.alloc(2 << 20)
	if err != nil || b.segment != last.segment || p.retries != 1 {
		t.Fatalf("%v: the hole of %d was not used", err, p.largestHole())
	}
	if err := audit(p); err != nil {
		t.Fatal(err)
	}
}

// The cache makes way for a request that passes the limit, or what the system
// has, by one page.
func TestCacheMakesWay(t *testing.T) {
	for _, limited := range []bool{true, false} {
		p, f := newFake(t)
		keep, _ := p.alloc(32 << 20)
		cached, _ := p.alloc(3 << 20)
		p.free(cached)
		if limited {
			f.limit = f.mapped + 4<<20
			p.setLimit(f.limit)
		} else {
			f.capacity = f.mapped + 4<<20
		}
		b, err := p.alloc(request(4<<20 + pageSize))
		if err != nil || p.retries != 1 || len(p.segments) != 2 {
			t.Fatalf("limited %v: %v with %d retries, %d segments", limited, err, p.retries, len(p.segments))
		}
		p.free(b)
		p.free(keep)
		if err := audit(p); err != nil {
			t.Fatal(err)
		}
	}
}

// The largest of several holes that are nearly equal.
func TestLargestOfOneClass(t *testing.T) {
	p, _ := newFake(t)
	whole, _ := p.alloc(64 << 20)
	p.free(whole)
	var holes []*Block
	for i := range 8 {
		b, _ := p.alloc(4<<20 + uint64(i)*pageSize)
		if _, err := p.alloc(1 << 20); err != nil { // keeps them apart
			t.Fatal(err)
		}
		holes = append(holes, b)
	}
	if _, err := p.alloc(request(p.largestHole())); err != nil || len(p.segments) != 1 {
		t.Fatalf("%v; one full segment expected, there are %d", err, len(p.segments))
	}
	for _, i := range []int{3, 7, 0, 5, 1, 6, 2, 4} {
		p.free(holes[i])
	}
	if got := p.largestHole(); got != footprint(4<<20+7*pageSize) {
		t.Fatalf("largest hole %d", got)
	}
	if err := audit(p); err != nil {
		t.Fatal(err)
	}
}

// p#134332, p#95823: twice the requested bytes held, and still held after use.
func TestStagingBuffers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, of := range []func() uint64{
		func() uint64 { return 1 << 20 },
		func() uint64 { return 1<<20 + 64 },
		func() uint64 { return 1<<(20+r.UintN(7)) + 64 },    // just above powers of two
		func() uint64 { return 1<<20 + r.Uint64N(200<<20) }, // any
		func() uint64 { return 1<<20 + r.Uint64N(1<<20) },
	} {
		p, f := newFake(t)
		var bs []*Block
		var asked uint64
		for range 50 {
			n := round(int(of()))
			b, err := p.alloc(n)
			if err != nil {
				t.Fatal(err)
			}
			bs, asked = append(bs, b), asked+n
			if float64(f.mapped) > 1.1*float64(asked) {
				t.Fatalf("%d bytes mapped for %d requested", f.mapped, asked)
			}
		}
		for _, b := range bs {
			p.free(b)
		}
		if p.emptyCache(); f.mapped != 0 {
			t.Fatalf("%d bytes mapped after emptyCache", f.mapped)
		}
	}
}

// Many small blocks map little more than they are.
func TestSmallBlocksShare(t *testing.T) {
	if guards {
		t.Skip("every block has guard pages")
	}
	for _, c := range []struct {
		size, most uint64 // bytes
		n          int
	}{
		{64, 256 << 10, 1},
		{4000, 260 << 10, 50},
		{64, 72 << 20, 1 << 20},
		{1 << 10, 72 << 20, 64 << 10},
		{300 << 10, 67 << 20, 200},
		{600 << 10, 132 << 20, 200},
		{1020 << 10, 225 << 20, 200},
	} {
		p, f := newFake(t)
		for range c.n {
			if _, err := p.alloc(round(int(c.size))); err != nil {
				t.Fatal(err)
			}
		}
		if f.mapped > c.most {
			t.Errorf("%d blocks of %d bytes (%d): %d mapped, want at most %d", c.n, c.size, uint64(c.n)*c.size, f.mapped, c.most)
		}
	}
}

// Huge pages are off where pages are released, so that the kernel does not fill
// them up again, and on where such pages are used again, and only there.
func TestHugePagesAndRelease(t *testing.T) {
	p, f := newFake(t)
	f.huge = map[uint64]bool{}
	keep, _ := p.alloc(16 << 20)
	s := keep.segment
	p.free(keep)
	keep, _ = p.alloc(request(2 << 20))
	tail := keep.next
	all := func(from, to uint64, want bool) {
		t.Helper()
		for page := from; page < to; page += pageSize {
			if f.huge[page] != want {
				t.Fatalf("huge pages %v at %#x (from %#x to %#x)", !want, page, from, to)
			}
		}
	}
	all(s.addr, s.addr+s.size, true)
	if got := p.emptyCache(); got != s.size-keep.size {
		t.Fatalf("released %d", got)
	}
	all(keep.addr, keep.end(), true)
	all(tail.addr, tail.end(), false)
	b, _ := p.alloc(request(4 << 20))
	if b.segment != s {
		t.Fatal("the released pages were not used again")
	}
	all(s.addr, b.end(), true)
	all(b.end(), s.addr+s.size, false)
	if got := p.emptyCache(); got != 0 {
		t.Fatalf("%d bytes released that were not used since", got)
	}
	size := b.size
	p.free(b)
	if got := p.emptyCache(); got != size {
		t.Fatalf("released %d of %d", got, size)
	}
	all(tail.addr, s.addr+s.size, false)
}
