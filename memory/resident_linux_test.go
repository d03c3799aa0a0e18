package memory

import (
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestClassify(t *testing.T) {
	smaps := `00400000-005d6000 r-xp 00000000 fe:00 1                            /bin/ebb
Rss:                 900 kB
Anonymous:             0 kB
005d6000-0081d000 rw-p 003e8000 fe:00 1                            /bin/my ebb
Anonymous:            12 kB
0081d000-02856000 rw-p 00000000 00:00 0 
Anonymous:           100 kB
386d4000000-386d5c00000 ---p 00000000 00:00 0 
Anonymous:             0 kB
386d5c00000-386d8400000 rw-p 00000000 00:00 0                      [anon: Go: heap]
Rss:                9999 kB
Anonymous:          2000 kB
VmFlags: rd wr mr mw me ac sd
7f74542e0000-7f7454500000 rw-p 00000000 00:00 0 
Anonymous:           300 kB
7f7454500000-7f7456600000 r--p 00000000 00:00 7                    /lib/weights
Anonymous:             8 kB
7f7456600000-7f7457600000 rw-p 00000000 00:00 0 
Anonymous:            40 kB
7ffc17a0b000-7ffc17a2c000 rw-p 00000000 00:00 0                    [stack]
Anonymous:            16 kB
`
	all, err := parseMappings(strings.NewReader(smaps))
	if err != nil || len(all) != 9 {
		t.Fatalf("%d mappings, %v", len(all), err)
	}
	if got, want := classify(all, 0x386d5c00040), (mappings{known: true, arenas: 2000 << 10, other: 340 << 10}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// An address outside every mapping, as after a heap that moved.
	if got, want := classify(all, 1), (mappings{known: true, other: 2340 << 10}); got != want {
		t.Errorf("without arenas %+v, want %+v", got, want)
	}
}

func TestResidentIn(t *testing.T) {
	page := unix.Getpagesize()
	m, err := unix.Mmap(-1, 0, 8*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE)
	m[0], m[3*page] = 1, 1
	base := addressOf(m)
	for _, c := range []struct{ from, n, want int }{
		{0, 8 * page, 2 * page},
		{100, 50, 50},
		{page - 10, 20, 10},
		{page, 2 * page, 0},
		{2*page + 7, page, 7},
		{0, 0, 0},
	} {
		got, err := residentIn(base+uintptr(c.from), int64(c.n))
		if err != nil || got != int64(c.want) {
			t.Errorf("%d bytes from %d: %d resident, want %d (%v)", c.n, c.from, got, c.want, err)
		}
	}
}

func addressOf(m []byte) uintptr { return uintptr(unsafe.Pointer(&m[0])) }
