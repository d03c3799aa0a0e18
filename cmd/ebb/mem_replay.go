package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ebb-ml/ebb/internal/replay"
	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

// memReplay is the answer of ebb mem replay in JSON.
type memReplay struct {
	File     string         `json:"file"`
	Capacity uint64         `json:"capacity_bytes"` // 0: unbounded
	Devices  []deviceReplay `json:"devices"`
	Warnings []string       `json:"warnings"`
}

type deviceReplay struct {
	Device       int             `json:"device"`
	Events       int             `json:"events"`
	ReservedPeak uint64          `json:"recorded_reserved_peak_bytes"`
	AskedPeak    uint64          `json:"asked_peak_bytes"`
	Results      []replay.Result `json:"results"`
}

func newMemReplay() *cobra.Command {
	q := &memQuery{}
	allocators := []string{"pytorch", "expandable", "ebb"}
	var split, capacity int64
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "What another allocator or setting would have reserved, and whether it fits",
		Long: `What another allocator or setting would have reserved for the same requests, and
whether the program would have fit:

  pytorch     PyTorch's caching allocator, with the file's settings or --max-split
  expandable  the same with expandable segments
  ebb         Ebb's allocator

The status is 3 if one of them would not have fit in --capacity.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(allocators) == 0 {
				allocators = []string{""}
			}
			for _, name := range allocators {
				if newModel(name, replay.Options{}) == nil {
					return fmt.Errorf("--allocator %q: expected one or more of pytorch, expandable, ebb", name)
				}
			}
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			options := d.recordedOptions()
			options.Capacity = uint64(capacity)
			if split > 0 {
				options.MaxSplit = uint64(split)
			}
			return q.replay(d, allocators, options)
		},
	}
	q.flags(c, false)
	c.Flags().StringSliceVar(&allocators, "allocator", allocators, "allocators to replay through")
	c.Flags().Var(&size{&split}, "max-split", "blocks of this size or more are never split, such as 128MiB (default: the file's)")
	c.Flags().Var(&size{&capacity}, "capacity", "the size of the device, such as 24GiB (default: unbounded)")
	return c
}

func newModel(name string, o replay.Options) replay.Allocator {
	switch name {
	case "pytorch":
		return replay.NewPyTorch(o)
	case "expandable":
		return replay.NewExpandable(o)
	case "ebb":
		return replay.NewEbb(o.Capacity)
	}
	return nil
}

// recordedOptions returns the allocator's settings that the file records.
func (d *dump) recordedOptions() replay.Options {
	var o replay.Options
	if n, err := strconv.ParseInt(d.snapshot.Setting("max_split_size"), 10, 64); err == nil && n > 0 {
		o.MaxSplit = uint64(n)
	}
	for pair := range strings.SplitSeq(d.snapshot.Setting("roundup_power2_divisions"), ", ") {
		key, value, _ := strings.Cut(pair, ": ")
		k, err := strconv.ParseUint(key, 10, 64)
		v, err2 := strconv.ParseUint(value, 10, 8)
		for i := range o.Divisions {
			if err == nil && err2 == nil && k == 1<<i {
				o.Divisions[i] = v
			}
		}
	}
	return o
}

func (q *memQuery) replay(d *dump, allocators []string, o replay.Options) error {
	r := memReplay{File: d.name, Capacity: o.Capacity, Devices: []deviceReplay{}, Warnings: emptyNotNull(d.warnings)}
	fits := true
	for _, h := range d.histories {
		if h.Device.Trace.Len() == 0 && len(h.Before) == 0 || h.Device.Index == snapshot.HostDevice {
			continue
		}
		v := deviceReplay{Device: h.Device.Index, Events: h.Device.Trace.Len(), ReservedPeak: h.ReservedPeak}
		for _, name := range allocators {
			result := replay.Run(h, name, newModel(name, o))
			fits = fits && result.Fits
			v.AskedPeak = max(v.AskedPeak, result.Asked)
			v.Results = append(v.Results, result)
		}
		r.Devices = append(r.Devices, v)
	}
	q.warn(d.warnings)
	if q.json {
		if err := printJSON(q.out, r); err != nil {
			return err
		}
	} else {
		for i := range r.Devices {
			q.replayText(d, &r.Devices[i], o.Capacity)
		}
		if len(r.Devices) == 0 {
			fmt.Fprintf(q.out, "%s: there is no trace to replay\n", plain(d.name))
		}
	}
	if !fits {
		return badNews()
	}
	return nil
}

func (q *memQuery) replayText(d *dump, v *deviceReplay, capacity uint64) {
	h := d.historyOf(v.Device)
	fmt.Fprintf(q.out, "%s: %s, at most %s asked for at once\n", h.Device.Name(), countText(v.Events, "event"), bytesText(v.AskedPeak))
	rows := [][]string{{"", "reserved at most", "over what was asked", "driver calls", "retries", ""},
		{"recorded", bytesText(v.ReservedPeak), over(v.ReservedPeak, v.AskedPeak), "", "", ""}}
	for _, r := range v.Results {
		note := ""
		if r.AddressesOf > 0 && r.Allocator == "pytorch" && r.SegmentsRecorded > 0 {
			note = fmt.Sprintf("predicts %d of %d addresses, %d of %d segments", r.Addresses, r.AddressesOf, r.SegmentsRight, r.SegmentsRecorded)
		}
		if r.Failed != nil {
			note = fmt.Sprintf("does not fit in %s: %s at event %d, %s", bytesText(capacity), bytesText(r.Failed.Asked), r.Failed.Event, tail(plain(r.Failed.Site), 50))
		} else if capacity > 0 {
			note = strings.TrimPrefix(note+"; fits in "+bytesText(capacity), "; ")
		}
		waste := over(r.ReservedPeak, v.AskedPeak)
		if r.Failed != nil {
			waste = ""
		}
		rows = append(rows, []string{r.Allocator, bytesText(r.ReservedPeak), waste, strconv.Itoa(r.Maps), strconv.Itoa(r.Retries), note})
	}
	table(q.out, "  ", rows)
}

func over(reserved, asked uint64) string {
	if asked == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", 100*(float64(reserved)/float64(asked)-1))
}

// historyOf returns the history of a device.
func (d *dump) historyOf(index int) *timeline.History {
	for _, h := range d.histories {
		if h.Device.Index == index {
			return h
		}
	}
	return nil
}
