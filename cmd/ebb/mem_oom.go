package main

import (
	"fmt"
	"slices"

	"github.com/ebb-ml/ebb/internal/replay"
	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

// memOOM is the answer of ebb mem oom in JSON.
type memOOM struct {
	File     string            `json:"file"`
	Failures int               `json:"failures"` // in the trace
	Failed   *failedRequest    `json:"failed"`   // the one explained; null where there is none
	Holders  []timeline.Holder `json:"holders"`
	Kinds    []timeline.Holder `json:"kinds"`
	Pins     []pin             `json:"pinned_segments"`
	Release  []timeline.Holder `json:"release_first"`
	Advice   []string          `json:"advice"`
	Warnings []string          `json:"warnings"`
}

type failedRequest struct {
	Device      int    `json:"device"`
	Event       int    `json:"event"`
	Time        int64  `json:"time_us"`
	Asked       uint64 `json:"requested_bytes"`
	DeviceFree  uint64 `json:"device_free_bytes"`
	Site        string `json:"site"`
	Verdict     string `json:"verdict"` // exhaustion, fragmentation or unused hole
	Missing     uint64 `json:"missing_bytes"`
	Live        uint64 `json:"live_bytes"`
	Reserved    uint64 `json:"reserved_bytes"`
	Free        uint64 `json:"free_bytes"`
	LargestHole uint64 `json:"largest_hole_bytes"`
	Releasable  uint64 `json:"releasable_bytes"`
}

func newMemOOM() *cobra.Command {
	q := &memQuery{}
	var event int
	c := &cobra.Command{
		Use:   "oom FILE",
		Short: "Why a request failed, what held the memory, and what to release first",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			return q.oom(d, event)
		},
	}
	q.flags(c, true)
	eventFlag(c, &event, "explain the failure of this event, not the last one")
	return c
}

// failure picks the failed request to explain.
func (d *dump) failure(event int) (h *timeline.History, at, count int, err error) {
	at = -1
	for _, candidate := range d.histories {
		failures := candidate.Failures()
		count += len(failures)
		if len(failures) == 0 {
			continue
		}
		if event < 0 {
			if h == nil || candidate.Time(failures[len(failures)-1]+1) > h.Time(at+1) {
				h, at = candidate, failures[len(failures)-1]
			}
		} else if slices.Contains(failures, event) {
			h, at = candidate, event
		}
	}
	if event >= 0 && h == nil {
		return nil, 0, 0, fmt.Errorf("--event %d is no out-of-memory event", event)
	}
	return h, at, count, nil
}

func (q *memQuery) oom(d *dump, event int) error {
	h, at, count, err := d.failure(event)
	if err != nil {
		return err
	}
	r := memOOM{
		File: d.name, Failures: count, Warnings: emptyNotNull(d.warnings), Holders: []timeline.Holder{}, Kinds: []timeline.Holder{},
		Pins: []pin{}, Release: []timeline.Holder{}, Advice: []string{},
	}
	q.warn(d.warnings)
	if h == nil {
		if q.json {
			return printJSON(q.out, r)
		}
		fmt.Fprintf(q.out, "%s: no request failed in the trace\n", plain(d.name))
		return nil
	}
	f := h.Failure(at)
	v := failedRequest{
		Device: h.Device.Index, Event: at, Time: h.Time(at + 1), Asked: f.Asked, DeviceFree: f.DeviceFree, Site: d.names.Site(f.Stack),
		Verdict: f.Verdict, Missing: f.Missing, Reserved: f.Reserved, Free: f.Free, LargestHole: f.LargestHole, Releasable: f.Releasable,
	}
	for i := range f.Live {
		v.Live += f.Live[i].Size
	}
	r.Failed = &v
	r.Holders, r.Kinds = emptyNotNull(d.names.Holders(f.Live)), emptyNotNull(d.names.ByKind(f.Live))
	for _, p := range f.Pins[:min(len(f.Pins), 20)] {
		r.Pins = append(r.Pins, pin{p.Span.Addr, p.Span.Size, p.Free, p.Live, d.names.Holders(p.Blocks)})
	}
	r.Release = emptyNotNull(f.Release(d.names))
	r.Advice = emptyNotNull(d.advice(h, &f))
	if q.json {
		if err := printJSON(q.out, r); err != nil {
			return err
		}
		return badNews()
	}
	q.oomText(d, h, &f, &r)
	return badNews()
}

// advice says only what a replay of the trace up to the failure, on a device of
// that size, shows to be true.
func (d *dump) advice(h *timeline.History, f *timeline.Failure) []string {
	capacity := f.Reserved + f.DeviceFree
	if f.Verdict == timeline.Exhaustion {
		return []string{fmt.Sprintf("no setting of the allocator helps: all that was free together is %s too little", bytesText(f.Missing))}
	}
	part := h.Until(f.Event)
	fits := func(a replay.Allocator) bool {
		if r := replay.Run(part, "", a); !r.Fits {
			return false
		}
		_, ok := a.Alloc(replay.Request{Size: f.Asked})
		return ok
	}
	options := d.recordedOptions()
	options.Capacity = capacity
	expandable := h.Expandable() || d.snapshot.Setting("expandable_segments") == "True"
	recorded := replay.NewPyTorch(options)
	if expandable {
		recorded = replay.NewExpandable(options)
	}
	if fits(recorded) {
		if f.Verdict == timeline.HoleThatFits {
			return []string{"a free block was large enough, and PyTorch's rules would have used it: trying again may work"}
		}
		return []string{"a replay by PyTorch's rules does not fail here, so no setting can be shown to help: the trace may lack memory from before it, or the device was shared"}
	}
	var advice []string
	if !expandable && fits(replay.NewExpandable(options)) {
		advice = append(advice, "with expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) the same trace fits")
	}
	for _, split := range []uint64{64 << 20, 128 << 20, 256 << 20, 512 << 20} {
		o := options
		if o.MaxSplit == 0 && !expandable {
			if o.MaxSplit = split; fits(replay.NewPyTorch(o)) {
				advice = append(advice, fmt.Sprintf("with max_split_size_mb:%d the same trace fits", split>>20))
				break
			}
		}
	}
	if advice == nil {
		advice = append(advice, "no setting that was tried makes the same trace fit: release what pins the segments, or allocate the large blocks first")
	}
	return advice
}

func (q *memQuery) oomText(d *dump, h *timeline.History, f *timeline.Failure, r *memOOM) {
	v := r.Failed
	fmt.Fprintf(q.out, "%s: a request for %s failed at event %d of %d (%s)\n", h.Device.Name(), bytesText(v.Asked), v.Event, h.Device.Trace.Len(), sinceStart(h, v.Event+1))
	if r.Failures > 1 {
		fmt.Fprintf(q.out, "  the last of %d that failed; --event explains another\n", r.Failures)
	}
	fmt.Fprintf(q.out, "  at %s\n\n", plain(v.Site))
	table(q.out, "  ", [][]string{
		{"reserved", bytesText(v.Reserved), ""},
		{"live", bytesText(v.Live), "as asked for"},
		{"free in the cache", bytesText(v.Free), "the largest hole is " + bytesText(v.LargestHole)},
		{"free on the device", bytesText(v.DeviceFree), ""},
	})
	switch v.Verdict {
	case timeline.Exhaustion:
		fmt.Fprintf(q.out, "\n  exhaustion: all that is free together falls short by %s\n", bytesText(v.Missing))
	case timeline.Fragmented:
		fmt.Fprintf(q.out, "\n  fragmentation: largest hole %s of %s free: enough in all, but not in one piece\n", bytesText(v.LargestHole), bytesText(v.Free+v.DeviceFree))
	case timeline.HoleThatFits:
		fmt.Fprintf(q.out, "\n  a hole of %s was free and would have fit; it may be of another stream or pool\n", bytesText(v.LargestHole))
	}
	q.printHolders("what held the memory, by kind", r.Kinds, v.Live)
	q.printHolders("what held the memory, by line", r.Holders, v.Live)
	if v.Verdict != timeline.Exhaustion && len(r.Pins) > 0 {
		q.pinsText(d, f.Pins)
	}
	if len(r.Release) > 0 {
		q.printHolders("release first (enough together; what can be computed again comes first)", r.Release, v.Live)
	}
	fmt.Fprintln(q.out)
	for _, a := range r.Advice {
		fmt.Fprintf(q.out, "  %s\n", a)
	}
}
