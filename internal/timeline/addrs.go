package timeline

import (
	"hash/maphash"
	"math/bits"
)

// addrTable maps addresses to blocks: open addressing at 12 bytes a slot, since a
// trace may have millions. Addresses are never taken out. The hash is seeded, so
// that no file can be made to collide.
type addrTable struct {
	addrs []uint64
	refs  []Ref // NoRef: the slot is empty or the address has no block
	used  []uint64
	n     int
	shift int
	seed  uint64
}

func newAddrTable() *addrTable {
	t := &addrTable{seed: maphash.Bytes(maphash.MakeSeed(), nil)}
	t.grow(10)
	return t
}

func (t *addrTable) grow(log int) {
	old := *t
	size := 1 << log
	t.addrs, t.refs, t.used = make([]uint64, size), make([]Ref, size), make([]uint64, (size+63)/64)
	t.shift = 64 - log
	for i, addr := range old.addrs {
		if old.used[i/64]>>(i%64)&1 == 1 {
			at := t.find(addr)
			t.addrs[at], t.refs[at] = addr, old.refs[i]
			t.used[at/64] |= 1 << (at % 64)
		}
	}
}

// find returns the slot of an address, or the empty one where it belongs.
func (t *addrTable) find(addr uint64) int {
	hi, lo := bits.Mul64(addr^t.seed, 0x9e3779b97f4a7c15)
	at := int((hi ^ lo) >> t.shift)
	for t.used[at/64]>>(at%64)&1 == 1 && t.addrs[at] != addr {
		at = (at + 1) & (len(t.addrs) - 1)
	}
	return at
}

// slot returns where an address's block is kept. The pointer is good until the
// next call.
func (t *addrTable) slot(addr uint64) *Ref {
	at := t.find(addr)
	if t.used[at/64]>>(at%64)&1 == 0 {
		if t.n >= len(t.addrs)*3/4 {
			t.grow(64 - t.shift + 1)
			at = t.find(addr)
		}
		t.n++
		t.used[at/64] |= 1 << (at % 64)
		t.addrs[at], t.refs[at] = addr, NoRef
	}
	return &t.refs[at]
}

// get returns an address's block.
func (t *addrTable) get(addr uint64) Ref {
	at := t.find(addr)
	if t.used[at/64]>>(at%64)&1 == 0 {
		return NoRef
	}
	return t.refs[at]
}
