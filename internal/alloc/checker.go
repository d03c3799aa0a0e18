package alloc

import (
	"bytes"
	"fmt"
	"runtime"
)

// poison fills memory that no one owns, and blocks when they are handed out. It
// is a NaN in every floating-point format, so that what is read too early or too
// late shows in the result.
const poison = 0xFF

// checker finds writes to free memory, in builds with the tag invariants. It
// stands between the planner and the pager and keeps all holes poisoned, except
// for pages released to the system, which hold zeros until they are used again.
type checker struct {
	pager
	released map[uint64]struct{} // addresses of released pages
}

var (
	poisonPage = bytes.Repeat([]byte{poison}, int(pageSize))
	zeroPage   = make([]byte, pageSize)
)

func (c *checker) mapPages(size uint64, huge bool) (mapping, error) {
	m, err := c.pager.mapPages(size, huge)
	if err == nil {
		fill(m.bytes(m.addr, m.addr+m.size))
	}
	return m, err
}

func (c *checker) unmap(m mapping) error {
	c.verify(&m, m.addr, m.addr+m.size)
	if err := c.pager.unmap(m); err != nil {
		return err
	}
	c.forget(m.addr, m.addr+m.size)
	return nil
}

func (c *checker) release(m mapping, from, to uint64) error {
	c.verify(&m, from, to)
	if err := c.pager.release(m, from, to); err != nil {
		return err
	}
	for page := from; page < to; page += pageSize {
		c.released[page] = struct{}{}
	}
	return nil
}

// handOut checks that a block is as its last holder left it, and guards it.
func (c *checker) handOut(b *Block) {
	m := &b.segment.mapping
	c.verify(m, b.addr, b.end())
	if len(c.released) > 0 {
		// A released page was a hole from end to end, so all of it may be filled.
		for page := roundDown(b.addr, pageSize); page < b.end(); page += pageSize {
			if _, ok := c.released[page]; ok {
				fill(m.bytes(page, page+pageSize))
				delete(c.released, page)
			}
		}
	}
	guard(b)
}

// takeBack poisons a block that is being freed.
func (c *checker) takeBack(b *Block) {
	unguard(b)
	fill(b.segment.bytes(b.addr, b.end()))
}

func (c *checker) forget(from, to uint64) {
	if len(c.released) > 0 {
		for page := from; page < to; page += pageSize {
			delete(c.released, page)
		}
	}
}

// verify panics if a hole was written to.
func (c *checker) verify(m *mapping, from, to uint64) {
	for from < to {
		page := roundDown(from, pageSize)
		stop := min(page+pageSize, to)
		want, got := poisonPage[:stop-from], m.bytes(from, stop)
		if _, ok := c.released[page]; ok {
			want = zeroPage[:stop-from]
			if runtime.GOOS == "windows" { // released pages may hold anything
				want = got
			}
		}
		if !bytes.Equal(got, want) {
			for i := range got {
				if got[i] != want[i] {
					panic(fmt.Sprintf("alloc: free memory was written to: %#x holds %#02x", from+uint64(i), got[i]))
				}
			}
		}
		from = stop
	}
}

func fill(memory []byte) {
	for len(memory) > 0 {
		memory = memory[copy(memory, poisonPage):]
	}
}
