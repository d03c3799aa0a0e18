package memory

import (
	"runtime/metrics"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/process"
)

// Explanation is what a process's resident memory is made of.
type Explanation struct {
	RSS  int64 // the resident set size, as the system counts it, in bytes
	Rows []Row // the parts; they add up to RSS, and none is negative
}

// Row is a part of the resident memory.
type Row struct {
	Name  string
	Bytes int64
}

// Explain says what the process's resident memory is made of: tensors of rt (Ebb
// live), memory rt keeps for the next ones (Ebb cached), the parts of Go's heap
// in use and idle, Go's metadata (tables, profiles), stacks of goroutines, mapped
// files (the program itself, libraries, shared memory), and the rest, which is
// what none of these explains: the program's variables, the threads' stacks of
// the system, other runtimes of Ebb, C libraries.
//
// Everything counts as far as it is resident: a tensor that was made and never
// written is not. On Linux residence is read page by page for Ebb and mapping by
// mapping for Go. Inside Go's heap it is not known which pages are whose;
// of pages that were never touched, Go is taken to have them in objects rather
// than in idle memory. Elsewhere Ebb's and Go's own accounts stand, cut to what
// is resident, and mapped files are part of the rest.
//
// The error is the system's, if it does not tell.
func Explain(rt *ebb.Runtime) (*Explanation, error) {
	p, err := take(rt)
	if err != nil {
		return nil, err
	}
	return &Explanation{RSS: p.system.RSS, Rows: p.rows()}, nil
}

// String returns the explanation as an aligned table, its sum last.
func (e *Explanation) String() string {
	rows := make([][]string, 0, len(e.Rows)+1)
	for _, r := range e.Rows {
		rows = append(rows, []string{r.Name, ebb.FormatBytes(r.Bytes)})
	}
	return table(append(rows, []string{"RSS", ebb.FormatBytes(e.RSS)}))
}

// picture is what is known of a process's memory at one moment.
type picture struct {
	system       process.Figures
	live, cached int64    // of Ebb, resident
	heap         goHeap   // of Go, as it accounts for it
	mappings     mappings // of the system's, if it tells
}

// goHeap is Go's account of its memory. What it has returned is in none.
type goHeap struct {
	inUse    int64 // objects, and the free parts of spans that hold some
	idle     int64 // not in use and not returned
	stacks   int64 // of goroutines
	metadata int64 // everything else
}

// mappings is where anonymous memory is resident.
type mappings struct {
	known  bool
	arenas int64 // in the arenas of Go's heap, which also hold its stacks
	other  int64 // in mappings that are neither the program's nor arenas: Go's metadata, Ebb, and others
}

// take takes a picture. The system's total comes last.
func take(rt *ebb.Runtime) (picture, error) {
	var p picture
	var err error
	if p.live, p.cached, err = resident(rt); err != nil {
		return p, err
	}
	p.heap = readHeap()
	if p.mappings, err = readMappings(); err != nil {
		return p, err
	}
	p.system, err = process.Read()
	return p, err
}

// rows splits the resident set. Each part takes at most what is left, so that
// they add up to it whatever moved between two readings.
func (p *picture) rows() []Row {
	left := p.system.RSS
	cut := func(n int64) int64 {
		n = min(max(n, 0), left)
		left -= n
		return n
	}
	live, cached := cut(p.live), cut(p.cached)
	files := cut(p.system.File + p.system.Shmem)

	arenas, other := left, left
	if p.mappings.known {
		arenas, other = min(p.mappings.arenas, left), p.mappings.other-live-cached
	}
	// Stacks and idle memory were touched once; objects need not be.
	stacks := min(p.heap.stacks, arenas)
	idle := min(p.heap.idle, arenas-stacks)
	inUse := min(p.heap.inUse, arenas-stacks-idle)
	if p.mappings.known {
		idle = arenas - stacks - inUse // what Go has returned and the system still keeps is idle too
	}
	stacks, inUse, idle = cut(stacks), cut(inUse), cut(idle)
	metadata := cut(min(p.heap.metadata, other))
	return []Row{
		{"Ebb live", live},
		{"Ebb cached", cached},
		{"Go heap in use", inUse},
		{"Go heap idle", idle},
		{"Go metadata", metadata},
		{"stacks", stacks},
		{"mapped files", files},
		{"the rest", left},
	}
}

// readHeap reads Go's account from runtime/metrics.
func readHeap() goHeap {
	s := [...]metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(s[:])
	n := func(i int) int64 { return int64(s[i].Value.Uint64()) }
	h := goHeap{inUse: n(2) + n(3), idle: n(4), stacks: n(5)}
	h.metadata = n(0) - n(1) - h.inUse - h.idle - h.stacks
	return h
}
