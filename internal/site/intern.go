package site

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

const (
	buckets   = 1 << 13 // chains; a program has hundreds of sites, not thousands
	maxStacks = 1 << 16 // stacks kept in full
	maxCut    = maxStacks + maxStacks/4
	cutDepth  = 8 // physical frames of a stack that came later
)

// tooMany stands for every stack that the table has no room for.
var tooMany = &Stack{}

var stacks = table{maxStacks: maxStacks, maxCut: maxCut}

// A table holds the interned stacks: a hash table of chains that only grow,
// read and extended without locks.
type table struct {
	chains            [buckets]atomic.Pointer[Stack]
	count             atomic.Int64
	maxStacks, maxCut int64
}

// intern returns the one Stack that has these addresses. It keeps no reference
// to pcs.
func (t *table) intern(skip int, pcs []uintptr) *Stack {
	if s := t.put(skip, pcs, t.maxStacks); s != nil {
		return s
	}
	if s := t.put(skip, pcs[:min(len(pcs), skip+cutDepth)], t.maxCut); s != nil {
		return s
	}
	return tooMany
}

// put finds the stack, or adds it if fewer than limit are there. It returns nil
// if it can do neither.
func (t *table) put(skip int, pcs []uintptr, limit int64) *Stack {
	hash := hashOf(skip, pcs)
	chain := &t.chains[hash>>(64-13)]
	head := chain.Load()
	if s := find(head, nil, hash, skip, pcs); s != nil {
		return s
	}
	if t.count.Add(1) > limit {
		t.count.Add(-1)
		return nil
	}
	s := &Stack{next: head, hash: hash, skip: skip, pcs: slices.Clone(pcs)}
	for !chain.CompareAndSwap(head, s) {
		seen := head
		head = chain.Load()
		if other := find(head, seen, hash, skip, pcs); other != nil {
			t.count.Add(-1)
			return other
		}
		s.next = head
	}
	return s
}

// find looks for the stack in a chain, up to but without end.
func find(s, end *Stack, hash uint64, skip int, pcs []uintptr) *Stack {
	for ; s != end; s = s.next {
		if s.hash == hash && s.skip == skip && slices.Equal(s.pcs, pcs) {
			return s
		}
	}
	return nil
}

// hashOf spreads the stacks over all 64 bits. Speed counts more than quality
// here: stacks are compared in full.
func hashOf(skip int, pcs []uintptr) uint64 {
	h := uint64(skip)
	for _, pc := range pcs {
		h = bits.RotateLeft64(h, 7) + uint64(pc)
	}
	h ^= h >> 32
	return h * 0x9e3779b97f4a7c15
}
