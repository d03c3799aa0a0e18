package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

// instantFlags pick an instant of a trace.
type instantFlags struct {
	time  string
	event int
	peak  bool
}

// memAt is the answer of ebb mem at in JSON.
type memAt struct {
	File     string            `json:"file"`
	Devices  []deviceAt        `json:"devices"`
	Holders  []timeline.Holder `json:"holders"`
	Kinds    []timeline.Holder `json:"kinds"`
	Blocks   []blockAt         `json:"blocks"`
	Warnings []string          `json:"warnings"`
}

type deviceAt struct {
	Device      int    `json:"device"`
	Event       int    `json:"event"` // how many of the trace's events are before the instant
	Time        int64  `json:"time_us"`
	Live        uint64 `json:"live_bytes"`
	Reserved    uint64 `json:"reserved_bytes"`
	Free        uint64 `json:"free_bytes"`
	LargestHole uint64 `json:"largest_hole_bytes"`
	Blocks      int    `json:"blocks"`
}

type blockAt struct {
	Device  int    `json:"device"`
	Address uint64 `json:"address"`
	Bytes   uint64 `json:"bytes"`
	Kind    string `json:"kind"`
	Module  string `json:"module"`
	Site    string `json:"site"`
	Event   int    `json:"event"` // that handed it out; -1 before the trace
}

func newMemAt() *cobra.Command {
	q := &memQuery{}
	var at instantFlags
	c := &cobra.Command{
		Use:   "at FILE (--time T | --event N | --peak)",
		Short: "Everything live at an instant",
		Long: `Everything live at an instant: after the first N events (--event), at a time
(--time), or where most was live (--peak). T is a time since the trace's first
event, such as 1.5s or 300ms, or microseconds since the Unix epoch.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			return q.at(d, &at)
		},
	}
	q.flags(c, true)
	c.Flags().StringVar(&at.time, "time", "", "the instant as a time")
	eventFlag(c, &at.event, "the instant as a number of events")
	c.Flags().BoolVar(&at.peak, "peak", false, "the instant at which most was live")
	c.MarkFlagsMutuallyExclusive("time", "event", "peak")
	c.MarkFlagsOneRequired("time", "event", "peak")
	return c
}

// instant returns the instant that the flags pick in a history.
func (f *instantFlags) instant(h *timeline.History) (int, error) {
	switch {
	case f.peak:
		return h.PeakAt, nil
	case f.event < 0:
		return parseTime(h, f.time)
	}
	if n := h.Device.Trace.Len(); f.event > n {
		return 0, fmt.Errorf("--event %d: the trace has %d events", f.event, n)
	}
	return f.event, nil
}

// parseTime returns the instant at a time: since the trace's first event, or in
// microseconds since the Unix epoch.
func parseTime(h *timeline.History, text string) (int, error) {
	if us, err := strconv.ParseInt(text, 10, 64); err == nil && us > 1e12 {
		return h.InstantOf(us), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no time: write 1.5s or 300ms for a time since the first event, or microseconds since the Unix epoch", text)
	}
	return h.InstantOf(h.Time(0) + d.Microseconds()), nil
}

func (q *memQuery) at(d *dump, f *instantFlags) error {
	histories := d.histories
	if f.event >= 0 {
		h, err := d.one()
		if err != nil {
			return err
		}
		histories = []*timeline.History{h}
	}
	r := memAt{File: d.name, Warnings: emptyNotNull(d.warnings), Devices: []deviceAt{}, Blocks: []blockAt{}}
	var all []timeline.Block
	for _, h := range histories {
		instant, err := f.instant(h)
		if err != nil {
			return err
		}
		blocks := h.LiveAt(instant)
		frag := h.Fragmentation(instant)
		v := deviceAt{
			Device: h.Device.Index, Event: instant, Time: h.Time(instant), Reserved: h.ReservedAt(instant),
			Free: frag.Free, LargestHole: frag.LargestHole, Blocks: len(blocks),
		}
		for i := range blocks {
			b := &blocks[i]
			v.Live += b.Asked
			r.Blocks = append(r.Blocks, blockAt{
				Device: h.Device.Index, Address: b.Addr, Bytes: b.Asked, Event: b.Start,
				Kind: d.names.Kind(b), Module: d.names.Module(b), Site: d.names.Site(b.Stack),
			})
		}
		r.Devices = append(r.Devices, v)
		all = append(all, blocks...)
	}
	r.Holders, r.Kinds = emptyNotNull(d.names.Holders(all)), emptyNotNull(d.names.ByKind(all))
	q.warn(d.warnings)
	if q.json {
		return printJSON(q.out, r)
	}
	var live uint64
	for i, v := range r.Devices {
		fmt.Fprintf(q.out, "%s after event %d of %d, %s\n", histories[i].Device.Name(), v.Event, histories[i].Device.Trace.Len(), sinceStart(histories[i], v.Event))
		table(q.out, "  ", [][]string{
			{"live", bytesText(v.Live), "in " + countText(v.Blocks, "block") + ", as asked for"},
			{"reserved", bytesText(v.Reserved), fmt.Sprintf("%s free, the largest hole %s", bytesText(v.Free), bytesText(v.LargestHole))},
		})
		live += v.Live
	}
	q.printHolders("by kind", r.Kinds, live)
	q.printHolders("by line", r.Holders, live)
	q.blocksText(r.Blocks, live)
	return nil
}

func (q *memQuery) blocksText(blocks []blockAt, live uint64) {
	if len(blocks) == 0 {
		return
	}
	slices.SortStableFunc(blocks, func(a, b blockAt) int { return cmp.Compare(b.Bytes, a.Bytes) })
	fmt.Fprintf(q.out, "\n  the largest blocks\n")
	var rows [][]string
	for _, b := range blocks[:q.shown(len(blocks))] {
		since := "older than the trace"
		if b.Event >= 0 {
			since = "since event " + strconv.Itoa(b.Event)
		}
		rows = append(rows, []string{bytesText(b.Bytes), percent(b.Bytes, live), fmt.Sprintf("0x%x", b.Address), since, plain(b.Kind), tail(plain(b.Site), siteWidth-20)})
	}
	table(q.out, "    ", rows)
}
