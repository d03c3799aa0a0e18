//go:build !race

package alloc

import "golang.org/x/sys/unix"

// systemPager maps anonymous private memory. Darwin has huge pages only for
// mappings of their own kind, which cannot be returned in part; it gets none.
type systemPager struct{}

const (
	mapProt  = unix.PROT_READ | unix.PROT_WRITE
	mapFlags = unix.MAP_PRIVATE | unix.MAP_ANON
)

func (systemPager) mapPages(size uint64, _ bool) (mapping, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), mapProt, mapFlags)
	if err != nil {
		return mapping{}, err
	}
	return mapping{addr: uint64(uintptr(p)), size: size, memory: p}, nil
}

func (systemPager) unmap(m mapping) error {
	return unix.MunmapPtr(m.memory, uintptr(m.size))
}

// release maps new pages over the old. Darwin's madvise has no call that frees
// pages at once: MADV_DONTNEED keeps them, MADV_FREE waits for pressure, and
// MADV_FREE_REUSABLE needs a call before every reuse.
func (systemPager) release(m mapping, from, to uint64) error {
	_, err := unix.MmapPtr(-1, 0, m.at(from), uintptr(to-from), mapProt, mapFlags|unix.MAP_FIXED)
	return err
}

func (systemPager) hugePages(mapping, uint64, uint64, bool) {}
