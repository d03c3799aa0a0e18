package replay

// arenaSize is the address space of an expandable segment: more than any device.
const arenaSize = 1 << 52

// page returns the grain in which an expandable segment is mapped.
func (k poolKey) page() uint64 {
	if k.small {
		return smallBuffer
	}
	return largeBuffer
}

// growArena maps pages at the lowest address at which a request fits, together
// with the free blocks beside them.
func (p *PyTorch) growArena(l *pool, size uint64) *block {
	if l.arena == nil {
		p.next = roundUp(p.next, arenaSize)
		l.arena = &block{addr: p.next, size: arenaSize, pool: l, unmapped: true}
		p.next += arenaSize
		p.figures.Segments++
		l.bare.Insert(l.arena)
	}
	for u := range l.bare.All() {
		var before, after uint64 // free and mapped beside it
		if q := u.prev; q != nil && !q.used {
			before = q.size
		}
		if n := u.next; n != nil && !n.used {
			after = n.size
		}
		if before+u.size+after < size {
			continue
		}
		return p.mapPart(l, u, min(roundUp(size-min(before, size), l.key.page()), u.size))
	}
	return nil
}

// mapPart maps the first bytes of an unmapped block and joins them with the free
// blocks beside them.
func (p *PyTorch) mapPart(l *pool, u *block, size uint64) *block {
	if !p.reserve(size) {
		return nil
	}
	l.bare.Delete(u)
	if size < u.size {
		rest := &block{addr: u.addr + size, size: u.size - size, prev: u, next: u.next, pool: l, unmapped: true}
		if u.next != nil {
			u.next.prev = rest
		}
		u.next, u.size = rest, size
		l.bare.Insert(rest)
	}
	u.unmapped = false
	if n := u.next; n != nil && !n.used && !n.unmapped {
		l.take(n)
		u.join()
	}
	if q := u.prev; q != nil && !q.used && !q.unmapped {
		l.take(q)
		q.join()
		u = q
	}
	l.put(u)
	return u
}

// unmapFree gives back the whole pages inside free blocks.
func (p *PyTorch) unmapFree(l *pool) {
	page := l.key.page()
	for b := l.arena; b != nil; b = b.next {
		if b.used || b.unmapped {
			continue
		}
		from := l.arena.addr + roundUp(b.addr-l.arena.addr, page)
		to := l.arena.addr + (b.addr+b.size-l.arena.addr)/page*page
		if from >= to {
			continue
		}
		l.take(b)
		end := b.addr + b.size
		middle := b
		if from > b.addr {
			middle = &block{addr: from, pool: l, prev: b, next: b.next}
			if b.next != nil {
				b.next.prev = middle
			}
			b.next, b.size = middle, from-b.addr
			l.put(b)
		}
		middle.size, middle.unmapped = to-from, true
		if end > to {
			rest := &block{addr: to, size: end - to, pool: l, prev: middle, next: middle.next}
			if middle.next != nil {
				middle.next.prev = rest
			}
			middle.next = rest
			l.put(rest)
		}
		p.figures.Reserved -= to - from
		b = l.joinUnmapped(middle)
	}
}

// joinUnmapped joins a block that was unmapped with unmapped neighbours.
func (l *pool) joinUnmapped(b *block) *block {
	if n := b.next; n != nil && n.unmapped {
		l.bare.Delete(n)
		b.join()
	}
	if q := b.prev; q != nil && q.unmapped {
		q.join()
		return q
	}
	l.bare.Insert(b)
	return b
}
