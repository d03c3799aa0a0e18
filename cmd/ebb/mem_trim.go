package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/ebb-ml/ebb/internal/timeline"
	"github.com/spf13/cobra"
)

func newMemTrim() *cobra.Command {
	q := &memQuery{}
	var from, to, out string
	c := &cobra.Command{
		Use:   "trim FILE [--from X] [--to Y]",
		Short: "Write a smaller snapshot: a part of the trace, and the segments at its end",
		Long: `Write a smaller snapshot, which PyTorch's viewer opens too: the events between two
instants and the segments as they were at the second. An instant is a number of
events, a time since the first event such as 1.5s, or microseconds since the Unix
epoch.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = outputName(args[0], ".trimmed.pickle")
			}
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			windows, err := d.windows(from, to)
			if err != nil {
				return err
			}
			s, madeUp := timeline.Trim(d.snapshot, windows)
			if madeUp > 0 {
				d.warnings = append(d.warnings, fmt.Sprintf("%s made up for blocks that lie in none", countText(madeUp, "segment")))
			}
			q.warn(d.warnings)
			if err := writeFile(c, out, func(w io.Writer) error { return s.Write(w) }); err != nil {
				return err
			}
			if out != "-" {
				fmt.Fprintf(q.errs, "ebb: wrote %s\n", out)
			}
			return nil
		},
	}
	q.deviceFlag(c, "keep one device alone")
	c.Flags().StringVar(&from, "from", "0", "the instant at which the part begins")
	c.Flags().StringVar(&to, "to", "", "the instant at which it ends (default: the end)")
	c.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default: the input's name with .trimmed.pickle)")
	return c
}

// windows returns the part to keep of each device. Numbers of events are those of
// one device; the others keep what lies in the same time.
func (d *dump) windows(from, to string) ([]timeline.Window, error) {
	var windows []timeline.Window
	if isCount(from) && from != "0" || isCount(to) {
		h, err := d.one()
		if err != nil {
			return nil, err
		}
		d.histories = []*timeline.History{h}
	}
	for _, h := range d.histories {
		w := timeline.Window{History: h, To: h.Device.Trace.Len()}
		var err error
		if w.From, err = parseInstant(h, from); err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		if to != "" {
			if w.To, err = parseInstant(h, to); err != nil {
				return nil, fmt.Errorf("--to: %w", err)
			}
		}
		if w.From > w.To {
			return nil, fmt.Errorf("--from %s is after --to %s", from, to)
		}
		windows = append(windows, w)
	}
	return windows, nil
}

// isCount reports whether an instant is given as a number of events.
func isCount(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n <= 1e12
}

// parseInstant returns the instant that a text stands for.
func parseInstant(h *timeline.History, text string) (int, error) {
	if !isCount(text) {
		return parseTime(h, text)
	}
	n, _ := strconv.Atoi(text)
	if all := h.Device.Trace.Len(); n < 0 || n > all {
		return 0, fmt.Errorf("%d: the trace has %d events", n, all)
	}
	return n, nil
}
