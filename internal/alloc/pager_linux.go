//go:build !race

package alloc

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a transparent huge page on amd64 and on arm64 with
// 4 KiB pages.
const hugePage = 2 << 20

// systemPager maps anonymous private memory.
type systemPager struct{}

const (
	mapProt  = unix.PROT_READ | unix.PROT_WRITE
	mapFlags = unix.MAP_PRIVATE | unix.MAP_ANON
)

func (systemPager) mapPages(size uint64, huge bool) (mapping, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), mapProt, mapFlags)
	if err != nil {
		return mapping{}, err
	}
	if huge {
		if p, err = alignHuge(p, size); err != nil {
			return mapping{}, err
		}
	}
	m := mapping{addr: uint64(uintptr(p)), size: size, memory: p}
	if huge {
		systemPager{}.hugePages(m, m.addr, m.addr+m.size, true)
	}
	return m, nil
}

// alignHuge moves a fresh mapping to the next lower boundary of a huge page. The
// usual way, to map more and cut the ends off, would pass the limit for a moment.
// Linux hands addresses out downwards, so the room below is nearly always free;
// where it is not, the mapping lies wherever the system puts it.
func alignHuge(p unsafe.Pointer, size uint64) (unsafe.Pointer, error) {
	past := uint64(uintptr(p)) % hugePage
	if past == 0 {
		return p, nil
	}
	if err := unix.MunmapPtr(p, uintptr(size)); err != nil {
		return p, nil
	}
	aligned, err := unix.MmapPtr(-1, 0, unsafe.Add(p, -int(past)), uintptr(size), mapProt, mapFlags|unix.MAP_FIXED_NOREPLACE)
	if err == nil {
		return aligned, nil
	}
	return unix.MmapPtr(-1, 0, nil, uintptr(size), mapProt, mapFlags)
}

func (systemPager) unmap(m mapping) error {
	return unix.MunmapPtr(m.memory, uintptr(m.size))
}

func (systemPager) release(m mapping, from, to uint64) error {
	return unix.Madvise(m.bytes(from, to), unix.MADV_DONTNEED)
}

func (systemPager) hugePages(m mapping, from, to uint64, on bool) {
	advice := unix.MADV_NOHUGEPAGE
	if on {
		advice = unix.MADV_HUGEPAGE
	}
	_ = unix.Madvise(m.bytes(from, to), advice) // a kernel without huge pages refuses
}
