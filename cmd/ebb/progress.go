package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/datasets"
)

// How often progress is shown: a bar is drawn anew, elsewhere a line is printed.
const (
	drawEvery = 100 * time.Millisecond
	lineEvery = 2 * time.Second
)

// progress shows how far a run is: as a bar on a terminal, as a line now and then
// elsewhere. It has no goroutine: what goes on calls it. A nil progress shows
// nothing.
type progress struct {
	rt       *ebb.Runtime
	out      io.Writer
	terminal bool
	bar      *progressbar.ProgressBar // nil: none is on the screen
	now      func() time.Time

	started, shown time.Time
	total          int     // steps
	samples        int     // since started
	accuracy       float64 // negative: not known yet
	file           string  // that is downloaded
}

func newProgress(rt *ebb.Runtime, out io.Writer) *progress {
	_, isTerminal := terminal(out)
	return &progress{rt: rt, out: out, terminal: isTerminal, now: time.Now, accuracy: -1}
}

// start says how many steps there will be.
func (p *progress) start(total int) {
	if p == nil {
		return
	}
	p.clear()
	p.total, p.samples = total, 0
	p.started = p.now()
	p.shown = p.started
}

// step tells of the nth step, from 1.
func (p *progress) step(n int, loss float32, samples int) {
	if p == nil {
		return
	}
	p.samples += samples
	if !p.due() {
		return
	}
	elapsed := p.shown.Sub(p.started).Seconds()
	s := p.rt.Stats()
	accuracy, live, peak := "accuracy", "live ", ", peak "
	if p.narrow() {
		accuracy, live, peak = "acc", "", " of "
	}
	text := fmt.Sprintf("loss %.4f", loss)
	if p.accuracy >= 0 {
		text += fmt.Sprintf(", %s %.4f", accuracy, p.accuracy)
	}
	text += fmt.Sprintf(", %s/s, %s%s%s%s", thousands(float64(p.samples)/elapsed), live, ebb.FormatBytes(s.Live.Current), peak, ebb.FormatBytes(s.Live.Peak))
	if !p.terminal {
		seconds := elapsed / float64(n) * float64(p.total-n)
		left := time.Duration(min(seconds, math.MaxInt64/float64(2*time.Second)) * float64(time.Second))
		fmt.Fprintf(p.out, "step %d of %d: %s, %s left\n", n, p.total, text, left.Round(time.Second))
		return
	}
	p.draw(int64(n), int64(p.total), text)
}

// evaluated tells of the accuracy so far.
func (p *progress) evaluated(share float64) {
	if p != nil {
		p.accuracy = share
	}
}

// download tells of a file on its way from elsewhere.
func (p *progress) download(d datasets.Progress) {
	if p == nil {
		return
	}
	first := d.File != p.file
	if first {
		p.clear()
		p.file, p.shown = d.File, time.Time{}
	}
	if !p.due() && d.Done < d.Total {
		return
	}
	text := d.File
	if d.Waiting {
		text += ": another process downloads it"
	} else if d.Source != "" {
		text += " from " + d.Source
	}
	switch {
	case p.terminal && d.Done < d.Total:
		p.draw(d.Done, d.Total, text)
	case p.terminal:
		p.clear()
		p.say(fmt.Sprintf("got %s, %s", text, ebb.FormatBytes(d.Total)))
	case d.Waiting:
		p.say(text)
	default:
		p.say(fmt.Sprintf("%s: %s of %s", text, ebb.FormatBytes(d.Done), ebb.FormatBytes(d.Total)))
	}
}

// say prints a line.
func (p *progress) say(line string) {
	if p == nil {
		return
	}
	if p.bar != nil {
		_ = p.bar.Clear() // it is drawn again below the line
	}
	fmt.Fprintln(p.out, line)
}

// end leaves nothing on the screen that is not true any more.
func (p *progress) end() {
	if p != nil {
		p.clear()
	}
}

// wide is how many columns of a terminal have room for whole words beside a bar.
const wide = 110

// narrow reports whether the terminal has fewer.
func (p *progress) narrow() bool {
	width, known := p.width()
	return known && width < wide
}

// width returns the columns of the terminal, if it is one and tells.
func (p *progress) width() (columns int, known bool) {
	f, ok := terminal(p.out)
	if !ok {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	return columns, err == nil && columns > 0
}

// due reports whether it is time to show something again.
func (p *progress) due() bool {
	every := lineEvery
	if p.terminal {
		every = drawEvery
	}
	now := p.now()
	if now.Sub(p.shown) < every {
		return false
	}
	p.shown = now
	return true
}

// besideText is how many columns the rest takes at most: the share, the times and
// what parts them. The bar gives way.
const besideText = 28

// draw draws the bar, in one line: what has no room is cut off.
func (p *progress) draw(done, total int64, text string) {
	if width, known := p.width(); known {
		text = head(text, width-besideText)
	}
	if p.bar == nil {
		out := p.out
		if f, ok := terminal(out); ok {
			out = f // whose width the bar finds out
		}
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetWidth(24),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionThrottle(drawEvery/2), // one of the two calls below draws
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetDescription(text),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}),
		)
		if done*100 < total { // which Set64 does not draw
			_ = p.bar.RenderBlank()
		}
	} else {
		p.bar.Describe(text)
	}
	_ = p.bar.Set64(done) // its errors are the terminal's
}

// clear takes the bar off the screen.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
		p.bar = nil
	}
}

// thousands prints a rate in up to four digits: 730, 84k, 1200k.
func thousands(x float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G"} {
		if x < 9999.5 {
			break
		}
		x, unit = x/1000, u
	}
	return fmt.Sprintf("%.0f", x) + unit
}
