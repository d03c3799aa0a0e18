package main

import (
	"fmt"
	"strings"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
)

// markdown returns the report in Markdown: a Mermaid diagram of the states with
// their figures, and the table.
func markdown(s settings, r *lifecycle.Report, c *curve) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# ebb train %s\n\n%s\n\n**%s**\n", r.Program, s.describe(r), r.Verdict())
	for _, v := range r.Survivors {
		fmt.Fprintf(&b, "\n- `%s`", v)
	}
	if len(r.Survivors) > 0 {
		b.WriteByte('\n')
	}
	if n := len(c.points); n > 0 {
		fmt.Fprintf(&b, "\n- loss %.6g at first, %.6g at the end of %d steps\n", c.points[0], c.points[n-1], n*c.stride+c.n)
	}
	for _, e := range c.evaluations {
		fmt.Fprintf(&b, "- accuracy %.4f after %d steps\n", e.share, e.steps)
	}
	b.WriteString("\n```mermaid\n")
	diagram(&b, r)
	b.WriteString("```\n\n")
	for i, row := range r.Rows() {
		row[0] = strings.NewReplacer("\n", " ", "|", "\\|").Replace(strings.Replace(row[0], "  ", "↳ ", 1))
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("---:|", len(row)-1) + "\n")
		}
	}
	return []byte(b.String())
}

// diagram writes a Mermaid state diagram: a state for each that was entered, with
// its figures, and what was released on the way to the next.
func diagram(b *strings.Builder, r *lifecycle.Report) {
	b.WriteString("stateDiagram-v2\n    direction LR\n    [*] --> InitialState\n")
	for i, s := range r.States {
		f := s.Figures
		fmt.Fprintf(b, "    %s: %s<br/>live %s<br/>mapped %s<br/>RssAnon %s\n", s.State, s.State, unbroken(f.Live), unbroken(f.Mapped), unbroken(f.RSSAnon))
		if i+1 == len(r.States) {
			break
		}
		next := r.States[i+1]
		label := formatMS(next.Elapsed - f.Elapsed)
		for _, m := range r.Marks {
			if m.State == s.State {
				label += "<br/>" + diagramText(m.Name)
			}
		}
		fmt.Fprintf(b, "    %s --> %s: %s\n", s.State, next.State, label)
	}
	if last := r.States[len(r.States)-1]; r.Freed {
		fmt.Fprintf(b, "    %s --> [*]\n", last.State)
	} else {
		fmt.Fprintf(b, "    survived: %s\n    %s --> survived\n", diagramText(r.Verdict()), last.State)
	}
}

// unbroken prints an amount of memory that no line breaks.
func unbroken(n int64) string { return strings.Replace(ebb.FormatBytes(n), " ", "\u00a0", 1) }

// diagramText keeps what would end a label in Mermaid out of it.
func diagramText(s string) string {
	return strings.NewReplacer(":", " -", ";", ",", "\n", " ", "\"", "'", "<", "(", ">", ")").Replace(s)
}
