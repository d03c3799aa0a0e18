package process

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"
)

func read(pid int) (Figures, error) {
	path := "/proc/self/status"
	if pid != self {
		path = "/proc/" + strconv.Itoa(pid) + "/status"
	}
	return readStatus(path)
}

// rooms keeps what readStatus reads into.
var rooms = sync.Pool{New: func() any { return new([4096]byte) }}

// readStatus reads a file like /proc/self/status. It goes to the system calls
// itself: os.ReadFile would allocate, and register with the poller.
func readStatus(path string) (Figures, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return Figures{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	room := rooms.Get().(*[4096]byte)
	defer rooms.Put(room)
	status := room[:0] // outgrown only by processes in very many groups
	for {
		n, err := syscall.Read(fd, status[len(status):cap(status)])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return Figures{}, &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return parseStatus(path, status)
		}
		status = status[:len(status)+n]
		if len(status) == cap(status) {
			status = append(status, 0)[:len(status)]
		}
	}
}

// memoryLines are the lines of /proc/PID/status that tell memory, in the order of
// Figures. Those with Rss are there since Linux 4.5.
var memoryLines = [...]string{"VmRSS", "RssAnon", "RssFile", "RssShmem", "VmSwap", "VmHWM"}

// parseStatus reads lines such as "RssAnon:	   1234 kB".
func parseStatus(path string, status []byte) (Figures, error) {
	var values [len(memoryLines)]int64
	var found [len(memoryLines)]bool
	for len(status) > 0 {
		var line []byte
		line, status, _ = bytes.Cut(status, []byte("\n"))
		name, text, _ := bytes.Cut(line, []byte(":"))
		for i := range memoryLines {
			if memoryLines[i] == string(name) {
				kib, ok := parseKB(text)
				if !ok {
					return Figures{}, &FormatError{path, memoryLines[i], string(bytes.TrimSpace(text))}
				}
				values[i], found[i] = kib<<10, true
			}
		}
	}
	if !found[0] { // a kernel thread, or a process that has ended
		return Figures{}, &FormatError{Path: path, Field: memoryLines[0]}
	}
	if !found[1] || !found[2] || !found[3] {
		return Figures{RSS: values[0]}, nil
	}
	return Figures{
		RSS: values[0], Split: true, Anon: values[1], File: values[2], Shmem: values[3], Swap: values[4], Peak: values[5],
	}, nil
}

// parseKB returns the number in text such as "  1234 kB". The kernel's kB are
// 1,024 bytes.
func parseKB(text []byte) (int64, bool) {
	text, ok := bytes.CutSuffix(bytes.TrimSpace(text), []byte(" kB"))
	if !ok || len(text) == 0 {
		return 0, false
	}
	var n int64
	for _, c := range text {
		if c < '0' || c > '9' || n > math.MaxInt64>>10/10-1 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

func descriptors() (int, error) { return entries("/proc/self/fd") }
