package timeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// Loop is a part of the program that the trace shows again and again.
type Loop struct {
	Bounds []int  // instants at which iterations begin, and the last one ends
	Marks  string // the marks that tell, with "#" for what counts; "" where stacks do
	Anchor snapshot.StackID
	Share  float64 // of all allocations: those that every iteration makes alike

	members map[uint32]bool // the allocations' signatures
}

// own reports whether what belongs to the loop is told by it and not by the main
// one: the two are of different parts of the program, or run side by side. One
// that ends early inside the main loop is a phase of it, such as a cache filling.
func (l *Loop) own(main *Loop) bool {
	length := func(l *Loop) float64 { return float64(l.Bounds[len(l.Bounds)-1] - l.Bounds[0]) }
	overlap := float64(min(l.Bounds[len(l.Bounds)-1], main.Bounds[len(main.Bounds)-1]) - max(l.Bounds[0], main.Bounds[0]))
	return overlap < 0.2*length(l) || overlap > 0.6*length(main)
}

// Iterations returns how many iterations the loop has.
func (l *Loop) Iterations() int { return len(l.Bounds) - 1 }

const (
	minIterations = 4
	maxLoops      = 4
	maxCandidates = 12
)

// signatures tells allocations apart: by stack or, where none was recorded, by
// size.
type signatures struct {
	sizes map[uint64]uint32
	next  uint32
}

// signatures returns the one table of the history, so that ids mean the same in
// every pass.
func (h *History) signatures() *signatures {
	if h.sigs == nil {
		h.sigs = &signatures{sizes: map[uint64]uint32{}, next: uint32(h.Snapshot.NumStacks())}
	}
	return h.sigs
}

// of returns the signature of an allocation.
func (s *signatures) of(e snapshot.Event) uint32 {
	if e.Stack != 0 {
		return uint32(e.Stack)
	}
	id, ok := s.sizes[e.Size]
	if !ok {
		id = s.next
		s.next++
		s.sizes[e.Size] = id
	}
	return id
}

// Loops finds the loops of a trace, the one that explains most first: by marks
// that count (annotations such as ProfilerStep#12, or marks in the trace), or by
// stacks that come again and again with the same others between them.
func (h *History) Loops() []Loop {
	f := &loopFinder{h: h, sigs: h.signatures()}
	f.collect()
	var loops []Loop
	if bounds, name := h.marks(); bounds != nil {
		l := Loop{Bounds: bounds, Marks: name}
		f.cover(&l)
		loops = append(loops, l)
		f.exclude(&l)
	}
	for len(loops) < maxLoops {
		l, ok := f.best()
		if !ok {
			break
		}
		loops = append(loops, l)
		f.exclude(&l)
	}
	return loops
}

type loopFinder struct {
	h        *History
	sigs     *signatures
	sequence []uint32 // the signatures of all allocations
	instants []int32  // their events
	counts   []int    // of each signature
	first    []int    // where in sequence each comes first
	excluded []bool   // explained by a loop already
}

func (f *loopFinder) collect() {
	for i, e := range f.h.Device.Trace.All() {
		if f.h.Snapshot.Action(e.Class) == snapshot.Alloc {
			f.sequence = append(f.sequence, f.sigs.of(e))
			f.instants = append(f.instants, int32(i))
		}
	}
	f.counts, f.first = make([]int, f.sigs.next), make([]int, f.sigs.next)
	f.excluded = make([]bool, f.sigs.next)
	for i, s := range f.sequence {
		if f.counts[s] == 0 {
			f.first[s] = i
		}
		f.counts[s]++
	}
}

func (f *loopFinder) exclude(l *Loop) {
	for s := range l.members {
		f.excluded[s] = true
	}
}

// best returns the loop that explains most of what no other one does. Of loops
// that explain nearly as much it takes the one with the most iterations: steps,
// not epochs.
func (f *loopFinder) best() (Loop, bool) {
	var loops []Loop
	most := 0.0
	for _, anchor := range f.candidates() {
		l := Loop{Anchor: f.stackOf(anchor)}
		for i, s := range f.sequence {
			if s == anchor {
				l.Bounds = append(l.Bounds, int(f.instants[i]))
			}
		}
		f.cover(&l)
		most = max(most, l.Share)
		loops = append(loops, l)
	}
	slices.SortStableFunc(loops, func(a, b Loop) int { return cmp.Compare(len(b.Bounds), len(a.Bounds)) })
	for _, l := range loops {
		if l.Share > 0 && l.Share >= 0.9*most {
			return l, true
		}
	}
	return Loop{}, false
}

func (f *loopFinder) stackOf(sig uint32) snapshot.StackID {
	if int(sig) < f.h.Snapshot.NumStacks() {
		return snapshot.StackID(sig)
	}
	return 0
}

// candidates returns signatures to divide the trace at: of those that come
// equally often the first, for the counts that make up most of the trace.
func (f *loopFinder) candidates() []uint32 {
	type group struct {
		count, events, first int
		sig                  uint32
	}
	groups := map[int]*group{}
	for s, n := range f.counts {
		if n <= minIterations || f.excluded[s] {
			continue
		}
		g := groups[n]
		if g == nil {
			g = &group{count: n, first: len(f.sequence)}
			groups[n] = g
		}
		g.events += n
		if f.first[s] < g.first {
			g.first, g.sig = f.first[s], uint32(s)
		}
	}
	list := make([]*group, 0, len(groups))
	for _, g := range groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.events, a.events), cmp.Compare(b.count, a.count))
	})
	var sigs []uint32
	for _, g := range list[:min(len(list), maxCandidates)] {
		sigs = append(sigs, g.sig)
	}
	return sigs
}

// cover finds the signatures that come equally often in at least four of five
// iterations, and which share of the allocations they are.
func (f *loopFinder) cover(l *Loop) {
	k := l.Iterations()
	expect, now, right := make([]int32, len(f.counts)), make([]int32, len(f.counts)), make([]int32, len(f.counts))
	from, _ := slices.BinarySearch(f.instants, int32(l.Bounds[0]))
	to, _ := slices.BinarySearch(f.instants, int32(l.Bounds[k]))
	total := make([]int, len(f.counts))
	for _, s := range f.sequence[from:to] {
		total[s]++
	}
	for s, n := range total {
		expect[s] = int32((n + k/2) / k)
	}
	var seen []uint32
	settle := func() {
		for _, s := range seen {
			if now[s] == expect[s] {
				right[s]++
			}
			now[s] = 0
		}
		seen = seen[:0]
	}
	next := 1
	for i := from; i < to; i++ {
		for int(f.instants[i]) >= l.Bounds[next] {
			settle()
			next++
		}
		s := f.sequence[i]
		if now[s] == 0 {
			seen = append(seen, s)
		}
		now[s]++
	}
	settle()
	l.members = map[uint32]bool{}
	covered := 0
	for s, n := range right {
		if int(n)*5 >= k*4 && !f.excluded[s] {
			l.members[uint32(s)] = true
			covered += total[s]
		}
	}
	l.Share = float64(covered) / float64(max(len(f.sequence), 1))
}

// marks returns the instants of the marks that count iterations: starts of the
// device's annotations, and marks in the trace, whose names differ in a number
// alone. Of several it takes the most.
func (h *History) marks() (bounds []int, name string) {
	type series struct {
		bounds []int
		names  map[string]bool
	}
	all := map[string]*series{}
	add := func(text string, instant int) {
		key := numberless(text)
		if key == text {
			return
		}
		s := all[key]
		if s == nil {
			s = &series{names: map[string]bool{}}
			all[key] = s
		}
		if n := len(s.bounds); n == 0 || s.bounds[n-1] < instant {
			s.bounds = append(s.bounds, instant)
		}
		s.names[text] = true
	}
	for i := range h.Snapshot.Annotations {
		if a := &h.Snapshot.Annotations[i]; a.Start && (a.Device == h.Device.Index || a.Device < 0) {
			add(a.Name, h.InstantOf(a.Time))
		}
	}
	for i, e := range h.Device.Trace.All() {
		if c := h.Snapshot.Class(e.Class); c.Action == snapshot.Annotate && e.Addr == 0 {
			add(h.Snapshot.String(c.Metadata), i)
		}
	}
	for key, s := range all {
		// Names that repeat count something inside an iteration, such as layers.
		if len(s.names) < len(s.bounds) || len(s.bounds) <= minIterations {
			continue
		}
		if len(s.bounds) > len(bounds) || len(s.bounds) == len(bounds) && key < name {
			bounds, name = s.bounds, key
		}
	}
	return bounds, name
}

// numberless replaces the numbers in a name by "#".
func numberless(text string) string {
	var b strings.Builder
	digits := false
	for _, r := range text {
		if '0' <= r && r <= '9' {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return b.String()
}
