package alloc

import "math/bits"

// bins holds free blocks by size and finds the smallest that is large enough.
//
// Sizes fall into classes: 64 linear slots for each power of two, as in TLSF
// (Masmano et al., 2004), with a bitmap per level, so that the next class with a
// block is two bit scans away. TLSF is content with a block of a fitting class.
// Here a class lists its distinct sizes in ascending order and each size lists
// its blocks, newest first, which makes the fit the best one. The list is short:
// a class spans 1/64 of its size and there is no room for many large holes.
type bins struct {
	levels uint64 // bit l: slots[l] is not zero
	slots  [binLevels]uint64
	heads  [binLevels][64]*Block
}

// binLevels covers sizes below 2^48.
const binLevels = 37

// class returns where blocks of a size are kept. Up to 4 KiB a class is one size.
func class(size uint64) (level, slot uint) {
	units := size / Alignment
	level = uint(bits.Len64(units|63)) - 6
	if level > 0 {
		units >>= level - 1
	}
	return level % 64, uint(units % 64)
}

// find returns the smallest block of at least size bytes, or nil. Of several it
// takes the one freed last, which the processor's caches may still hold.
func (s *bins) find(size uint64) *Block {
	level, slot := class(size)
	b := s.heads[level][slot]
	for b != nil && b.size < size {
		b = b.larger
	}
	if b == nil {
		// Shift in two steps: slot+1 may be 64.
		if rest := s.slots[level] >> slot >> 1; rest != 0 {
			slot += 1 + uint(bits.TrailingZeros64(rest))
		} else if rest := s.levels >> level >> 1; rest != 0 {
			level += 1 + uint(bits.TrailingZeros64(rest))
			slot = uint(bits.TrailingZeros64(s.slots[level]))
		} else {
			return nil
		}
		b = s.heads[level][slot]
	}
	if b.under != nil {
		return b.under
	}
	return b
}

// largest returns the size of the largest block, or 0.
func (s *bins) largest() uint64 {
	if s.levels == 0 {
		return 0
	}
	level := bits.Len64(s.levels) - 1
	b := s.heads[level][bits.Len64(s.slots[level])-1]
	for b.larger != nil {
		b = b.larger
	}
	return b.size
}

// insert adds a block. A new block of a size already there goes right under the
// first, which keeps its place among the sizes.
func (s *bins) insert(b *Block) {
	level, slot := class(b.size)
	var last *Block
	at := s.heads[level][slot]
	for at != nil && at.size < b.size {
		last, at = at, at.larger
	}
	if at != nil && at.size == b.size {
		b.over, b.under = at, at.under
		if at.under != nil {
			at.under.over = b
		}
		at.under = b
		return
	}
	b.over, b.under = nil, nil
	b.smaller, b.larger = last, at
	if at != nil {
		at.smaller = b
	}
	if last != nil {
		last.larger = b
		return
	}
	s.heads[level][slot] = b
	s.slots[level] |= 1 << slot
	s.levels |= 1 << level
}

// resize gives a block another size if it can stay where it is, alone with its
// new size between the same neighbours, as most do that gain or lose a little.
func (s *bins) resize(b *Block, size uint64) bool {
	level, slot := class(b.size)
	l, sl := class(size)
	if l != level || sl != slot || b.over != nil || b.under != nil ||
		b.smaller != nil && b.smaller.size >= size || b.larger != nil && b.larger.size <= size {
		return false
	}
	b.size = size
	return true
}

// remove takes a block out.
func (s *bins) remove(b *Block) {
	if b.over != nil {
		b.over.under = b.under
		if b.under != nil {
			b.under.over = b.over
		}
		return
	}
	next := b.larger
	if b.under != nil { // takes b's place among the sizes
		next = b.under
		next.over = nil
		next.larger = b.larger
		if b.larger != nil {
			b.larger.smaller = next
		}
	}
	if next != nil {
		next.smaller = b.smaller
	}
	if b.smaller != nil {
		b.smaller.larger = next
		return
	}
	level, slot := class(b.size)
	s.heads[level][slot] = next
	if next == nil {
		if s.slots[level] &^= 1 << slot; s.slots[level] == 0 {
			s.levels &^= 1 << level
		}
	}
}
