package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/ebb-ml/ebb/internal/memview"
	"github.com/spf13/cobra"
)

// maxViewEvents is how many events a page shows of each device unless told
// otherwise. A browser is quick with as many.
const maxViewEvents = 1_500_000

func newMemView() *cobra.Command {
	q := &memQuery{}
	var from, to, out string
	c := &cobra.Command{
		Use:   "view FILE",
		Short: "Write a page that shows the timeline, the segments and a flame graph",
		Long: `Write a page that shows memory over time, the segments and holes at an instant, and
a flame graph. The page needs no network and no other file.

Of a trace of more than 1,500,000 events the page shows the part around the peak;
--from and --to pick another. They are numbers of events, times since the first
event such as 1.5s, or microseconds since the Unix epoch.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = outputName(args[0], ".html")
			}
			d, err := q.load(c, args[0])
			if err != nil {
				return err
			}
			page, err := q.page(d, from, to)
			if err != nil {
				return err
			}
			q.warn(page.Warnings)
			if err := writeFile(c, out, func(w io.Writer) error { return page.Write(w) }); err != nil {
				return err
			}
			if out != "-" {
				fmt.Fprintf(q.errs, "ebb: wrote %s\n", out)
			}
			return nil
		},
	}
	q.deviceFlag(c, "show one device alone")
	c.Flags().StringVar(&from, "from", "0", "the instant at which the page begins")
	c.Flags().StringVar(&to, "to", "", "the instant at which it ends (default: the end)")
	c.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default: the input's name with .html)")
	return c
}

// page picks what the page shows.
func (q *memQuery) page(d *dump, from, to string) (*memview.Page, error) {
	windows, err := d.windows(from, to)
	if err != nil {
		return nil, err
	}
	p := &memview.Page{Title: filepath.Base(d.name), Names: d.names, Warnings: d.warnings}
	for _, w := range windows {
		if n := w.To - w.From; n > maxViewEvents && from == "0" && to == "" {
			w.From = max(min(w.History.PeakAt-maxViewEvents/2, w.To-maxViewEvents), 0)
			w.To = w.From + maxViewEvents
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: the page shows events %d to %d of %d, around the peak; --from and --to pick another part",
				w.History.Device.Name(), w.From, w.To, n))
		}
		if w.History.Device.Trace.Len() > 0 || len(w.History.Before) > 0 || len(w.History.Device.Segments) > 0 {
			p.Windows = append(p.Windows, memview.Window(w))
		}
	}
	return p, nil
}
