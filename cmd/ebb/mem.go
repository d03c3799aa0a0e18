package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

// newMemCommand returns the commands that answer questions about memory from a
// snapshot: Ebb's own, and those that PyTorch writes.
func newMemCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "mem",
		Short: "Say what holds memory, from a snapshot of Ebb or PyTorch",
		Long: `Say what holds memory, since when and from which line.

FILE is a snapshot of Ebb, or one that torch.cuda.memory._dump_snapshot wrote
(torch 1.13 to the newest), as a pickle or JSON, gzipped or not; "-" is standard
input. Sizes are bytes: GiB is 2^30.

The exit status is 0 for an answer, 1 for a file that cannot be read, 2 for wrong
usage and 3 for bad news: a leak, an out-of-memory error, a run that does not fit.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newMemReport(), newMemAt(), newMemLeaks(), newMemDiff(), newMemOOM(), newMemReplay(), newMemPprof(), newMemTrim(), newMemView(), newMemWatch())
	return c
}

// memQuery is what all commands on a snapshot have in common.
type memQuery struct {
	json   bool
	device int
	top    int
	out    io.Writer
	errs   io.Writer
}

// allDevices is the value of --device that picks none.
const allDevices = -2

// flags adds the flags --json and --device, and --top where there are lists.
func (q *memQuery) flags(c *cobra.Command, lists bool) {
	c.Flags().BoolVar(&q.json, "json", false, "print JSON")
	q.deviceFlag(c, "answer for one device alone (-1: pinned host memory)")
	if lists {
		q.top = 15
		c.Flags().Var(&count{&q.top, 0}, "top", "how many entries of each list to print (0: all)")
	}
}

// deviceFlag adds the flag --device.
func (q *memQuery) deviceFlag(c *cobra.Command, usage string) {
	q.device = allDevices
	c.Flags().Var(&count{&q.device, -1}, "device", usage)
	c.Flags().Lookup("device").DefValue = "all"
}

// eventFlag adds the flag --event, which is -1 where it is not given.
func eventFlag(c *cobra.Command, event *int, usage string) {
	*event = -1
	c.Flags().Var(&count{event, 0}, "event", usage)
	c.Flags().Lookup("event").DefValue = ""
}

// shown returns how many of n entries to print.
func (q *memQuery) shown(n int) int {
	if q.top == 0 {
		return n
	}
	return min(n, q.top)
}

// dump is a snapshot that was read, with the histories of the devices asked for.
type dump struct {
	name      string
	snapshot  *snapshot.Snapshot
	histories []*timeline.History
	names     *timeline.Names
	warnings  []string
}

// load reads a file and replays it.
func (q *memQuery) load(c *cobra.Command, name string) (*dump, error) {
	q.out, q.errs = c.OutOrStdout(), c.ErrOrStderr()
	s, err := q.read(name)
	if err != nil {
		return nil, err
	}
	d := &dump{name: name, snapshot: s, names: timeline.NewNames(s), warnings: s.Warnings}
	for _, device := range s.Devices {
		if q.device != allDevices && device.Index != q.device {
			continue
		}
		h := timeline.New(s, device)
		d.histories = append(d.histories, h)
		d.warnings = append(d.warnings, h.Warnings...)
	}
	if q.device != allDevices && len(d.histories) == 0 {
		return nil, fail(fmt.Errorf("%s has nothing of device %d", name, q.device))
	}
	return d, nil
}

// read reads a file. Nearly all memory of these commands is the snapshot's, which
// stays, so for the rest of the process the collector leaves little room for
// garbage: a fifth of a big dump and not as much again.
func (q *memQuery) read(name string) (*snapshot.Snapshot, error) {
	debug.SetGCPercent(20)
	s, err := snapshot.Open(name)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = fileError("read", name, err)
		}
		return nil, fail(err)
	}
	return s, nil
}

// one returns the only history with a trace, where a question makes sense for one
// device alone.
func (d *dump) one() (*timeline.History, error) {
	var found *timeline.History
	for _, h := range d.histories {
		if h.Device.Trace.Len() == 0 {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s has traces of several devices; say --device", d.name)
		}
		found = h
	}
	if found == nil && len(d.histories) > 0 {
		found = d.histories[0]
	}
	if found == nil {
		return nil, fail(fmt.Errorf("%s is a snapshot without devices", d.name))
	}
	return found, nil
}

// warn prints the doubts on standard error, also if the JSON has them.
func (q *memQuery) warn(warnings []string) {
	for i, w := range warnings {
		if i == 20 {
			fmt.Fprintf(q.errs, "ebb: warning: and %d more\n", len(warnings)-i)
			return
		}
		fmt.Fprintf(q.errs, "ebb: warning: %s\n", plain(w))
	}
}

// badNews is the status of an answer that is bad news, which was printed.
func badNews() error { return &failure{status: statusSurvived} }

// writeFile writes a file whole or not at all, as it is produced; "-" is standard
// output.
func writeFile(c *cobra.Command, path string, content func(w io.Writer) error) error {
	if path == "-" {
		return fail(content(c.OutOrStdout()))
	}
	return fail(writeStream(path, content))
}

// outputName returns the name of a file made of an input: with another ending,
// in the current folder.
func outputName(input, ending string) string {
	base := filepath.Base(input)
	if input == "-" {
		base = "snapshot"
	}
	for _, old := range []string{".gz", ".pickle", ".pkl", ".json"} {
		if len(base) > len(old) && base[len(base)-len(old):] == old {
			base = base[:len(base)-len(old)]
		}
	}
	return base + ending
}
