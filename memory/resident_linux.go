package memory

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"github.com/ebb-ml/ebb"
	"golang.org/x/sys/unix"
)

// resident returns how much of rt's memory is resident, in tensors and in the
// cache.
func resident(rt *ebb.Runtime) (live, cached int64, err error) {
	rt.VisitMemory(func(addr uintptr, bytes int64, inUse bool) {
		n, e := residentIn(addr, bytes)
		switch {
		case e != nil:
			err = e
		case inUse:
			live += n
		default:
			cached += n
		}
	})
	return live, cached, err
}

// residentIn returns how many of the bytes from addr lie in resident pages.
func residentIn(addr uintptr, bytes int64) (int64, error) {
	var pages [4096]byte // one each, whose lowest bit says resident
	size := uintptr(os.Getpagesize())
	var n int64
	for at, end := addr&^(size-1), addr+uintptr(bytes); at < end; at += size * uintptr(len(pages)) {
		count := min((end-at+size-1)/size, uintptr(len(pages)))
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, at, count*size, uintptr(unsafe.Pointer(&pages)))
		switch errno {
		case 0:
		case unix.ENOMEM, unix.ENOSYS: // unmapped meanwhile; a sandbox that cannot tell
			continue
		default:
			return 0, os.NewSyscallError("mincore", errno)
		}
		for i, p := range pages[:count] {
			if p&1 != 0 {
				page := at + uintptr(i)*size
				n += int64(min(page+size, end) - max(page, addr))
			}
		}
	}
	return n, nil
}

// readMappings sums the anonymous resident memory in /proc/self/smaps. It is
// unknown where the system has no such file.
func readMappings() (mappings, error) {
	f, err := os.Open("/proc/self/smaps")
	if errors.Is(err, fs.ErrNotExist) {
		return mappings{}, nil
	}
	if err != nil {
		return mappings{}, err
	}
	defer f.Close()
	all, err := parseMappings(f)
	m := classify(all, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(all))))) // the slice is on Go's heap
	return m, err
}

// mapping is one of the process's.
type mapping struct {
	low, high uint64
	named     bool // of a file, or by the kernel: the first thread's stack and such
	data      bool // a file's, writable and private, as a program's variables are
	anonymous int64
}

// parseMappings reads a file like /proc/self/smaps: for each mapping a line such
// as "00400000-0047e000 r-xp 00000000 fe:00 1234  /bin/ebb", then lines such as
// "Anonymous:  12 kB".
func parseMappings(smaps io.Reader) ([]mapping, error) {
	var all []mapping
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := bytes.Fields(lines.Bytes())
		if len(fields) < 2 {
			continue
		}
		if kib, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil && len(all) > 0 && string(fields[0]) == "Anonymous:" {
			all[len(all)-1].anonymous = kib << 10
			continue
		}
		from, to, _ := bytes.Cut(fields[0], []byte("-"))
		low, err1 := strconv.ParseUint(string(from), 16, 64)
		high, err2 := strconv.ParseUint(string(to), 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		m := mapping{low: low, high: high}
		// Go names its own [anon: Go: heap] and such, where the kernel can.
		if len(fields) > 5 && !bytes.HasPrefix(fields[5], []byte("[anon:")) {
			m.named = true
			m.data = fields[5][0] == '/' && string(fields[1]) == "rw-p"
		}
		all = append(all, m)
	}
	return all, lines.Err()
}

// classify sums the anonymous resident memory of mappings in order of address.
// Go's arenas are the neighbours, without a gap, of the one that an object on
// its heap lies in. A program's variables are in a mapping of its file and, where
// they start at zero, in one without a name directly behind it.
func classify(all []mapping, heap uint64) mappings {
	m := mappings{known: true}
	at := slices.IndexFunc(all, func(v mapping) bool { return v.low <= heap && heap < v.high })
	first, last := at, at
	if at >= 0 {
		for first > 0 && !all[first-1].named && all[first-1].high == all[first].low {
			first--
		}
		for last+1 < len(all) && !all[last+1].named && all[last].high == all[last+1].low {
			last++
		}
	}
	for i, v := range all {
		switch {
		case at >= 0 && first <= i && i <= last:
			m.arenas += v.anonymous
		case v.named, i > 0 && all[i-1].data && all[i-1].high == v.low:
		default:
			m.other += v.anonymous
		}
	}
	return m
}
