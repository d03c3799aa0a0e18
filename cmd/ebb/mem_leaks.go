package main

import (
	"fmt"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

// memLeaks is the answer of ebb mem leaks in JSON.
type memLeaks struct {
	File     string        `json:"file"`
	Devices  []deviceLeaks `json:"devices"`
	Warnings []string      `json:"warnings"`
}

type deviceLeaks struct {
	Device            int               `json:"device"`
	Loops             []loopFound       `json:"loops"`
	Leaks             []timeline.Growth `json:"leaks"`
	Once              []timeline.Growth `json:"one_time_growth"`
	BytesPerIteration float64           `json:"bytes_per_iteration"` // of the main loop's leaks
}

type loopFound struct {
	Iterations int     `json:"iterations"`
	From       int     `json:"from_event"`
	To         int     `json:"to_event"`
	Marks      string  `json:"marks"` // "" where the loop was found by its stacks
	Site       string  `json:"site"`  // of its first allocation
	Share      float64 `json:"share_of_allocations"`
}

func newMemLeaks() *cobra.Command {
	q := &memQuery{}
	c := &cobra.Command{
		Use:   "leaks FILE",
		Short: "What each iteration of the program's loop leaves behind, and from which line",
		Long: `What each iteration of the program's loop leaves behind, and from which line.

The loop is found by marks that count (annotations such as ProfilerStep#12) or by
stacks that repeat. Memory that grew once, such as an optimizer's state, is told
apart from memory that grows with every iteration. The status is 3 if some does.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			return q.leaks(d)
		},
	}
	q.flags(c, true)
	return c
}

func (q *memQuery) leaks(d *dump) error {
	r := memLeaks{File: d.name, Devices: []deviceLeaks{}}
	found := false
	for _, h := range d.histories {
		l := h.Leaks(d.names)
		v := deviceLeaks{Device: h.Device.Index, Loops: []loopFound{}, Leaks: emptyNotNull(l.Leaks), Once: emptyNotNull(l.Once)}
		for i := range l.Loops {
			p := &l.Loops[i]
			v.Loops = append(v.Loops, loopFound{
				Iterations: p.Iterations(), From: p.Bounds[0], To: p.Bounds[len(p.Bounds)-1], Marks: p.Marks,
				Site: d.names.Site(p.Anchor), Share: p.Share,
			})
		}
		for _, g := range l.Leaks {
			if g.Loop == 0 {
				v.BytesPerIteration += g.BytesPerIteration
			}
		}
		if len(v.Loops) == 0 {
			d.warnings = append(d.warnings, h.Device.Name()+": no loop was found: neither marks that count nor stacks that repeat and are freed again")
		}
		found = found || len(v.Leaks) > 0
		r.Devices = append(r.Devices, v)
	}
	r.Warnings = emptyNotNull(d.warnings)
	q.warn(d.warnings)
	if q.json {
		if err := printJSON(q.out, r); err != nil {
			return err
		}
	} else {
		for i := range r.Devices {
			q.leaksText(d, d.histories[i], &r.Devices[i])
		}
	}
	if found {
		return badNews()
	}
	return nil
}

func (q *memQuery) leaksText(d *dump, h *timeline.History, v *deviceLeaks) {
	fmt.Fprintf(q.out, "%s\n", h.Device.Name())
	if len(v.Loops) == 0 {
		fmt.Fprintf(q.out, "  no loop found in %s\n", countText(h.Device.Trace.Len(), "event"))
		end := h.LiveAt(h.Device.Trace.Len())
		q.printHolders("live at the end of the trace, by line", d.names.Holders(end), h.EndBytes)
		return
	}
	for i, l := range v.Loops {
		by := "that begin at " + tail(plain(l.Site), siteWidth)
		if l.Marks != "" {
			by = "marked " + plain(l.Marks)
		}
		fmt.Fprintf(q.out, "  loop %d: %s %s (events %d to %d)\n", i+1, countText(l.Iterations, "iteration"), by, l.From, l.To)
	}
	if len(v.Leaks) == 0 {
		fmt.Fprintf(q.out, "\n  nothing grows with the iterations\n")
	} else {
		fmt.Fprintf(q.out, "\n  grows with the iterations\n")
		rows := [][]string{}
		for _, g := range v.Leaks[:q.shown(len(v.Leaks))] {
			where := fmt.Sprintf("an iteration of loop %d", g.Loop+1)
			rows = append(rows, []string{bytesText(uint64(g.BytesPerIteration + 0.5)), where, often(g.CountPerIteration), "+" + bytesText(g.Bytes), plain(g.Kind), tail(plain(g.Site), siteWidth-20)})
		}
		table(q.out, "    ", rows)
		fmt.Fprintf(q.out, "\n  the stack of the largest\n")
		q.stackText(d, v.Leaks[0].Stack)
	}
	if len(v.Once) > 0 {
		fmt.Fprintf(q.out, "\n  grew once and stays\n")
		rows := [][]string{}
		for _, g := range v.Once[:q.shown(len(v.Once))] {
			rows = append(rows, []string{"+" + bytesText(g.Bytes), plain(g.Kind), tail(plain(g.Site), siteWidth)})
		}
		if rest := len(v.Once) - len(rows); rest > 0 {
			rows = append(rows, []string{"", "", fmt.Sprintf("%d more (--top 0 lists all)", rest)})
		}
		table(q.out, "    ", rows)
	}
}

// often says how often something happens, from how often it does per iteration.
func often(perIteration float64) string {
	switch {
	case perIteration <= 0:
		return "in place"
	case perIteration < 0.95:
		return fmt.Sprintf("1 block every %.0f", 1/perIteration)
	}
	return countText(int(perIteration+0.5), "block")
}

// stackText prints a stack, innermost first, without the native frames that are
// much the same for every allocation.
func (q *memQuery) stackText(d *dump, id uint32) {
	stack := d.snapshot.Stack(snapshot.StackID(id))
	shown, native := 0, 0
	for _, f := range stack {
		if d.names.Level(f) < 2 {
			native++
			continue
		}
		if shown++; shown > 12 && q.top > 0 {
			fmt.Fprintf(q.out, "    ...\n")
			break
		}
		fmt.Fprintf(q.out, "    %s\n", tail(plain(d.names.Frame(f)), 120))
	}
	switch {
	case len(stack) == 0:
		fmt.Fprintf(q.out, "    %s\n", timeline.NoStack)
	case shown == 0:
		for _, f := range stack[:min(len(stack), 12)] {
			fmt.Fprintf(q.out, "    %s\n", tail(plain(d.names.Frame(f)), 120))
		}
	case native > 0:
		fmt.Fprintf(q.out, "    (%s left out)\n", countText(native, "native frame"))
	}
}
