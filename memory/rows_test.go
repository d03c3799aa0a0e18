package memory

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/process"
	"pgregory.net/rapid"
)

// Whatever the figures, which are read one after another while the process goes
// on, the rows add up and none is negative.
func TestRowsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int64 { return rapid.Int64Range(0, 1<<40).Draw(t, name) }
		p := picture{
			system: process.Figures{RSS: n("rss"), File: n("file"), Shmem: n("shmem")},
			live:   n("live"), cached: n("cached"),
			heap:     goHeap{n("in use"), n("idle"), n("stacks"), n("metadata")},
			mappings: mappings{rapid.Bool().Draw(t, "known"), n("arenas"), n("other")},
		}
		var sum int64
		for _, r := range p.rows() {
			if r.Bytes < 0 {
				t.Fatalf("%s is %d", r.Name, r.Bytes)
			}
			sum += r.Bytes
		}
		if sum != p.system.RSS {
			t.Fatalf("sum %d, RSS %d", sum, p.system.RSS)
		}
	})
}

func TestRows(t *testing.T) {
	p := picture{
		system: process.Figures{RSS: 1000, Anon: 800, File: 150, Shmem: 50},
		live:   300, cached: 100,
		heap:     goHeap{inUse: 500, idle: 40, stacks: 20, metadata: 90},
		mappings: mappings{known: true, arenas: 200, other: 440},
	}
	// Of 560 bytes in arenas 200 are resident: idle and stacks whole, objects with
	// what is left. Of 440 elsewhere 400 are Ebb's.
	want := []Row{{"Ebb live", 300}, {"Ebb cached", 100}, {"Go heap in use", 140}, {"Go heap idle", 40},
		{"Go metadata", 40}, {"stacks", 20}, {"mapped files", 200}, {"the rest", 160}}
	for i, r := range p.rows() {
		if r != want[i] {
			t.Errorf("%v, want %v", r, want[i])
		}
	}
	p.mappings.arenas = 400 // more than Go has: the system kept pages that Go returned
	p.heap.inUse = 300
	if got := p.rows()[3].Bytes; got != 80 {
		t.Errorf("idle %d, want 80", got)
	}
}
