package main

import (
	"fmt"
	"io"

	"github.com/ebb-ml/ebb/internal/profile"
	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

func newMemPprof() *cobra.Command {
	q := &memQuery{}
	var out string
	c := &cobra.Command{
		Use:   "pprof FILE",
		Short: "Write a pprof profile of what is live now and at the peak",
		Long: `Write a pprof profile: live objects and bytes, now (inuse_...) and at the peak
(peak_...), by stack, with the labels kind, module, op, dtype, owner and device.

  go tool pprof -http : -sample_index peak_space FILE     a flame graph
  go tool pprof -tagroot kind ...                         the kinds as its roots
  go tool pprof -diff_base BEFORE AFTER                   what grew`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = outputName(args[0], ".pb.gz")
			}
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			q.warn(d.warnings)
			p := d.profile()
			if err := writeFile(c, out, func(w io.Writer) error { return p.Write(w) }); err != nil {
				return err
			}
			if out != "-" {
				fmt.Fprintf(q.errs, "ebb: wrote %s; see it with: go tool pprof -http : %s\n", out, out)
			}
			return nil
		},
	}
	q.deviceFlag(c, "write one device alone")
	c.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default: the input's name with .pb.gz)")
	return c
}

// profileKey is what blocks of one sample have in common.
type profileKey struct {
	stack                           snapshot.StackID
	device, kind, module, op, dtype string
	owner                           string
}

// profile makes the profile. The values are inuse_objects, inuse_space,
// peak_objects and peak_space.
func (d *dump) profile() *profile.Profile {
	samples := map[profileKey]*[4]int64{}
	var order []profileKey
	add := func(device string, blocks []timeline.Block, at int) {
		for i := range blocks {
			b := &blocks[i]
			k := profileKey{
				stack: b.Stack, device: device, kind: d.names.Kind(b), module: d.names.Module(b),
				op: d.names.Label(b, "op"), dtype: d.names.Label(b, "dtype"), owner: d.names.Label(b, "owner"),
			}
			v := samples[k]
			if v == nil {
				v = new([4]int64)
				samples[k] = v
				order = append(order, k)
			}
			v[at]++
			v[at+1] += int64(b.Size)
		}
	}
	last := int64(0)
	for _, h := range d.histories {
		add(h.Device.Name(), h.LiveNow(), 0)
		add(h.Device.Name(), h.LiveAt(h.PeakAt), 2)
		last = max(last, h.Time(h.Device.Trace.Len()))
	}
	p := profile.New([]profile.ValueType{
		{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
		{Type: "peak_objects", Unit: "count"}, {Type: "peak_space", Unit: "bytes"},
	}, "inuse_space", last*1000)
	for _, k := range order {
		p.Add(d.stackFrames(k.stack), samples[k][:],
			profile.Label{Key: "kind", Value: k.kind}, profile.Label{Key: "module", Value: k.module},
			profile.Label{Key: "op", Value: k.op}, profile.Label{Key: "dtype", Value: k.dtype},
			profile.Label{Key: "owner", Value: k.owner}, profile.Label{Key: "device", Value: k.device})
	}
	return p
}

// stackFrames returns a stack for a profile; one frame that says so where none
// was recorded, so that its bytes show in the graph.
func (d *dump) stackFrames(id snapshot.StackID) []profile.Frame {
	stack := d.snapshot.Stack(id)
	if len(stack) == 0 {
		return []profile.Frame{{Function: timeline.NoStack}}
	}
	frames := make([]profile.Frame, len(stack))
	for i, f := range stack {
		v := d.snapshot.Frame(f)
		frames[i] = profile.Frame{Function: plain(d.snapshot.String(v.Name)), File: plain(d.snapshot.String(v.File)), Line: int64(v.Line)}
	}
	return frames
}
