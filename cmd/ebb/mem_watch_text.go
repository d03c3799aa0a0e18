package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ebb-ml/ebb"
)

// row prints a reading as a line of a table.
func (w *watcher) row(r *reading, since time.Duration, head bool) error {
	var b strings.Builder
	if head {
		fmt.Fprintf(&b, "%s (%d)\n%10s", plain(r.Program), r.PID, "time")
		names := []string{"live", "peak", "mapped", "cached", "resident"}
		if r.Source == "system" {
			names = []string{"resident", "anonymous", "files", "most"}
		}
		for _, name := range names {
			fmt.Fprintf(&b, "  %12s", name)
		}
		b.WriteByte('\n')
	}
	figures := []int64{r.Live, r.Peak, r.Mapped, r.Cached, r.RSS}
	if r.Source == "system" {
		figures = []int64{r.RSS, r.Anon, r.files, r.most}
	}
	fmt.Fprintf(&b, "%9.1fs", since.Seconds())
	for _, n := range figures {
		fmt.Fprintf(&b, "  %12s", ebb.FormatBytes(n))
	}
	sep := "  "
	for _, k := range r.Kinds {
		if k.Live > 0 {
			fmt.Fprintf(&b, "%s%s %s", sep, plain(k.Kind), ebb.FormatBytes(k.Live))
			sep = ", "
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w.out, b.String())
	return err
}

// draw draws a reading over the last one.
func (w *watcher) draw(r *reading) error {
	text := r.text()
	over := ""
	if w.drawn > 0 {
		over = fmt.Sprintf("\x1b[%dA\x1b[J", w.drawn)
	}
	w.drawn = strings.Count(text, "\n")
	_, err := io.WriteString(w.out, over+text)
	return err
}

// barWidth is how many characters a full bar has.
const barWidth = 32

// bar draws a share of a whole.
func bar(n, whole int64) string {
	if whole <= 0 {
		return ""
	}
	eighths := int(float64(min(max(n, 0), whole)) / float64(whole) * 8 * barWidth)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

// text is a reading for a terminal: figures with bars on one scale.
func (r *reading) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d), %s\n", plain(r.Program), r.PID, r.Time.Local().Format("15:04:05"))
	size := ebb.FormatBytes
	scale := max(r.Mapped, r.Peak, r.RSS, r.Limit, 1)
	row := func(name string, n int64, note string) {
		fmt.Fprintf(&b, "  %-16s %12s  %-*s  %s\n", plain(name), size(n), barWidth, bar(n, scale), note)
	}
	if r.Source == "system" {
		scale = max(r.most, r.RSS, 1)
		row("resident", r.RSS, "at most "+size(r.most))
		row("  anonymous", r.Anon, "")
		row("  files", r.files, "")
		return b.String()
	}
	row("live", r.Live, "peak "+size(r.Peak))
	for _, k := range r.Kinds {
		row("  "+k.Kind, k.Live, "peak "+size(k.Peak))
	}
	limit := "no limit"
	if r.Limit > 0 {
		limit = "limit " + size(r.Limit)
	}
	row("mapped", r.Mapped, limit)
	row("  cached", r.Cached, "largest hole "+size(r.LargestHole))
	if r.RSS > 0 {
		row("resident", r.RSS, "the whole process")
	}
	fmt.Fprintf(&b, "  %s, %d stores and scopes open, %s running\n", countText(int(r.Count), "tensor"), r.Owners, countText(r.Leases, "operation"))
	if r.OutOfMemory > 0 {
		fmt.Fprintf(&b, "  %s for lack of memory\n", countText(int(r.OutOfMemory), "request")+" failed")
	}
	if h := r.History; h.On {
		fmt.Fprintf(&b, "  history: %s", countText(h.Events, "event"))
		if h.Dropped > 0 {
			fmt.Fprintf(&b, ", %d older ones dropped", h.Dropped)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
