package main

import (
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/lifecycle"
)

// The diagram has each state with its figures, and what was released on the way
// to the next; nothing in a name breaks out of its label or its cell.
func TestMarkdown(t *testing.T) {
	r := &lifecycle.Report{
		Program: "x",
		States: []lifecycle.Reading{
			{State: lifecycle.InitialState, Figures: lifecycle.Figures{RSSAnon: 3 << 20, Elapsed: 1}},
			{State: lifecycle.ModelCreated, Figures: lifecycle.Figures{Live: 1536, Mapped: 2 << 20, Elapsed: 4}},
		},
		Marks: []lifecycle.Mark{{Name: "a: b;\n<c>", Reading: lifecycle.Reading{State: lifecycle.InitialState}}},
	}
	c := new(curve)
	c.add(2)
	c.add(1)
	c.evaluated(2, 0.5)
	text := string(markdown(linear.defaults, r, c))
	for _, want := range []string{
		"```mermaid\nstateDiagram-v2\n",
		"    InitialState: InitialState<br/>live 0\u00a0B<br/>mapped 0\u00a0B<br/>RssAnon 3.00\u00a0MiB\n",
		"    InitialState --> ModelCreated: 3 ms<br/>a - b, (c)\n",
		"    ModelCreated: ModelCreated<br/>live 1.50\u00a0KiB<br/>mapped 2.00\u00a0MiB<br/>RssAnon 0\u00a0B\n",
		"    survived: not freed - live 1.50 KiB, mapped 2.00 MiB, RssAnon -3.00 MiB from InitialState (Go's share 0 B)\n    ModelCreated --> survived\n```\n",
		"| state | live | mapped | Go | RssAnon | peak live | elapsed |\n|---|---:|---:|---:|---:|---:|---:|\n| InitialState | ",
		"- loss 2 at first, 1 at the end of 2 steps\n- accuracy 0.5000 after 2 steps\n",
		"| ↳ a: b; <c> | ", "**not freed: live 1.50 KiB, mapped 2.00 MiB, RssAnon -3.00 MiB from InitialState (Go's share 0 B)**",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	r.Freed = true
	if text := string(markdown(linear.defaults, r, new(curve))); !strings.Contains(text, "    ModelCreated --> [*]\n") || strings.Contains(text, "survived") {
		t.Errorf("freed:\n%s", text)
	}
}
