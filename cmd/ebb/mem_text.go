package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/timeline"
)

// bytesText prints a size for people.
func bytesText(n uint64) string { return ebb.FormatBytes(int64(min(n, 1<<62))) }

// deltaText prints a difference of sizes with its sign.
func deltaText(n int64) string {
	if n > 0 {
		return "+" + ebb.FormatBytes(n)
	}
	return ebb.FormatBytes(n)
}

// plain makes text from a file fit for a terminal: what could move the cursor,
// change colours or turn the direction of writing is spelled out.
func plain(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }

// tail shortens text to a number of characters and keeps its end, where a path
// has what matters.
func tail(s string, width int) string {
	runes := []rune(s)
	switch {
	case len(runes) <= width:
		return s
	case width < 1:
		return ""
	}
	return "…" + string(runes[len(runes)-width+1:])
}

// head shortens text to a number of characters and keeps its beginning.
func head(s string, width int) string {
	runes := []rune(s)
	switch {
	case len(runes) <= width:
		return s
	case width < 1:
		return ""
	}
	return string(runes[:width-1]) + "…"
}

// printJSON prints a value as JSON without a character that a terminal obeys.
func printJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fail(err)
	}
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\n' || !unprintable(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&b, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	_, err = io.WriteString(w, b.String()+"\n")
	return fail(err)
}

// table prints rows in columns: figures, which begin with a digit or a sign, to the
// right, texts to the left. Columns count characters.
func table(w io.Writer, indent string, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == len(row)-1:
				b.WriteString(cell)
			case cell != "" && (cell[0] >= '0' && cell[0] <= '9' || cell[0] == '+' || cell[0] == '-'):
				b.WriteString(pad + cell + "  ")
			default:
				b.WriteString(cell + pad + "  ")
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// siteWidth is how much of a site fits beside the figures.
const siteWidth = 72

// printHolders prints a list of holders under a heading.
func (q *memQuery) printHolders(heading string, list []timeline.Holder, total uint64) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(q.out, "\n  %s\n", heading)
	var rows [][]string
	n := q.shown(len(list))
	for _, h := range list[:n] {
		rows = append(rows, []string{bytesText(h.Bytes), percent(h.Bytes, total), countText(h.Count, "block"), plain(h.Kind), tail(plain(h.Site), siteWidth)})
	}
	if rest := list[n:]; len(rest) > 0 {
		var bytes uint64
		var count int
		for _, h := range rest {
			bytes += h.Bytes
			count += h.Count
		}
		rows = append(rows, []string{bytesText(bytes), percent(bytes, total), countText(count, "block"), "", fmt.Sprintf("%d more (--top 0 lists all)", len(rest))})
	}
	table(q.out, "    ", rows)
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

func countText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sinceStart prints how long after the trace's first event an instant is.
func sinceStart(h *timeline.History, instant int) string {
	first := h.Time(0)
	if first == 0 {
		return "at an unknown time"
	}
	d := time.Duration(h.Time(instant)-first) * time.Microsecond
	return fmt.Sprintf("%.3f s after the first event", d.Seconds())
}
