package alloc

// NewDry returns an allocator that decides on made-up addresses: it maps nothing
// and its blocks have no memory, only [Block.Addr] and [Block.Size]. Replaying a
// program's requests through it tells what the program would have mapped. In a
// guarded build blocks count with the space for their guard pages.
func NewDry() *Allocator {
	a := &Allocator{}
	a.plan.pager = &dryPager{next: 1 << 40}
	return a
}

// dryPager gives addresses that are never used twice, each mapping apart from the
// others as the system's are.
type dryPager struct{ next uint64 }

func (p *dryPager) mapPages(size uint64, _ bool) (mapping, error) {
	m := mapping{addr: p.next, size: size}
	p.next += size + pageSize
	return m, nil
}

func (*dryPager) unmap(mapping) error                     { return nil }
func (*dryPager) release(mapping, uint64, uint64) error   { return nil }
func (*dryPager) hugePages(mapping, uint64, uint64, bool) {}
