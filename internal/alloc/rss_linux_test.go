//go:build !race

package alloc

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// rssAnon returns the process's anonymous resident memory, in bytes.
func rssAnon(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no RssAnon in /proc/self/status")
	return 0
}

// EmptyCache gives the free pages of a segment back while a neighbour in it keeps
// its content, and Close gives back all (p#41486, p#83914, p#68114).
func TestResidentMemory(t *testing.T) {
	const near = 2 << 20
	a := New()
	debug.FreeOSMemory()
	baseline := rssAnon(t)

	// One segment of 64 MiB, cut into a kept block and holes; and many small blocks.
	a.Free(mustAlloc(t, a, 64<<20))
	var rest []*Block
	rest = append(rest, mustAlloc(t, a, 20<<20))
	keep := mustAlloc(t, a, 3<<20+64)
	rest = append(rest, mustAlloc(t, a, 30<<20))
	var kept []*Block
	n := 20_000
	if guards {
		n = 1_000
	}
	for i := range n {
		b := mustAlloc(t, a, 1000)
		if i%1000 == 0 {
			kept = append(kept, b)
		} else {
			rest = append(rest, b)
		}
	}
	for _, b := range append(rest, keep) {
		fillWith(memory(b), 7)
	}
	for i, b := range kept {
		fillWith(memory(b), byte(i))
	}
	if grown := rssAnon(t) - baseline; grown < 50<<20 {
		t.Fatalf("only %d bytes resident: nothing to give back", grown)
	}
	for _, b := range rest {
		a.Free(b)
	}
	if !guards && keep.segment.size != 64<<20 {
		t.Fatal("the kept block is not in the large segment")
	}
	mapped := a.Stats().Mapped
	returned := a.EmptyCache()
	if grown := rssAnon(t) - baseline; grown > 4<<20+near {
		t.Errorf("%d bytes resident after EmptyCache, 3 MiB are in use", grown)
	}
	if s := a.Stats(); returned < 50<<20 || s.Mapped > mapped || s.InUse != int64(keep.Size()+len(kept)*1024) {
		t.Errorf("EmptyCache returned %d: %+v", returned, s)
	}
	if again := a.EmptyCache(); again != 0 {
		t.Errorf("a second EmptyCache returned %d", again)
	}
	if m := memory(keep); !bytes.Equal(m, bytes.Repeat([]byte{7}, len(m))) {
		t.Error("EmptyCache changed a block in use")
	}
	for i, b := range kept {
		if m := memory(b); !bytes.Equal(m, bytes.Repeat([]byte{byte(i)}, len(m))) {
			t.Error("EmptyCache changed a small block in use")
		}
		a.Free(b)
	}

	// What was released can be used again.
	again := mustAlloc(t, a, 20<<20)
	fillWith(memory(again), 9)
	a.Free(again)
	a.Free(keep)
	mustClose(t, a)
	debug.FreeOSMemory()
	if grown := rssAnon(t) - baseline; grown > near {
		t.Errorf("%d bytes resident after Close", grown)
	}
}

func fillWith(m []byte, v byte) {
	for i := range m {
		m[i] = v
	}
}
