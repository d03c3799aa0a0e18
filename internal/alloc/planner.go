package alloc

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
)

// The sizes that decide, in bytes. README.md says what was measured.
const (
	// largeRequest is the size from which a request maps a segment of its own size.
	// Smaller ones share segments and stay apart from the large, because a few
	// bytes in the middle of a large segment would keep all of it.
	largeRequest = 1 << 20

	// A segment for small requests is an eighth of what such segments hold already,
	// within these bounds: a small program maps little, and a large one maps at
	// most that much too much.
	minSmallSegment = 256 << 10
	maxSmallSegment = 16 << 20

	// cacheSlack is cached in any case, so that small programs do not map and unmap
	// in turns; see bound.
	cacheSlack = 4 << 20

	// minHuge is the size from which a large segment gets huge pages.
	minHuge = 2 << 20
)

// planner decides where blocks lie. It never touches the memory it plans, so it
// runs as well with a pager that only makes addresses up.
type planner struct {
	pager    pager
	limit    uint64 // bound on mapped; 0: none
	closed   bool
	small    bins // holes in segments for small requests
	large    bins // holes in segments for large requests
	segments []*segment
	spare    *Block     // records to use again, chained by next
	order    []*segment // kept to sort free segments without allocating
	observer func(addr, size uint64, mapped bool)

	mapped, holes        uint64 // bytes mapped, bytes in holes
	inUse                uint64 // bytes handed out, as their holders see them
	smallMapped          uint64 // bytes mapped for small requests
	most                 uint64 // the most that blocks, guards included, ever took at once
	mappedPeak, usedPeak uint64 // since the last reset
	blocks               int64  // handed out
	maps, unmaps         int64
	retries              int64
}

// alloc hands out a block for a request, which is a multiple of Alignment.
func (p *planner) alloc(request uint64) (*Block, error) {
	size := footprint(request)
	pool := &p.large
	if size < largeRequest {
		pool = &p.small
	}
	b := pool.find(size)
	if b == nil {
		var err error
		if b, err = p.grow(size); err != nil {
			return nil, err
		}
	}
	s := b.segment
	again := s.released && s.huge && (b.dirtyFrom > b.addr || b.dirtyTo < b.addr+size)
	b = p.cut(b, size)
	b.state = used
	b.rounded = request
	p.holes -= size
	p.inUse += request
	p.blocks++
	p.usedPeak = max(p.usedPeak, p.inUse)
	p.most = max(p.most, p.mapped-p.holes)
	if again { // it has pages that were released
		if from, to := roundUp(b.addr, pageSize), roundDown(b.end(), pageSize); from < to {
			p.pager.hugePages(s.mapping, from, to, true)
		}
	}
	return b, nil
}

// cut returns the first size bytes of a hole, in no bin any more, and leaves
// what is beyond them in its bin.
func (p *planner) cut(b *Block, size uint64) *Block {
	s := b.segment
	if b.size > size && s.bins.resize(b, b.size-size) {
		front := p.record()
		front.addr, front.size = b.addr, size
		if front.segment != s { // a write costs more while Go's collector marks
			front.segment = s
		}
		p.place(front, b)
		b.addr += size
		b.dirtyFrom, b.dirtyTo = max(b.dirtyFrom, b.addr), max(b.dirtyTo, b.addr)
		return front
	}
	s.bins.remove(b)
	if b.size == size {
		return b
	}
	rest := p.record()
	rest.addr, rest.size = b.addr+size, b.size-size
	rest.segment, rest.state = s, hole
	rest.dirtyFrom, rest.dirtyTo = max(b.dirtyFrom, rest.addr), max(b.dirtyTo, rest.addr)
	rest.prev, rest.next = b, b.next
	if b.next != nil {
		b.next.prev = rest
	}
	b.next = rest
	b.size = size
	s.bins.insert(rest)
	return b
}

// place puts the record b before its neighbour next.
func (p *planner) place(b, next *Block) {
	b.prev, b.next = next.prev, next
	next.prev = b
	if b.prev != nil {
		b.prev.next = b
	} else {
		b.segment.first = b
	}
}

// free takes a block back and joins it with the holes beside it.
func (p *planner) free(b *Block) {
	p.holes += b.size
	p.inUse -= b.rounded
	p.blocks--
	b.state = hole
	b.dirtyFrom, b.dirtyTo = b.addr, b.end()
	s := b.segment
	if next := b.next; next != nil && next.state == hole && (b.prev == nil || b.prev.state != hole) && s.bins.resize(next, next.size+b.size) {
		b = p.prepend(b, next)
	} else {
		b = p.merge(b)
	}
	if b.size == s.size && (p.closed || p.limit > 0 && p.mapped > p.limit) {
		_ = p.unmap(s) // where the system refuses, the segment stays in the cache
	}
}

// prepend adds the new hole b to the hole next behind it, which stays where it
// is in its bin and has its new size already. It returns next.
func (p *planner) prepend(b, next *Block) *Block {
	if next.dirtyFrom == next.dirtyTo {
		next.dirtyTo = b.end()
	}
	next.addr, next.dirtyFrom = b.addr, b.addr
	next.prev = b.prev
	if b.prev != nil {
		b.prev.next = next
	} else {
		b.segment.first = next
	}
	p.drop(b)
	return next
}

// merge joins the new hole b with the holes beside it, puts it into a bin and
// returns it.
func (p *planner) merge(b *Block) *Block {
	s := b.segment
	if next := b.next; next != nil && next.state == hole {
		s.bins.remove(next)
		p.join(b, next)
	}
	if prev := b.prev; prev != nil && prev.state == hole {
		s.bins.remove(prev)
		p.join(prev, b)
		b = prev
	}
	s.bins.insert(b)
	return b
}

// join adds the hole next, which follows b, to the hole b.
func (p *planner) join(b, next *Block) {
	switch {
	case next.dirtyFrom == next.dirtyTo:
	case b.dirtyFrom == b.dirtyTo:
		b.dirtyFrom, b.dirtyTo = next.dirtyFrom, next.dirtyTo
	default:
		b.dirtyTo = next.dirtyTo
	}
	b.size += next.size
	b.next = next.next
	if next.next != nil {
		next.next.prev = b
	}
	p.drop(next)
}

// grow finds a hole of at least size bytes where the request's own bins have
// none: it maps a segment, at need in place of free ones.
func (p *planner) grow(size uint64) (*Block, error) {
	if p.closed {
		return nil, ErrClosed
	}
	need := roundUp(size, pageSize)
	want := p.segmentSize(size)
	p.bound(size, want)

	var cause error = errLimit
	if room, limited := p.room(); limited && want > room {
		want = max(need, roundDown(room, pageSize))
		if need > room {
			p.retries++
			p.trim(need - room)
		}
	}
	if room, limited := p.room(); !limited || want <= room {
		var b *Block
		if b, cause = p.mapSegment(want, size < largeRequest); cause == nil {
			return b, nil
		}
		p.retries++
		p.trim(p.mapped)
		if b, cause = p.mapSegment(need, size < largeRequest); cause == nil {
			return b, nil
		}
	}
	// Every segment left has blocks in it, so a small request no longer keeps a
	// large segment from being unmapped, and a large one may use what small ones left.
	if b := p.small.find(size); b != nil {
		return b, nil
	}
	if b := p.large.find(size); b != nil {
		return b, nil
	}
	return nil, cause
}

// segmentSize returns the size of the segment to map for a request. One for small
// requests is a whole number of the first, because they come in series. One for a
// large request is a sixteenth larger at most: a list that grows, or a batch a
// little longer than the last, can then use its place again.
func (p *planner) segmentSize(size uint64) uint64 {
	if size < largeRequest {
		want := min(max(p.smallMapped/8, minSmallSegment), maxSmallSegment)
		return roundUp((want+size-1)/size*size, pageSize)
	}
	grain := uint64(1) << (bits.Len64(size) - 5)
	return roundUp(size, max(grain, pageSize))
}

// bound keeps the cache in proportion before want bytes are mapped for a request:
// where mapped bytes would pass the most ever needed at once by more than a
// quarter, free segments go first. Without it, a program whose sizes never come
// again would keep a segment for each.
func (p *planner) bound(size, want uint64) {
	most := max(p.most, p.mapped-p.holes+size)
	if allowed := most + most/4 + cacheSlack; p.mapped+want > allowed {
		p.trim(p.mapped + want - allowed)
	}
}

// room returns how much may be mapped within the limit, if there is one.
func (p *planner) room() (bytes uint64, limited bool) {
	if p.limit == 0 {
		return 0, false
	}
	return p.limit - min(p.mapped, p.limit), true
}

// mapSegment maps a segment and returns the hole that fills it.
func (p *planner) mapSegment(size uint64, small bool) (*Block, error) {
	huge := !small && size >= minHuge
	m, err := p.pager.mapPages(size, huge)
	if err != nil {
		return nil, err
	}
	s := &segment{mapping: m, index: len(p.segments), small: small, huge: huge, bins: &p.large}
	if small {
		s.bins = &p.small
		p.smallMapped += size
	}
	b := p.record()
	b.addr, b.size, b.segment, b.state = m.addr, size, s, hole
	b.prev, b.next = nil, nil
	b.dirtyFrom, b.dirtyTo = m.addr, m.addr
	if invariants {
		b.dirtyTo = b.end() // poisoned, see checker
	}
	s.first = b
	s.bins.insert(b)
	p.segments = append(p.segments, s)
	p.maps++
	p.mapped += size
	p.holes += size
	p.mappedPeak = max(p.mappedPeak, p.mapped)
	if p.observer != nil {
		p.observer(s.addr, size, true)
	}
	return b, nil
}

// unmap unmaps a free segment. Where the system refuses, nothing changes.
func (p *planner) unmap(s *segment) error {
	if err := p.pager.unmap(s.mapping); err != nil {
		return err
	}
	s.bins.remove(s.first)
	p.drop(s.first)
	last := len(p.segments) - 1
	p.segments[s.index] = p.segments[last]
	p.segments[s.index].index = s.index
	p.segments[last] = nil
	p.segments = p.segments[:last]
	s.memory = nil // dropped records still point to s
	p.unmaps++
	p.mapped -= s.size
	p.holes -= s.size
	if s.small {
		p.smallMapped -= s.size
	}
	if p.observer != nil {
		p.observer(s.addr, s.size, false)
	}
	return nil
}

// trim unmaps free segments until need bytes are gone or none is left: the
// smallest that is enough, or else the largest, and so on.
func (p *planner) trim(need uint64) {
	for _, s := range p.segments {
		if s.free() {
			p.order = append(p.order, s)
		}
	}
	slices.SortFunc(p.order, func(a, b *segment) int {
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.addr, b.addr))
	})
	for left := p.order; len(left) > 0 && need > 0; {
		i, _ := slices.BinarySearchFunc(left, need, func(s *segment, need uint64) int {
			return cmp.Compare(s.size, need)
		})
		i = min(i, len(left)-1)
		if size := left[i].size; p.unmap(left[i]) == nil {
			need -= min(need, size)
		}
		left = slices.Delete(left, i, i+1)
	}
	clear(p.order)
	p.order = p.order[:0]
}

// emptyCache unmaps free segments, releases the free pages of the others, and
// returns how many bytes that was.
func (p *planner) emptyCache() (returned uint64) {
	for i := len(p.segments) - 1; i >= 0; i-- { // unmap moves the last one into the gap
		s := p.segments[i]
		if s.free() {
			if p.unmap(s) == nil {
				returned += s.size
			}
			continue
		}
		for b := s.first; b != nil; b = b.next {
			if b.state == hole {
				returned += p.release(b)
			}
		}
	}
	return returned
}

// release gives back the whole pages of a hole that may hold memory.
func (p *planner) release(b *Block) uint64 {
	if b.dirtyFrom == b.dirtyTo {
		return 0
	}
	from := max(roundUp(b.addr, pageSize), roundDown(b.dirtyFrom, pageSize))
	to := min(roundDown(b.end(), pageSize), roundUp(b.dirtyTo, pageSize))
	if from >= to {
		return 0
	}
	s := b.segment
	s.released = true
	if s.huge {
		// Or the kernel would soon make whole huge pages of those with a hole, and
		// the memory would be back.
		p.pager.hugePages(s.mapping, from, to, false)
	}
	if p.pager.release(s.mapping, from, to) != nil {
		return 0
	}
	b.dirtyFrom, b.dirtyTo = b.addr, b.addr
	return to - from
}

func (p *planner) setLimit(limit uint64) {
	p.limit = limit
	if limit > 0 && p.mapped > limit {
		p.trim(p.mapped - limit)
	}
}

// close unmaps all free segments; see Allocator.Close.
func (p *planner) close() error {
	p.closed = true
	var errs []error
	for i := len(p.segments) - 1; i >= 0; i-- {
		if s := p.segments[i]; s.free() {
			errs = append(errs, p.unmap(s))
		}
	}
	if p.blocks > 0 {
		errs = append(errs, &BlocksOutError{Blocks: p.blocks, Bytes: int64(p.inUse), Mapped: int64(p.mapped)})
	}
	p.spare = nil
	return errors.Join(errs...)
}

func (p *planner) largestHole() uint64 { return max(p.small.largest(), p.large.largest()) }

// fits returns the largest request that the holes or the room below the limit
// can meet.
func (p *planner) fits() uint64 {
	room, _ := p.room()
	return max(request(p.largestHole()), request(roundDown(room, pageSize)))
}

// record returns a block record, whose fields the caller sets.
func (p *planner) record() *Block {
	if p.spare == nil {
		records := make([]Block, 32)
		for i := range records[1:] {
			records[i].next = &records[i+1]
		}
		p.spare = &records[0]
	}
	b := p.spare
	p.spare = b.next
	return b
}

// drop takes a record back. Its pointers stay, of no meaning.
func (p *planner) drop(b *Block) {
	b.state = spare
	b.next = p.spare
	p.spare = b
}

// renew puts another record in the place of a used block's and leaves the old
// one dead for good.
func (p *planner) renew(b *Block) *Block {
	n := new(Block)
	*n = *b
	if n.prev != nil {
		n.prev.next = n
	} else {
		n.segment.first = n
	}
	if n.next != nil {
		n.next.prev = n
	}
	b.state, b.segment = spare, nil
	return n
}
