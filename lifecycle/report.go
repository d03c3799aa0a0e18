package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ebb-ml/ebb"
)

// Report is what a [Life] has seen. It marshals to the JSON that `ebb train
// --report` writes.
type Report struct {
	Program   string     `json:"program"`
	Seed      uint64     `json:"seed"`   // the runtime's initial seed, as torch.initial_seed
	States    []Reading  `json:"states"` // those entered, in order
	Marks     []Mark     `json:"marks"`  // readings between states, in order
	Freed     bool       `json:"freed"`  // MemoryFreed was proved
	Survivors []Survivor `json:"survivors"`
}

// Reading is the figures at a state.
type Reading struct {
	State State `json:"state"`
	Figures
}

// Mark is a reading between states. State is the last one entered before it.
type Mark struct {
	Name string `json:"mark"`
	Reading
}

// Survivor is memory that was still held when it should have been free.
type Survivor struct {
	Kind   string `json:"kind"`  // an [ebb.Kind]'s name, or "forgotten" for a store or scope that the collector had to reclaim
	DType  string `json:"dtype"` // element type; empty for a store or scope
	Shape  []int  `json:"shape"`
	Bytes  int64  `json:"bytes"`
	Owner  string `json:"owner"`            // the path of the store or scope
	Module string `json:"module,omitempty"` // the module's path
	Op     string `json:"op,omitempty"`     // the operation that made it
	Site   string `json:"site"`             // the line that made it
}

func survivor(h ebb.Holding) Survivor {
	return Survivor{Kind: h.Kind.String(), DType: h.DType.String(), Shape: slices.Clone(h.Shape), Bytes: h.Bytes,
		Owner: h.Owner, Module: h.Module, Op: h.Op, Site: h.Site.String()}
}

// String describes the survivor in one line.
func (s Survivor) String() string {
	var b strings.Builder
	b.WriteString(s.Kind)
	if s.DType != "" {
		fmt.Fprintf(&b, " %s%s", s.DType, strings.ReplaceAll(fmt.Sprint(s.Shape), " ", ", "))
	}
	fmt.Fprintf(&b, ", %s, in %s", ebb.FormatBytes(s.Bytes), s.Owner)
	if s.Module != "" {
		fmt.Fprintf(&b, ", %s", s.Module)
	}
	fmt.Fprintf(&b, ", made at %s", s.Site)
	return b.String()
}

var header = [...]string{"state", "live", "mapped", "Go", "RssAnon", "peak live", "elapsed"}

// Rows returns the report as rows of text, the header first, states and marks in
// the order of time, marks indented.
func (r *Report) Rows() [][]string {
	rows := [][]string{header[:]}
	add := func(name string, f Figures) {
		rows = append(rows, []string{name, ebb.FormatBytes(f.Live), ebb.FormatBytes(f.Mapped), ebb.FormatBytes(f.Go),
			ebb.FormatBytes(f.RSSAnon), ebb.FormatBytes(f.PeakLive), fmt.Sprintf("%.1f ms", f.Elapsed)})
	}
	marks := r.Marks
	for i, s := range r.States {
		add(s.State.String(), s.Figures)
		for len(marks) > 0 && (i == len(r.States)-1 || marks[0].State <= s.State) {
			add("  "+marks[0].Name, marks[0].Figures)
			marks = marks[1:]
		}
	}
	return rows
}

// Verdict says in a line whether the memory came back, and if nothing is known to
// have survived, how the figures ended.
func (r *Report) Verdict() string {
	if n := len(r.Survivors); n > 0 {
		return "not freed: " + count(n)
	}
	first, last := r.States[0], r.States[len(r.States)-1]
	verdict, live, mapped := "freed", "0", "0"
	if !r.Freed {
		if n := len(r.Marks); n > 0 && r.Marks[n-1].State == last.State {
			last = r.Marks[n-1].Reading
		}
		verdict, live, mapped = "not freed", ebb.FormatBytes(last.Live), ebb.FormatBytes(last.Mapped)
	}
	return fmt.Sprintf("%s: live %s, mapped %s, RssAnon %s from InitialState (Go's share %s)",
		verdict, live, mapped, signed(last.RSSAnon-first.RSSAnon), signed(last.Go-first.Go))
}

func signed(n int64) string {
	if n > 0 {
		return "+" + ebb.FormatBytes(n)
	}
	return ebb.FormatBytes(n)
}

// String returns the report as an aligned table, with a line that says whether
// the memory came back, and one for each survivor.
func (r *Report) String() string {
	rows := r.Rows()
	widths := make([]int, len(header))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "  %*s", widths[i+1], cell)
		}
		b.WriteByte('\n')
	}
	b.WriteString(r.Verdict())
	b.WriteByte('\n')
	for _, s := range r.Survivors {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String()
}
