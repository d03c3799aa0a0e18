package replay

import (
	"cmp"
	"math/bits"

	"github.com/ebb-ml/ebb/internal/sorted"
)

// The sizes of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp), in
// bytes.
const (
	minBlock    = 512
	smallSize   = 1 << 20  // requests up to this share small segments
	smallBuffer = 2 << 20  // the size of such a segment
	minLarge    = 10 << 20 // requests from this have a segment of their own size
	largeBuffer = 20 << 20 // the segment for what lies between
	roundLarge  = 2 << 20
)

// Options are the settings of PyTorch's allocator, and the device's size.
type Options struct {
	Capacity  uint64     // bytes that can be reserved; 0: no bound
	MaxSplit  uint64     // max_split_size in bytes; 0: unlimited
	Divisions [16]uint64 // roundup_power2_divisions for 1 MiB, 2 MiB, 4 MiB, ...
}

// PyTorch is a model of PyTorch's caching allocator, with segments of fixed size
// or, by [NewExpandable], with expandable ones.
type PyTorch struct {
	options    Options
	expandable bool
	pools      map[poolKey]*pool
	blocks     map[uint64]*block // handed out
	figures    Figures
	next       uint64
	driver     driver
}

// poolKey tells pools apart. Blocks never move between streams, so a stream's free
// blocks are a pool of their own.
type poolKey struct {
	id     [2]int64
	stream uint64
	small  bool
}

// pool is the free blocks of one stream and size class.
type pool struct {
	key   poolKey
	free  *sorted.List[*block] // by size, then address
	arena *block               // the first block of the expandable segment
	bare  *sorted.List[*block] // its unmapped blocks, by address
}

type block struct {
	addr, size uint64
	prev, next *block // in the segment
	pool       *pool
	used       bool
	unmapped   bool // of an expandable segment
}

// NewPyTorch returns a model with segments of fixed sizes.
func NewPyTorch(o Options) *PyTorch { return newModel(o, false) }

// NewExpandable returns a model with expandable segments: one for each stream and
// size class, whose pages are mapped as they are needed, lowest address first.
func NewExpandable(o Options) *PyTorch { return newModel(o, true) }

func newModel(o Options, expandable bool) *PyTorch {
	return &PyTorch{
		options: o, expandable: expandable, pools: map[poolKey]*pool{}, blocks: map[uint64]*block{}, next: 1 << 62,
	}
}

func (p *PyTorch) setDriver(d driver) {
	if !p.expandable {
		p.driver = d
	}
}

// Figures returns what is reserved and handed out.
func (p *PyTorch) Figures() Figures { return p.figures }

// Round returns the size of the block that a request takes.
func (o *Options) Round(size uint64) uint64 {
	if size < minBlock {
		return minBlock
	}
	interval := min(max(bits.Len64(size)-bits.Len64(1<<20), 0), len(o.Divisions)-1)
	if d := o.Divisions[interval]; d > 1 && size > minBlock*d {
		floor := uint64(1) << (bits.Len64(size) - 1)
		step := floor / d
		return floor + (size-floor+step-1)/step*step
	}
	return roundUp(size, minBlock)
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// segmentSize returns the size of the segment for a rounded request.
func segmentSize(size uint64) uint64 {
	switch {
	case size <= smallSize:
		return smallBuffer
	case size < minLarge:
		return largeBuffer
	}
	return roundUp(size, roundLarge)
}

const maxModel = 1 << 50 // a request no device meets, and sums of which do not overflow

// Alloc hands out the smallest free block that fits on the stream or, where there
// is none, reserves more.
func (p *PyTorch) Alloc(r Request) (uint64, bool) {
	if r.Size > maxModel {
		return 0, false
	}
	size := p.options.Round(r.Size)
	l := p.pool(poolKey{r.Pool, r.Stream, size <= smallSize})
	b := p.find(l, size)
	if b == nil {
		b = p.grow(l, size)
	}
	if b == nil && p.options.MaxSplit > 0 {
		p.releaseOversize(l, size)
		b = p.grow(l, size)
	}
	if b == nil {
		p.figures.Retries++
		p.EmptyCache()
		b = p.grow(l, size)
	}
	if b == nil {
		return 0, false
	}
	l.take(b)
	if p.splits(b, size) {
		rest := &block{addr: b.addr + size, size: b.size - size, prev: b, next: b.next, pool: l}
		if b.next != nil {
			b.next.prev = rest
		}
		b.next, b.size = rest, size
		l.put(rest)
	}
	b.used = true
	p.blocks[b.addr] = b
	p.figures.Live += b.size
	return b.addr, true
}

func (p *PyTorch) pool(k poolKey) *pool {
	l := p.pools[k]
	if l == nil {
		l = &pool{key: k, free: sorted.New(bySize), bare: sorted.New(byAddr)}
		p.pools[k] = l
	}
	return l
}

// bySize compares free blocks as the allocator's sets do.
func bySize(a, b *block) int { return cmp.Or(cmp.Compare(a.size, b.size), byAddr(a, b)) }

func byAddr(a, b *block) int { return cmp.Compare(a.addr, b.addr) }

func (l *pool) put(b *block)  { l.free.Insert(b) }
func (l *pool) take(b *block) { l.free.Delete(b) }

// find returns the best fit among the free blocks.
func (p *PyTorch) find(l *pool, size uint64) *block {
	b, ok := l.free.First(func(b *block) bool { return b.size >= size })
	if !ok {
		return nil
	}
	if split := p.options.MaxSplit; split > 0 && !p.expandable {
		if size < split && b.size >= split || size >= split && b.size >= size+largeBuffer {
			return nil
		}
	}
	return b
}

// splits reports whether what is left of a block becomes one of its own.
func (p *PyTorch) splits(b *block, size uint64) bool {
	rest := b.size - size
	if b.pool.key.small || p.expandable {
		return rest >= minBlock
	}
	return (p.options.MaxSplit == 0 || size < p.options.MaxSplit) && rest > smallSize
}

// reserve counts bytes that the driver gives, if there are as many.
func (p *PyTorch) reserve(size uint64) bool {
	if p.options.Capacity > 0 && p.figures.Reserved+size > p.options.Capacity {
		return false
	}
	p.figures.Reserved += size
	p.figures.Maps++
	return true
}

// grow reserves what a request needs and returns a free block that fits.
func (p *PyTorch) grow(l *pool, size uint64) *block {
	if p.expandable {
		return p.growArena(l, size)
	}
	want := segmentSize(size)
	if !p.reserve(want) {
		return nil
	}
	p.figures.Segments++
	b := &block{addr: p.address(want), size: want, pool: l}
	l.put(b)
	return b
}

// address returns where a new segment lies: where the trace has it, or anywhere.
func (p *PyTorch) address(size uint64) uint64 {
	if p.driver != nil {
		if addr, ok := p.driver.recorded(size); ok {
			return addr
		}
	}
	p.next += size + roundLarge
	return p.next - size - roundLarge
}

// Free takes a block back and joins it with free neighbours.
func (p *PyTorch) Free(addr uint64) {
	b := p.blocks[addr]
	if b == nil {
		return
	}
	delete(p.blocks, addr)
	p.figures.Live -= b.size
	b.used = false
	l := b.pool
	if n := b.next; n != nil && !n.used && !n.unmapped {
		l.take(n)
		b.join()
	}
	if q := b.prev; q != nil && !q.used && !q.unmapped {
		l.take(q)
		q.join()
		b = q
	}
	l.put(b)
}

// join adds the block that follows to b.
func (b *block) join() {
	n := b.next
	b.size += n.size
	b.next = n.next
	if n.next != nil {
		n.next.prev = b
	}
}

// EmptyCache gives back every segment that is free as a whole, and the free pages
// of expandable ones.
func (p *PyTorch) EmptyCache() {
	for _, l := range p.pools {
		if p.expandable {
			p.unmapFree(l)
			continue
		}
		l.free.DeleteFunc(func(b *block) bool {
			whole := b.prev == nil && b.next == nil
			if whole {
				p.release(b)
			}
			return whole
		})
	}
}

func (p *PyTorch) release(b *block) {
	p.figures.Reserved -= b.size
	p.figures.Segments--
}

// releaseOversize gives back just enough blocks of max_split_size or more: the
// smallest that meets the request alone, or the largest until they do together.
func (p *PyTorch) releaseOversize(l *pool, size uint64) {
	if size < p.options.MaxSplit || p.expandable {
		return
	}
	want := segmentSize(size)
	for need := want; need > 0; {
		var b *block
		for candidate := range l.free.All() {
			if candidate.prev == nil && candidate.next == nil && candidate.size >= p.options.MaxSplit {
				b = candidate
				if b.size >= need {
					break
				}
			}
		}
		if b == nil {
			return
		}
		l.take(b)
		p.release(b)
		need -= min(need, b.size)
	}
}
