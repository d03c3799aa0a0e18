package alloc

import (
	"fmt"
	"syscall"
	"testing"
)

// fakePager makes addresses up, so that the planner runs without memory. It
// keeps its own account of what is mapped and fails the test when a moment's sum
// passes the limit.
type fakePager struct {
	t        testing.TB
	next     uint64
	live     map[uint64]uint64 // address to size
	mapped   uint64
	limit    uint64          // 0: none
	capacity uint64          // what the system has; 0: no bound
	stuck    bool            // unmap fails
	released uint64          // bytes, ever
	huge     map[uint64]bool // page addresses for which huge pages are on
}

func newFake(t testing.TB) (*planner, *fakePager) {
	f := &fakePager{t: t, next: 1 << 32, live: map[uint64]uint64{}}
	return &planner{pager: f}, f
}

func (f *fakePager) mapPages(size uint64, huge bool) (mapping, error) {
	if size == 0 || size%pageSize != 0 {
		f.t.Fatalf("mapping of %d bytes", size)
	}
	if f.capacity > 0 && f.mapped+size > f.capacity {
		return mapping{}, syscall.ENOMEM
	}
	f.mapped += size
	if f.limit > 0 && f.mapped > f.limit {
		f.t.Fatalf("%d bytes mapped, the limit is %d", f.mapped, f.limit)
	}
	m := mapping{addr: f.next, size: size}
	f.next += size + pageSize
	f.live[m.addr] = size
	f.hugePages(m, m.addr, m.addr+size, huge)
	return m, nil
}

func (f *fakePager) unmap(m mapping) error {
	if f.live[m.addr] != m.size {
		f.t.Fatalf("unmapping %d bytes at %#x, where %d are mapped", m.size, m.addr, f.live[m.addr])
	}
	if f.stuck {
		return syscall.ENOMEM
	}
	delete(f.live, m.addr)
	f.mapped -= m.size
	return nil
}

func (f *fakePager) release(m mapping, from, to uint64) error {
	if from < m.addr || to > m.addr+m.size || from >= to || from%pageSize != 0 || to%pageSize != 0 {
		f.t.Fatalf("releasing %#x to %#x of the mapping %#x to %#x", from, to, m.addr, m.addr+m.size)
	}
	f.released += to - from
	return nil
}

func (f *fakePager) hugePages(_ mapping, from, to uint64, on bool) {
	if f.huge == nil {
		return
	}
	for page := from; page < to; page += pageSize {
		f.huge[page] = on
	}
}

// audit recomputes everything the planner keeps from the segments' blocks and
// returns what does not agree.
func audit(p *planner) error {
	var mapped, holes, inUse, smallMapped uint64
	var blocks int64
	free := map[*Block]bool{}
	for i, s := range p.segments {
		if s.index != i {
			return fmt.Errorf("segment %d says it is %d", i, s.index)
		}
		mapped += s.size
		if s.small {
			smallMapped += s.size
		}
		at := s.addr
		var prev *Block
		for b := s.first; b != nil; prev, b = b, b.next {
			if b.addr != at || b.size == 0 || b.addr%Alignment != 0 || b.size%Alignment != 0 || b.prev != prev || b.segment != s {
				return fmt.Errorf("block %#x+%d does not follow %#x", b.addr, b.size, at)
			}
			at = b.end()
			switch b.state {
			case used:
				blocks++
				inUse += b.rounded
				if b.size != footprint(b.rounded) {
					return fmt.Errorf("block of %d bytes takes %d", b.rounded, b.size)
				}
			case hole:
				free[b] = s.small
				holes += b.size
				if prev != nil && prev.state == hole {
					return fmt.Errorf("two holes side by side at %#x", b.addr)
				}
				if b.dirtyFrom > b.dirtyTo || b.dirtyFrom != b.dirtyTo && (b.dirtyFrom < b.addr || b.dirtyTo > b.end()) {
					return fmt.Errorf("hole %#x+%d dirty from %#x to %#x", b.addr, b.size, b.dirtyFrom, b.dirtyTo)
				}
			default:
				return fmt.Errorf("block at %#x is in state %d", b.addr, b.state)
			}
		}
		if at != s.addr+s.size {
			return fmt.Errorf("segment %#x+%d covered to %#x", s.addr, s.size, at)
		}
	}
	for _, pool := range []*bins{&p.small, &p.large} {
		if err := auditBins(pool, free, pool == &p.small); err != nil {
			return err
		}
	}
	if len(free) > 0 {
		return fmt.Errorf("%d holes in no bin", len(free))
	}
	if mapped != p.mapped || holes != p.holes || inUse != p.inUse || smallMapped != p.smallMapped || blocks != p.blocks {
		return fmt.Errorf("mapped %d holes %d in use %d small %d blocks %d; kept as %d %d %d %d %d",
			mapped, holes, inUse, smallMapped, blocks, p.mapped, p.holes, p.inUse, p.smallMapped, p.blocks)
	}
	if !guards && mapped != inUse+holes {
		return fmt.Errorf("mapped %d, in use %d, free %d", mapped, inUse, holes)
	}
	return nil
}

// auditBins checks the bins' order and bitmaps and takes their blocks out of free.
func auditBins(s *bins, free map[*Block]bool, small bool) error {
	for level := range s.heads {
		if got, want := s.levels>>level&1 == 1, s.slots[level] != 0; got != want {
			return fmt.Errorf("level %d: bit %v, blocks %v", level, got, want)
		}
		for slot, head := range s.heads[level] {
			if got, want := s.slots[level]>>slot&1 == 1, head != nil; got != want {
				return fmt.Errorf("slot %d/%d: bit %v, blocks %v", level, slot, got, want)
			}
			var last *Block
			for size := head; size != nil; last, size = size, size.larger {
				if size.smaller != last || last != nil && last.size >= size.size || size.over != nil {
					return fmt.Errorf("slot %d/%d: sizes out of order", level, slot)
				}
				var over *Block
				for b := size; b != nil; over, b = b, b.under {
					l, sl := class(b.size)
					if is, ok := free[b]; !ok || is != small || b.over != over || b.size != size.size || int(l) != level || int(sl) != slot {
						return fmt.Errorf("slot %d/%d: block %#x+%d does not belong", level, slot, b.addr, b.size)
					}
					delete(free, b)
				}
			}
		}
	}
	return nil
}
