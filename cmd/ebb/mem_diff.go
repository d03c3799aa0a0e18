package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

// memDiff is the answer of ebb mem diff in JSON.
type memDiff struct {
	Before   string                           `json:"before"`
	After    string                           `json:"after"`
	Instant  string                           `json:"instant"` // "now" or "peak"
	Bytes    int64                            `json:"bytes"`   // live after less before
	By       map[string][]timeline.Difference `json:"by"`
	Warnings []string                         `json:"warnings"`
}

// diffKeys are what two snapshots can be compared by.
var diffKeys = []string{"device", "kind", "module", "line", "stack"}

func newMemDiff() *cobra.Command {
	q := &memQuery{}
	var peak bool
	var by string
	c := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "What two snapshots hold differently",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			var keys []string
			for _, k := range diffKeys {
				if by == "" && k != "stack" || by == k {
					keys = append(keys, k)
				}
			}
			if keys == nil {
				return fmt.Errorf("--by %s: one of %s", by, strings.Join(diffKeys, ", "))
			}
			if args[0] == "-" && args[1] == "-" {
				return fmt.Errorf("standard input can be one of the two alone")
			}
			before, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			after, err := q.load(c, args[1])
			if err != nil {
				return err
			}
			return q.diff(before, after, keys, peak)
		},
	}
	q.flags(c, true)
	c.Flags().BoolVar(&peak, "peak", false, "compare what was live at the peaks, not what is live now")
	c.Flags().StringVar(&by, "by", "", "compare by this alone: device, kind, module, line or stack")
	return c
}

// owned is the blocks of a snapshot, device by device.
type owned struct {
	name   string
	blocks []timeline.Block
}

func (d *dump) live(peak bool) (devices []owned, all []timeline.Block) {
	for _, h := range d.histories {
		blocks := h.LiveNow()
		if peak {
			blocks = h.LiveAt(h.PeakAt)
		}
		devices = append(devices, owned{h.Device.Name(), blocks})
		all = append(all, blocks...)
	}
	return devices, all
}

// key returns what a snapshot's blocks are compared by.
func (d *dump) key(by string) func(b *timeline.Block) string {
	switch by {
	case "kind":
		return d.names.Kind
	case "module":
		return func(b *timeline.Block) string { return cmp.Or(d.names.Module(b), "(none)") }
	case "stack":
		return func(b *timeline.Block) string { return d.names.StackText(b.Stack) }
	}
	return func(b *timeline.Block) string { return d.names.Site(b.Stack) }
}

func (q *memQuery) diff(before, after *dump, keys []string, peak bool) error {
	r := memDiff{Before: before.name, After: after.name, Instant: "now", By: map[string][]timeline.Difference{}}
	if peak {
		r.Instant = "peak"
	}
	for _, d := range []*dump{before, after} {
		for _, w := range d.warnings {
			r.Warnings = append(r.Warnings, d.name+": "+w)
		}
	}
	r.Warnings = emptyNotNull(r.Warnings)
	devicesA, a := before.live(peak)
	devicesB, b := after.live(peak)
	for i := range a {
		r.Bytes -= int64(a[i].Size)
	}
	for i := range b {
		r.Bytes += int64(b[i].Size)
	}
	for _, by := range keys {
		if by == "device" {
			r.By[by] = emptyNotNull(diffDevices(devicesA, devicesB))
			continue
		}
		r.By[by] = emptyNotNull(timeline.Diff(a, b, before.key(by), after.key(by)))
	}
	q.warn(r.Warnings)
	if q.json {
		return printJSON(q.out, r)
	}
	fmt.Fprintf(q.out, "live %s: %s from %s to %s\n", map[bool]string{false: "now", true: "at the peak"}[peak], deltaText(r.Bytes), plain(before.name), plain(after.name))
	for _, by := range keys {
		if list := r.By[by]; by == "module" && len(keys) > 1 && (len(list) == 0 || len(list) == 1 && list[0].Key == "(none)") {
			continue // no part of a model is known in either
		}
		q.diffText("by "+by, r.By[by], by == "stack")
	}
	return nil
}

func diffDevices(a, b []owned) []timeline.Difference {
	byName := func(list []owned) (blocks []timeline.Block, key func(b *timeline.Block) string) {
		names := map[*timeline.Block]string{}
		n := 0
		for _, d := range list {
			n += len(d.blocks)
		}
		blocks = make([]timeline.Block, 0, n)
		for _, d := range list {
			for _, k := range d.blocks {
				blocks = append(blocks, k)
				names[&blocks[len(blocks)-1]] = d.name
			}
		}
		return blocks, func(b *timeline.Block) string { return names[b] }
	}
	blocksA, keyA := byName(a)
	blocksB, keyB := byName(b)
	return timeline.Diff(blocksA, blocksB, keyA, keyB)
}

func (q *memQuery) diffText(heading string, list []timeline.Difference, stacks bool) {
	fmt.Fprintf(q.out, "\n  %s\n", heading)
	if len(list) == 0 {
		fmt.Fprintf(q.out, "    no difference\n")
		return
	}
	var rows [][]string
	for _, d := range list[:q.shown(len(list))] {
		key := tail(plain(d.Key), siteWidth)
		if stacks {
			key = ""
		}
		row := []string{deltaText(d.Bytes), fmt.Sprintf("%+d blocks", d.Count), bytesText(d.Before) + " before", bytesText(d.After) + " after", key}
		if stacks {
			table(q.out, "    ", [][]string{row})
			for line := range strings.SplitSeq(d.Key, "\n") {
				fmt.Fprintf(q.out, "      %s\n", plain(line))
			}
			continue
		}
		rows = append(rows, row)
	}
	if rest := len(list) - q.shown(len(list)); rest > 0 {
		rows = append(rows, []string{"", "", "", "", fmt.Sprintf("%d more (--top 0 lists all)", rest)})
	}
	table(q.out, "    ", rows)
}
