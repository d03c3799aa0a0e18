package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const status = `Name:	train
Umask:	0022
State:	R (running)
Groups:	0 4 20
VmPeak:	   20480 kB
VmHWM:	    9000 kB
VmRSS:	    7000 kB
RssAnon:	    4000 kB
RssFile:	    2500 kB
RssShmem:	     500 kB
VmSwap:	      12 kB
Threads:	9
`

func TestParseStatus(t *testing.T) {
	without := func(names ...string) string {
		s := status
		for _, name := range names {
			i := strings.Index(s, "\n"+name+":")
			s = s[:i] + s[i+1+strings.IndexByte(s[i+1:], '\n'):]
		}
		return s
	}
	with := func(old, new string) string { return strings.Replace(status, old, new, 1) }
	all := Figures{RSS: 7000 << 10, Split: true, Anon: 4000 << 10, File: 2500 << 10, Shmem: 500 << 10, Swap: 12 << 10, Peak: 9000 << 10}
	noSwap := all
	noSwap.Swap = 0

	cases := []struct {
		name, text string
		want       Figures
		field      string // of the error
	}{
		{"whole", status, all, ""},
		{"without swap", without("VmSwap"), noSwap, ""},
		{"before Linux 4.5", without("RssAnon", "RssFile", "RssShmem"), Figures{RSS: 7000 << 10}, ""},
		{"half of the split", without("RssShmem"), Figures{RSS: 7000 << 10}, ""},
		{"no last newline", strings.TrimSuffix(status, "\n"), all, ""},
		{"in many groups", with("0 4 20", strings.Repeat("1000 ", 20000)), all, ""},
		{"ended", without("VmRSS", "RssAnon", "RssFile", "RssShmem"), Figures{}, "VmRSS"},
		{"empty", "", Figures{}, "VmRSS"},
		{"no number", with("7000 kB", "many kB"), Figures{}, "VmRSS"},
		{"no unit", with("4000 kB", "4000"), Figures{}, "RssAnon"},
		{"another unit", with("2500 kB", "2500 MB"), Figures{}, "RssFile"},
		{"negative", with("500 kB", "-1 kB"), Figures{}, "RssFile"},
		{"nothing", with("7000 kB", " kB"), Figures{}, "VmRSS"},
		{"too large", with("7000 kB", "9007199254740992 kB"), Figures{}, "VmRSS"},
		{"far too large", with("7000 kB", "99999999999999999999 kB"), Figures{}, "VmRSS"},
		{"cut in a number", status[:strings.Index(status, "4000 kB")+2], Figures{}, "RssAnon"},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), "status")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readStatus(path)
		var fe *FormatError
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.field != "" && (!errors.As(err, &fe) || fe.Field != c.field || fe.Path != path || fe.Error() == ""):
			t.Errorf("%s: error %v, want one about %s", c.name, err, c.field)
		case got != c.want:
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	for i := range status { // cut anywhere: right figures or an error
		f, err := parseStatus("status", []byte(status[:i]))
		if err == nil && f.RSS != all.RSS || f.Split && (f.Anon != all.Anon || f.File != all.File || f.Shmem != all.Shmem) {
			t.Errorf("cut at %d: %+v", i, f)
		}
	}
}

func TestReadFailures(t *testing.T) {
	if _, err := readStatus(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := ReadPID(1<<31 - 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
	if _, err := readStatus(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
}

func TestReadAllocatesNextToNothing(t *testing.T) {
	if _, err := Read(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { Read() }); n > 1 { // the path's copy with its 0 byte
		t.Errorf("%v allocations", n)
	}
}

// Memory appears where it belongs when touched and is gone when unmapped.
func TestFiguresFollowMappings(t *testing.T) {
	first, err := Read()
	if err != nil || !first.Split {
		t.Skipf("no split figures here: %v", err)
	}
	const size, slack = 64 << 20, 8 << 20 // slack for the Go runtime's own doings
	file, err := os.Create(filepath.Join(t.TempDir(), "pages"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	anon := func(f Figures) int64 { return f.Anon }
	mapped := func(f Figures) int64 { return f.File + f.Shmem } // Shmem if the folder is in a tmpfs
	for _, c := range []struct {
		name        string
		fd, flags   int
		prot        int
		grows, same func(Figures) int64
	}{
		{"anonymous", -1, syscall.MAP_PRIVATE | syscall.MAP_ANON, syscall.PROT_READ | syscall.PROT_WRITE, anon, mapped},
		{"file", int(file.Fd()), syscall.MAP_SHARED, syscall.PROT_READ | syscall.PROT_WRITE, mapped, anon},
	} {
		before, _ := Read()
		m, err := syscall.Mmap(c.fd, 0, size, c.prot, c.flags)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < size; i += 4096 {
			m[i] = 1
		}
		during, _ := Read()
		if err := syscall.Munmap(m); err != nil {
			t.Fatal(err)
		}
		after, _ := Read()
		if d := c.grows(during) - c.grows(before); d < size-slack || d > size+slack {
			t.Errorf("%s: grew by %d, want about %d", c.name, d, size)
		}
		if d := c.same(during) - c.same(before); d > slack {
			t.Errorf("%s: the rest grew by %d", c.name, d)
		}
		if d := c.grows(after) - c.grows(before); d > slack {
			t.Errorf("%s: %d left after unmapping", c.name, d)
		}
		if during.Peak < during.RSS || after.Peak < during.RSS-slack {
			t.Errorf("%s: peak %d, then %d, of %d", c.name, during.Peak, after.Peak, during.RSS)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(); err != nil {
			b.Fatal(err)
		}
	}
}
