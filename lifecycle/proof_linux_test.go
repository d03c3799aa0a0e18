package lifecycle_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
	"golang.org/x/sys/unix"
)

// touch maps and fills memory that belongs neither to Ebb nor to Go.
func touch(t *testing.T, size int) []byte {
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m {
		m[i] = 1
	}
	return m
}

// The ledgers alone are no proof: memory that the system still counts, and that
// is not Go's, is not back.
func TestForeignMemory(t *testing.T) {
	if !lifecycle.Decides() {
		t.Skip("the system's figure does not decide here")
	}
	rt := ebb.NewRuntime()
	life := lifecycle.Start(rt, "test")
	m := touch(t, 16<<20)
	defer unix.Munmap(m)
	err := life.Free()
	if !errors.Is(err, ebb.ErrLeak) || !strings.Contains(err.Error(), "above InitialState") {
		t.Errorf("Free: %v", err)
	}
	if life.Report().Freed {
		t.Error("freed")
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

// Go values that the program keeps are Go's, and the report says so.
func TestGoMemory(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := lifecycle.Start(rt, "test")
	kept := make([]byte, 16<<20)
	for i := range kept {
		kept[i] = 1
	}
	if err := life.Free(); err != nil {
		t.Error(err)
	}
	r := life.Report()
	first, last := r.States[0], r.States[len(r.States)-1]
	if n := last.Go - first.Go; n < 15<<20 {
		t.Errorf("Go's share grew by %d", n)
	}
	if kept[len(kept)-1] != 1 {
		t.Error("lost")
	}
}

// The scope's 8 MiB are in the system's figure while they live and gone at the end.
func TestRSSFollows(t *testing.T) {
	if !lifecycle.Decides() {
		t.Skip("the system's figure does not decide here")
	}
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := live(t, rt)
	if err := life.Free(); err != nil {
		t.Fatal(err)
	}
	r := life.Report()
	first, run, last := r.States[0].RSSAnon, r.States[3].RSSAnon, r.States[5].RSSAnon
	if run < first+1<<20 {
		t.Errorf("RssAnon %d at ModelRun, %d at InitialState", run, first)
	}
	if last > first+2<<20 {
		t.Errorf("RssAnon %d at MemoryFreed, %d at InitialState", last, first)
	}
	t.Log(r)
}
