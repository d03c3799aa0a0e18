package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-ml/ebb"
)

// GrowthReport says what a step that was run again and again leaves behind.
type GrowthReport struct {
	Steps  int
	Before int64      // bytes live before the first step
	After  []int64    // bytes live after each step
	Grows  []Leftover // what goes on growing, the most a step first
	Once   []Leftover // what grew and then stayed: state made on first use, buffers that filled up
}

// Leftover is what one line leaves behind.
type Leftover struct {
	Kind    ebb.Kind
	Module  string
	Op      string
	Site    ebb.Site
	Example ebb.Holding // one that was left, the last made
	Bytes   int64       // in all
	Count   int         // tensors more than before the first step
	Live    []int64     // bytes more than before the first step, after each step
}

// PerStep returns the bytes the line leaves behind a step, on average.
func (l *Leftover) PerStep() float64 { return float64(l.Bytes) / float64(len(l.Live)) }

// Growth runs a step n times, at least three, and reports what of its memory is
// still live afterwards, by the line that made it. Growth that goes on from step
// to step is a leak; what grew in the first steps alone is told apart from it:
//
//	r, err := memory.Growth(rt, 20, func(i int) error { return trainStep(batches[i]) })
//	if err != nil { ... }
//	if len(r.Grows) > 0 { t.Error(r) }
//
// A line goes on growing if what it holds reached a new height at least twice
// after the first step, and the last time not longer ago than the longest pause
// between two. So what is kept every tenth step alone is found in some thirty
// steps. An error of step ends the run and is returned with what was seen so far.
func Growth(rt *ebb.Runtime, n int, step func(i int) error) (*GrowthReport, error) {
	if n < 3 {
		return nil, &ebb.Error{Kind: ebb.ErrValue, Op: "growth", Given: fmt.Sprintf("%d steps, expected at least 3", n),
			Advice: "growth shows from step to step"}
	}
	g := growth{lines: map[lineKey]*Leftover{}, report: &GrowthReport{}}
	g.start(rt.Holdings())
	var err error
	for i := range n {
		if err = step(i); err != nil {
			break
		}
		g.see(rt.Holdings())
	}
	g.finish()
	return g.report, err
}

// lineKey is a line of the program. Shapes are not part of it: a list that is
// joined to a longer one each step has another each time.
type lineKey struct {
	kind       ebb.Kind
	module, op string
	site       ebb.Site
}

type growth struct {
	lines  map[lineKey]*Leftover
	before map[lineKey]held
	report *GrowthReport
}

type held struct {
	bytes int64
	count int
	last  ebb.Holding
}

// byLine sums holdings by the line that made them.
func byLine(hs []ebb.Holding) (lines map[lineKey]held, bytes int64) {
	lines = map[lineKey]held{}
	for _, h := range hs {
		k := lineKey{h.Kind, h.Module, h.Op, h.Site}
		l := lines[k]
		l.bytes += h.Bytes
		l.count++
		if h.Number >= l.last.Number {
			l.last = h
		}
		lines[k] = l
		bytes += h.Bytes
	}
	return lines, bytes
}

func (g *growth) start(hs []ebb.Holding) { g.before, g.report.Before = byLine(hs) }

// see takes note of what is live after a step.
func (g *growth) see(hs []ebb.Holding) {
	now, bytes := byLine(hs)
	r := g.report
	for k, h := range now {
		l := g.lines[k]
		if l == nil {
			l = &Leftover{Kind: k.kind, Module: k.module, Op: k.op, Site: k.site, Live: make([]int64, r.Steps)}
			for i := range l.Live {
				l.Live[i] = -g.before[k].bytes // none of it was there after the steps so far
			}
			g.lines[k] = l
		}
		l.Example = h.last
	}
	for k, l := range g.lines {
		was, is := g.before[k], now[k]
		l.Bytes, l.Count = is.bytes-was.bytes, is.count-was.count
		l.Live = append(l.Live, l.Bytes)
	}
	r.Steps++
	r.After = append(r.After, bytes)
}

// finish sorts the lines that hold more than before.
func (g *growth) finish() {
	r := g.report
	for _, l := range g.lines {
		switch {
		case l.Bytes <= 0 && l.Count <= 0:
		case goesOn(l.Live):
			r.Grows = append(r.Grows, *l)
		default:
			r.Once = append(r.Once, *l)
		}
	}
	for _, list := range [][]Leftover{r.Grows, r.Once} {
		slices.SortFunc(list, func(a, b Leftover) int {
			return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Site.String(), b.Site.String()), cmp.Compare(a.Kind, b.Kind))
		})
	}
}

// goesOn reports whether a line's bytes after each step go on growing; see Growth.
func goesOn(live []int64) bool {
	heights, last, pause := 0, 0, 0
	most := max(live[0], 0)
	for i, n := range live {
		if i == 0 || n <= most {
			continue
		}
		if heights > 0 {
			pause = max(pause, i-last)
		}
		most, last = n, i
		heights++
	}
	return heights >= 2 && len(live)-1-last <= pause
}

// String describes the growth for people.
func (r *GrowthReport) String() string {
	var b strings.Builder
	after := r.Before
	if n := len(r.After); n > 0 {
		after = r.After[n-1]
	}
	fmt.Fprintf(&b, "%d steps: %s live before, %s after\n", r.Steps, ebb.FormatBytes(r.Before), ebb.FormatBytes(after))
	if len(r.Grows) == 0 {
		b.WriteString("nothing grows from step to step\n")
	} else {
		b.WriteString("grows from step to step:\n")
	}
	for i := range r.Grows {
		l := &r.Grows[i]
		fmt.Fprintf(&b, "  %s a step (%s in all): %s\n", ebb.FormatBytes(int64(l.PerStep()+0.5)), ebb.FormatBytes(l.Bytes), l)
	}
	if len(r.Once) > 0 {
		b.WriteString("grew once:\n")
	}
	for i := range r.Once {
		fmt.Fprintf(&b, "  %s: %s\n", ebb.FormatBytes(r.Once[i].Bytes), &r.Once[i])
	}
	return b.String()
}

// String describes the leftover: how many, of what, where they are kept and which
// line made them.
func (l *Leftover) String() string {
	var b strings.Builder
	if l.Count > 0 {
		fmt.Fprintf(&b, "%d more %s", l.Count, l.Kind)
	} else {
		fmt.Fprintf(&b, "larger %s", l.Kind)
	}
	fmt.Fprintf(&b, ", the last %s%v in %s", l.Example.DType, l.Example.Shape, l.Example.Owner)
	if l.Module != "" {
		fmt.Fprintf(&b, ", %s", l.Module)
	}
	fmt.Fprintf(&b, ", made at %s", l.Site)
	return b.String()
}
