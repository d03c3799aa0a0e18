package timeline

import (
	"cmp"
	"slices"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// Growth is memory of one line that a loop leaves behind.
type Growth struct {
	Site  string `json:"site"`
	Kind  string `json:"kind"`
	Loop  int    `json:"loop"`  // index in Leaks.Loops
	Bytes uint64 `json:"bytes"` // by how much it grew over the loop
	Count int    `json:"count"` // by how many blocks
	Stack uint32 `json:"-"`

	BytesPerIteration float64 `json:"bytes_per_iteration"` // 0 where it grew once
	CountPerIteration float64 `json:"count_per_iteration"`
}

// Leaks is what the loops of a trace leave behind.
type Leaks struct {
	Loops []Loop
	Leaks []Growth // grows with every iteration, or every so many
	Once  []Growth // grew at first, or at one time, and stays
}

// samples is at how many iterations' ends the live bytes are compared.
const samples = 128

// maxGrowing bounds how many stacks are followed at once: those that grew most.
const maxGrowing = 8192

// Leaks finds the loops and, for every line, whether what it holds when an
// iteration ends grows from iteration to iteration. Blocks of an iteration under
// way, caches that fill once and blocks that replace each other do not count.
func (h *History) Leaks(n *Names) Leaks {
	r := Leaks{Loops: h.Loops()}
	if len(r.Loops) > 0 {
		kept := h.survivors()
		r.Loops = slices.DeleteFunc(r.Loops, func(l Loop) bool { return l.Marks == "" && !l.frees(kept) })
	}
	// What no loop explains is told by the main one.
	told := map[uint32]int{}
	for i := range r.Loops {
		if i > 0 && r.Loops[i].own(&r.Loops[0]) {
			for sig := range r.Loops[i].members {
				told[sig] = i
			}
		}
	}
	for i := range r.Loops {
		h.loopLeaks(n, &r, i, func(sig uint32) bool { return told[sig] == i })
	}
	r.Leaks, r.Once = mergeSites(r.Leaks), mergeSites(r.Once)
	return r
}

// survivors counts, by signature, the blocks live at the end of the trace.
func (h *History) survivors() map[uint32]int {
	sigs := h.signatures()
	kept := map[uint32]int{}
	w := h.Walk()
	w.To(h.Device.Trace.Len())
	for _, r := range w.Refs() {
		if r >= 0 {
			kept[sigs.of(h.Device.Trace.At(int(r)))]++
		}
	}
	return kept
}

// frees reports whether the loop frees anything it allocates. What only keeps is
// no loop of the program's work: a model being set up, or a leak at a regular
// distance in another loop.
func (l *Loop) frees(kept map[uint32]int) bool {
	for sig := range l.members {
		if kept[sig] < l.Iterations()/2 {
			return true
		}
	}
	return false
}

// mergeSites sums stacks of one line.
func mergeSites(list []Growth) []Growth {
	at := map[Growth]int{}
	var merged []Growth
	for _, g := range list {
		key := Growth{Site: g.Site, Kind: g.Kind, Loop: g.Loop}
		i, ok := at[key]
		if !ok {
			at[key] = len(merged)
			merged = append(merged, g)
			continue
		}
		m := &merged[i]
		m.Bytes += g.Bytes
		m.Count += g.Count
		m.BytesPerIteration += g.BytesPerIteration
		m.CountPerIteration += g.CountPerIteration
	}
	slices.SortStableFunc(merged, func(a, b Growth) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Site, b.Site))
	})
	return merged
}

// level is what one signature holds at an instant.
type level struct {
	bytes uint64
	count int
}

// course is what a signature holds at the sampled ends of iterations.
type course struct {
	sig    uint32
	stack  snapshot.StackID
	event  Ref // its first allocation, for its kind
	levels []level
}

func (h *History) loopLeaks(n *Names, r *Leaks, index int, tells func(sig uint32) bool) {
	l := &r.Loops[index]
	at := sampled(l.Bounds)
	for _, c := range h.courses(l, at, tells) {
		first, last := c.levels[0], c.levels[len(c.levels)-1]
		if last.bytes <= first.bytes {
			continue
		}
		b := h.Block(c.event)
		g := Growth{
			Site: n.Site(c.stack), Kind: n.Kind(&b), Loop: index, Stack: uint32(c.stack),
			Bytes: last.bytes - first.bytes, Count: last.count - first.count,
		}
		warm := warmUp(len(c.levels))
		if grows(c.levels[warm:]) {
			from := c.levels[warm]
			iterations := float64(at[len(at)-1] - at[warm])
			g.BytesPerIteration = float64(last.bytes-from.bytes) / iterations
			g.CountPerIteration = float64(last.count-from.count) / iterations
			r.Leaks = append(r.Leaks, g)
		} else {
			r.Once = append(r.Once, g)
		}
	}
}

// sampled returns which iterations' beginnings are looked at.
func sampled(bounds []int) []int {
	n := min(len(bounds), samples+1)
	at := make([]int, n)
	for i := range at {
		at[i] = i * (len(bounds) - 1) / (n - 1)
	}
	return at
}

// warmUp is how many samples belong to the first iterations, in which programs
// set up what they keep.
func warmUp(n int) int { return min(2, n/4) }

// courses follows what those of a loop's signatures hold whose level rose over it.
func (h *History) courses(l *Loop, at []int, tells func(sig uint32) bool) []course {
	ends := h.levels(l, []int{at[0], at[len(at)-1]}, nil)
	var rising []course
	for sig, c := range ends {
		if tells(sig) && c.levels[1].bytes > c.levels[0].bytes {
			rising = append(rising, *c)
		}
	}
	slices.SortFunc(rising, func(a, b course) int {
		return cmp.Or(cmp.Compare(b.levels[1].bytes-b.levels[0].bytes, a.levels[1].bytes-a.levels[0].bytes), cmp.Compare(a.sig, b.sig))
	})
	rising = rising[:min(len(rising), maxGrowing)]
	only := map[uint32]bool{}
	for _, c := range rising {
		only[c.sig] = true
	}
	followed := h.levels(l, at, only)
	for i := range rising {
		rising[i].levels = followed[rising[i].sig].levels
	}
	return rising
}

// levels returns what the signatures hold at the beginning of the given
// iterations; only those asked for, where only is not nil.
func (h *History) levels(l *Loop, at []int, only map[uint32]bool) map[uint32]*course {
	sigs := h.signatures()
	all := map[uint32]*course{}
	of := func(r Ref) *course {
		e := h.Device.Trace.At(int(r))
		sig := sigs.of(e)
		if only != nil && !only[sig] {
			return nil
		}
		c := all[sig]
		if c == nil {
			c = &course{sig: sig, stack: e.Stack, event: r, levels: make([]level, len(at)+1)}
			all[sig] = c
		}
		return c
	}
	// The last level of each course is the present one.
	w := h.Walk()
	for i := 0; i < len(at); {
		if w.Instant() >= l.Bounds[at[i]] {
			for _, c := range all {
				c.levels[i] = c.levels[len(at)]
			}
			i++
			continue
		}
		_, born, died, ok := w.Step()
		if !ok {
			break
		}
		if died >= 0 {
			if c := of(died); c != nil {
				c.levels[len(at)].bytes -= h.Asked(died)
				c.levels[len(at)].count--
			}
		}
		if born >= 0 {
			if c := of(born); c != nil {
				c.levels[len(at)].bytes += h.Asked(born)
				c.levels[len(at)].count++
			}
		}
	}
	for _, c := range all {
		c.levels = c.levels[:len(at)]
	}
	return all
}

// grows tells steady growth from growth that ended. The last quarter must lie
// above the first throughout, or it is a fluctuation; and the level must have
// risen in both halves alike, or still rise in both of the last quarters.
func grows(x []level) bool {
	n := len(x) - 1
	if n < 2 {
		return false
	}
	var highest uint64
	lowest := x[n].bytes
	for i := 0; i <= n/4; i++ {
		highest = max(highest, x[i].bytes)
		lowest = min(lowest, x[n-i].bytes)
	}
	if lowest <= highest {
		return false
	}
	rise := func(from, to int) float64 { return float64(x[to].bytes) - float64(x[from].bytes) }
	steps := 0
	for i := 1; i <= n; i++ {
		if x[i].bytes > x[i-1].bytes {
			steps++
		}
	}
	first, second := rise(0, n/2), rise(n/2, n)
	third, fourth := rise(n/2, n/2+(n-n/2)/2), rise(n/2+(n-n/2)/2, n)
	if third > 0 && fourth > 0 {
		return true
	}
	return steps >= 2 && first > 0 && second >= first/4 && (fourth > 0 || steps < 8)
}
