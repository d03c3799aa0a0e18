//go:build invariants

package alloc

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"
)

func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got, _ := recover().(string); !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}

func TestWriteAfterFree(t *testing.T) {
	for _, n := range []int{1, 5000, 3 << 20} {
		stale := func(a *Allocator) {
			b := mustAlloc(t, a, n)
			keep := mustAlloc(t, a, n) // holds the segment where small ones share it
			_ = keep
			p := (*byte)(b.Pointer())
			a.Free(b)
			*p = 0
		}
		a := New()
		stale(a)
		panics(t, "free memory was written to", func() { _, _ = a.Alloc(n) })
		a = New()
		stale(a)
		panics(t, "free memory was written to", func() { a.SetLimit(1); a.EmptyCache(); _ = a.Close(); _, _ = a.Alloc(n) })
	}
	a := New()
	b := mustAlloc(t, a, 100)
	p := (*byte)(b.Pointer())
	a.Free(b)
	*p = 0
	panics(t, "free memory was written to", func() { _ = a.Close() })
}

// Released pages are checked too, and blocks start poisoned whatever was there.
func TestReleasedAndPoison(t *testing.T) {
	a := New()
	block := func() *Block {
		b := mustAlloc(t, a, 64<<10)
		if m := memory(b); !bytes.Equal(m, bytes.Repeat([]byte{0xFF}, len(m))) {
			t.Fatal("a new block is not poisoned")
		}
		clear(memory(b))
		return b
	}
	b, keep := block(), block()
	p := unsafe.Add(b.Pointer(), 32<<10)
	a.Free(b)
	if a.EmptyCache() == 0 {
		t.Fatal("nothing released")
	}
	a.Free(block())
	a.EmptyCache()
	a.EmptyCache()
	*(*byte)(p) = 1
	panics(t, "free memory was written to", func() { _, _ = a.Alloc(64 << 10) })
	_ = keep
}

// A second Free is found even when the memory has been handed out again.
func TestFreeTwiceLate(t *testing.T) {
	a := New()
	b := mustAlloc(t, a, 100)
	a.Free(b)
	for range 100 {
		mustAlloc(t, a, 100)
	}
	panics(t, "freed twice", func() { a.Free(b) })
}

// TestOverrun touches the byte past a block, and the page before it, in a process
// of its own, which must crash.
func TestOverrun(t *testing.T) {
	if !guards {
		t.Skip("no guard pages under the race detector")
	}
	if where := os.Getenv("EBB_TEST_OVERRUN"); where != "" {
		a := New()
		for _, n := range []int{64, 100, 4096, 70_000, 2 << 20} {
			b := mustAlloc(t, a, n)
			p := b.Pointer()
			*(*byte)(unsafe.Add(p, b.Size()-1)) = 1
			switch where {
			case "after":
				*(*byte)(unsafe.Add(p, b.Size())) = 1
			case "before":
				*(*byte)(unsafe.Add(p, -int(pageSize))) = 1
			}
			os.Stdout.WriteString("survived\n")
			a.Free(b)
		}
		return
	}
	for where, want := range map[string]int{"after": 0, "before": 0, "nowhere": 5} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOverrun$")
		cmd.Env = append(os.Environ(), "EBB_TEST_OVERRUN="+where)
		out, err := cmd.CombinedOutput()
		if got := strings.Count(string(out), "survived"); got != want || (err != nil) != (want == 0) {
			t.Errorf("touching %s: %d survived, %v\n%s", where, got, err, out)
		}
		if want == 0 && !strings.Contains(string(out), "unexpected fault address") && !strings.Contains(string(out), "SIGSEGV") {
			t.Errorf("touching %s: no fault\n%s", where, out)
		}
	}
}

// More blocks than the system has mappings for: no guards, but no failure.
func TestManyGuardedBlocks(t *testing.T) {
	a := New()
	var bs []*Block
	for range 40_000 {
		bs = append(bs, mustAlloc(t, a, 64))
	}
	for _, b := range bs {
		a.Free(b)
	}
	mustClose(t, a)
}
