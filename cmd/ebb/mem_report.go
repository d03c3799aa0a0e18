package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

// deviceReport is a device's figures in JSON. Those of the trace are what was
// asked for; live_bytes is what the allocator rounded that to.
type deviceReport struct {
	Device        int    `json:"device"`
	Reserved      uint64 `json:"reserved_bytes"`
	ReservedPeak  uint64 `json:"reserved_peak_bytes"`
	Live          uint64 `json:"live_bytes"`
	Requested     uint64 `json:"requested_bytes"`
	Pending       uint64 `json:"pending_free_bytes"`
	Blocks        int    `json:"blocks"`
	TraceEnd      uint64 `json:"trace_end_bytes"`
	TracePeak     uint64 `json:"trace_peak_bytes"`
	BeforeTrace   uint64 `json:"before_trace_bytes"`
	Peak          uint64 `json:"peak_bytes"`
	PeakEvent     int    `json:"peak_event"`
	PeakTime      int64  `json:"peak_time_us"`
	Free          uint64 `json:"free_bytes"`
	LargestHole   uint64 `json:"largest_hole_bytes"`
	Holes         int    `json:"holes"`
	Releasable    uint64 `json:"releasable_bytes"`
	Segments      int    `json:"segments"`
	Events        int    `json:"events"`
	EventsDropped bool   `json:"events_dropped"`
	Pins          []pin  `json:"pinned_segments"`
}

// pin is a segment that is partly free and held open by live blocks.
type pin struct {
	Address uint64            `json:"address"`
	Bytes   uint64            `json:"bytes"`
	Free    uint64            `json:"free_bytes"`
	Live    uint64            `json:"live_bytes"`
	Holders []timeline.Holder `json:"holders"`
}

// memReport is the answer of ebb mem report in JSON.
type memReport struct {
	File        string            `json:"file"`
	Format      string            `json:"format"`
	Devices     []deviceReport    `json:"devices"`
	Holders     []timeline.Holder `json:"holders"`
	Kinds       []timeline.Holder `json:"kinds"`
	Modules     []timeline.Holder `json:"modules"`
	PeakHolders []timeline.Holder `json:"peak_holders"`
	PeakKinds   []timeline.Holder `json:"peak_kinds"`
	KindGuessed bool              `json:"kinds_guessed"`
	Warnings    []string          `json:"warnings"`
}

func newMemReport() *cobra.Command {
	q := &memQuery{}
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "Totals, the peak, and what holds memory now and at the peak",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			return q.report(d)
		},
	}
	q.flags(c, true)
	return c
}

func (q *memQuery) report(d *dump) error {
	r := memReport{File: d.name, Format: d.snapshot.Format, Warnings: emptyNotNull(d.warnings)}
	var now, peak []timeline.Block
	for _, h := range d.histories {
		r.Devices = append(r.Devices, q.deviceFigures(d, h))
		now = append(now, h.LiveNow()...)
		peak = append(peak, h.LiveAt(h.PeakAt)...)
	}
	r.Devices = emptyNotNull(r.Devices)
	r.Holders, r.Kinds, r.Modules = d.names.Holders(now), d.names.ByKind(now), d.names.ByModule(now)
	r.PeakHolders, r.PeakKinds = d.names.Holders(peak), d.names.ByKind(peak)
	r.Holders, r.Kinds, r.Modules = emptyNotNull(r.Holders), emptyNotNull(r.Kinds), emptyNotNull(r.Modules)
	r.PeakHolders, r.PeakKinds = emptyNotNull(r.PeakHolders), emptyNotNull(r.PeakKinds)
	r.KindGuessed = d.names.Guessed
	q.warn(d.warnings)
	if q.json {
		return printJSON(q.out, r)
	}
	q.reportText(d, &r)
	return nil
}

// emptyNotNull makes an empty list of none, so that JSON has [] and not null.
func emptyNotNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (q *memQuery) deviceFigures(d *dump, h *timeline.History) deviceReport {
	now, f := h.Now(), h.FragmentationNow()
	r := deviceReport{
		Device: h.Device.Index, Reserved: now.Reserved, ReservedPeak: h.ReservedPeak, Live: now.Live,
		Requested: now.Requested, Pending: now.Pending, Blocks: now.Blocks, TraceEnd: h.EndBytes,
		TracePeak: h.TracePeak, BeforeTrace: h.BeforeBytes, Peak: h.PeakBytes, PeakEvent: h.PeakAt, PeakTime: h.Time(h.PeakAt),
		Free: f.Free, LargestHole: f.LargestHole, Holes: f.Holes, Releasable: f.Releasable,
		Segments: len(h.Device.Segments), Events: h.Device.Trace.Len(), EventsDropped: h.Device.Overflowed,
		Pins: []pin{},
	}
	for _, p := range f.Pins[:min(len(f.Pins), 20)] {
		r.Pins = append(r.Pins, pin{p.Span.Addr, p.Span.Size, p.Free, p.Live, d.names.Holders(p.Blocks)})
	}
	return r
}

func (q *memQuery) reportText(d *dump, r *memReport) {
	fmt.Fprintf(q.out, "%s: %s, %s\n", plain(d.name), d.snapshot.Format, countText(len(r.Devices), "device"))
	for i := range r.Devices {
		q.deviceText(d, d.histories[i], &r.Devices[i])
	}
	guess := ""
	if d.names.Guessed {
		guess = " (kinds guessed from the stacks)"
	}
	var now, peak uint64
	for _, v := range r.Kinds {
		now += v.Bytes
	}
	for _, v := range r.PeakKinds {
		peak += v.Bytes
	}
	q.printHolders("live now, by kind"+guess, r.Kinds, now)
	q.printHolders("live now, by line", r.Holders, now)
	if len(r.Modules) > 1 || len(r.Modules) == 1 && r.Modules[0].Site != "(none)" {
		q.printHolders("live now, by module", r.Modules, now)
	}
	q.printHolders("at the peak, by kind"+guess, r.PeakKinds, peak)
	q.printHolders("at the peak, by line", r.PeakHolders, peak)
}

func (q *memQuery) deviceText(d *dump, h *timeline.History, r *deviceReport) {
	fmt.Fprintf(q.out, "\n%s\n", h.Device.Name())
	rows := [][]string{
		{"reserved", bytesText(r.Reserved), "in " + countText(r.Segments, "segment")},
		{"live now", bytesText(r.Live), fmt.Sprintf("in %s; asked for %s", countText(r.Blocks, "block"), bytesText(r.Requested))},
	}
	if r.Pending > 0 {
		rows = append(rows, []string{"", bytesText(r.Pending), "of it dropped by its holders and still used by a stream"})
	}
	if r.Events > 0 {
		if r.TraceEnd != r.Requested {
			rows = append(rows, []string{"trace's end", bytesText(r.TraceEnd), "live by the trace (!): it ends elsewhere than the segments"})
		}
		rows = append(rows,
			[]string{"peak", bytesText(r.Peak), fmt.Sprintf("after event %d of %d, %s", r.PeakEvent, r.Events, sinceStart(h, r.PeakEvent))},
			[]string{"", bytesText(r.TracePeak), "the most of what the trace handed out"},
			[]string{"", bytesText(r.BeforeTrace), fmt.Sprintf("older than the trace, in %s", countText(len(h.Before), "block"))},
		)
	}
	rows = append(rows, []string{"free", bytesText(r.Free), fmt.Sprintf("in %s; the largest is %s", countText(r.Holes, "hole"), bytesText(r.LargestHole))},
		[]string{"", bytesText(r.Releasable), "of it in whole segments, which emptying the cache gives back"})
	table(q.out, "  ", rows)
	q.pinsText(d, h.FragmentationNow().Pins)
}

// pinsText prints the segments that are partly free, by who holds most of each.
func (q *memQuery) pinsText(d *dump, pins []timeline.Pin) {
	if len(pins) == 0 {
		return
	}
	type key struct{ kind, site string }
	type group struct {
		key
		segments   int
		free, live uint64
	}
	at := map[key]int{}
	var groups []group
	for _, p := range pins {
		who := d.names.Holders(p.Blocks)[0]
		k := key{who.Kind, who.Site}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, group{key: k})
		}
		groups[i].segments++
		groups[i].free += p.Free
		groups[i].live += p.Live
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(b.free, a.free) })
	fmt.Fprintf(q.out, "\n  segments held open by live blocks, by who holds most of them\n")
	var rows [][]string
	for _, g := range groups[:q.shown(len(groups))] {
		rows = append(rows, []string{bytesText(g.free) + " free", bytesText(g.live) + " live", countText(g.segments, "segment"), plain(g.kind), tail(plain(g.site), siteWidth)})
	}
	if rest := len(groups) - len(rows); rest > 0 {
		rows = append(rows, []string{"", "", "", "", fmt.Sprintf("%d more (--top 0 lists all)", rest)})
	}
	table(q.out, "    ", rows)
}
