package replay

import "github.com/ebb-ml/ebb/internal/alloc"

// Ebb is the planner of Ebb's own allocator. It has one pool for all streams.
type Ebb struct {
	a      *alloc.Allocator
	blocks map[uint64]*alloc.Block
}

// NewEbb returns a model of Ebb's allocator with a limit on what it maps in bytes,
// 0 for none.
func NewEbb(capacity uint64) *Ebb {
	e := &Ebb{a: alloc.NewDry(), blocks: map[uint64]*alloc.Block{}}
	e.a.SetLimit(int64(min(capacity, 1<<62)))
	return e
}

// Alloc hands out a block.
func (e *Ebb) Alloc(r Request) (uint64, bool) {
	if r.Size > 1<<46 {
		return 0, false
	}
	b, err := e.a.Alloc(int(r.Size))
	if err != nil {
		return 0, false
	}
	e.blocks[b.Addr()] = b
	return b.Addr(), true
}

// Free takes a block back.
func (e *Ebb) Free(addr uint64) {
	if b, ok := e.blocks[addr]; ok {
		delete(e.blocks, addr)
		e.a.Free(b)
	}
}

// EmptyCache unmaps free segments. The pages it releases in others stay mapped.
func (e *Ebb) EmptyCache() { e.a.EmptyCache() }

// Figures returns what the planner has mapped and handed out.
func (e *Ebb) Figures() Figures {
	s := e.a.Stats()
	return Figures{
		Reserved: uint64(s.Mapped), Live: uint64(s.InUse), Segments: int(s.Segments),
		Maps: int(s.NumMaps), Retries: int(s.NumRetries),
	}
}
