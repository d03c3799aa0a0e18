package main

import (
	"html"
	"strings"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
)

// Where the parts of the drawing of memory over time are.
const (
	cellHeight = 56 // the six states' figures
	cellGap    = 6
	joinHeight = 26 // from a state's figures to its time
	timeHeight = 270
)

// memory draws what tensors held over time, kind on kind, with the states as
// bands and the system's figures as lines.
func (w *pageWriter) memory(r *lifecycle.Report, rec *recorder) {
	samples := rec.all()
	var most, live, others int64
	xs := make([]float64, len(samples))
	head := make([]string, len(samples))
	anon, mapped := make([]float64, len(samples)), make([]float64, len(samples))
	for i, s := range samples {
		xs[i] = ms(s.at)
		anon[i], mapped[i] = float64(s.anon), float64(s.mapped)
		most = max(most, s.anon, s.mapped, s.live)
		live, others = max(live, s.live), max(others, s.live-s.kinds[ebb.Input-1])
		head[i] = formatMS(xs[i]) + ", " + stateAt(rec.events, s)
	}
	top, step := byteScale(most)
	end := max(xs[len(xs)-1], 1e-3)
	p := &plot{top: cellHeight + joinHeight, height: timeHeight, xHigh: end * 1.03, yHigh: top}
	w.svg(cellHeight+joinHeight+timeHeight+24, "Memory over time: at most "+ebb.FormatBytes(live)+" live")
	w.states(p, r, rec.events)
	w.byteGrid(p, step)
	h := &hover{Head: head, Unit: "B", Top: p.top, Bottom: p.bottom()}
	for _, x := range xs {
		h.X = append(h.X, round1(p.x(x)))
	}
	w.areas(p, h, xs, layers(samples, 0))
	w.line(p, "mapped", xs, mapped)
	w.line(p, "anon", xs, anon)
	h.add("mapped for tensors", "mapped", mapped)
	h.add("RssAnon of the process", "anon", anon)
	w.timeAxis(p, end)
	w.endSVG(h)
	w.legend(h)
	if others > 0 && others < live/3 {
		w.printf("<h3>The same without the data</h3>\n")
		w.withoutData(xs, head, samples, others, end)
	}
}

// withoutData draws what the data would hide: parameters, gradients, activations.
func (w *pageWriter) withoutData(xs []float64, head []string, samples []sample, most int64, end float64) {
	top, step := byteScale(most)
	p := &plot{top: 8, height: 150, xHigh: end * 1.03, yHigh: top}
	w.svg(8+150+24, "The same without the data: at most "+ebb.FormatBytes(most))
	w.byteGrid(p, step)
	h := &hover{Head: head, Unit: "B", Top: p.top, Bottom: p.bottom()}
	for _, x := range xs {
		h.X = append(h.X, round1(p.x(x)))
	}
	w.areas(p, h, xs, layers(samples, ebb.Input))
	w.timeAxis(p, end)
	w.endSVG(h)
}

// timeAxis draws times under a plot.
func (w *pageWriter) timeAxis(p *plot, end float64) {
	step := niceStep(end)
	for t := 0.0; t <= end; t += step {
		w.printf("<line class=\"tick\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"x\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			p.x(t), p.x(t), p.bottom(), p.bottom()+4, p.x(t), p.bottom()+18, axisTime(t, end))
	}
}

func axisTime(t, end float64) string {
	if t == 0 {
		return "0"
	}
	if end < 1000 {
		return strings.Replace(formatMS(t), ".0 ", " ", 1)
	}
	return trimZeros(t/1000) + " s"
}

// states draws each state's figures in a cell of the same width, and leads from
// there to its time, which may be as short as a hair.
func (w *pageWriter) states(p *plot, r *lifecycle.Report, events []event) {
	entered := map[string]float64{}
	var order []string
	for _, e := range events {
		if e.state {
			entered[e.name] = ms(e.at)
			order = append(order, e.name)
		}
	}
	const n = int(lifecycle.MemoryFreed) + 1
	width := float64(plotWidth-(n-1)*cellGap) / float64(n)
	for i := range n {
		name := lifecycle.State(i).String()
		left := leftMargin + float64(i)*(width+cellGap)
		right := left + width
		from, ok := entered[name]
		class := "s" + string(rune('0'+i))
		if !ok {
			w.printf("<g class=\"state none\"><rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\" rx=\"4\"/><text x=\"%.1f\" y=\"18\" class=\"name\">%s</text><text x=\"%.1f\" y=\"34\">not reached</text></g>\n",
				left, width, cellHeight, left+8, name, left+8)
			continue
		}
		until := p.xHigh
		for k, o := range order {
			if o == name && k+1 < len(order) {
				until = entered[order[k+1]]
			}
		}
		a, b := p.x(from), max(p.x(until), p.x(from)+1)
		w.printf("<g class=\"state %s\"><rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\" rx=\"4\"/>", class, left, width, cellHeight)
		w.printf("<path class=\"join\" d=\"M%.1f %dL%.1f %dL%.1f %.1fL%.1f %.1fZ\"/>", left+4, cellHeight, right-4, cellHeight, b, p.top, a, p.top)
		w.printf("<rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", a, p.top, b-a, p.height)
		w.printf("<text x=\"%.1f\" y=\"18\" class=\"name\">%s</text>", left+8, name)
		if f, ok := figuresOf(r, lifecycle.State(i)); ok {
			w.printf("<text x=\"%.1f\" y=\"34\">live %s</text><text x=\"%.1f\" y=\"49\">RssAnon %s</text>", left+8, ebb.FormatBytes(f.Live), left+8, ebb.FormatBytes(f.RSSAnon))
		}
		w.printf("</g>\n")
	}
	for _, e := range events {
		if !e.state {
			w.printf("<line class=\"marked\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"><title>%s</title></line>\n",
				p.x(ms(e.at)), p.x(ms(e.at)), p.top, p.bottom(), html.EscapeString(e.name))
		}
	}
}

// figuresOf returns the report's figures at a state.
func figuresOf(r *lifecycle.Report, s lifecycle.State) (lifecycle.Figures, bool) {
	for _, reading := range r.States {
		if reading.State == s {
			return reading.Figures, true
		}
	}
	return lifecycle.Figures{}, false
}

// stateAt returns the state that a sample belongs to, and the last mark in it.
func stateAt(events []event, s sample) string {
	name, mark := "", ""
	for _, e := range events {
		switch {
		case e.at > s.at:
		case e.state:
			name, mark = e.name, ""
		default:
			mark = ", " + e.name
		}
	}
	return name + mark
}

// columns draws what tensors held at each state and mark, one beside the other.
func (w *pageWriter) columns(rec *recorder) {
	var most int64
	samples := make([]sample, len(rec.events))
	head := make([]string, len(rec.events))
	anon := make([]float64, len(rec.events))
	for i, e := range rec.events {
		samples[i], head[i], anon[i] = e.sample, e.name, float64(e.anon)
		most = max(most, e.live, e.anon)
	}
	const top, height = 24, 210
	scale, step := byteScale(most)
	p := &plot{top: top, height: height, xHigh: float64(len(samples)), yHigh: scale}
	w.svg(top+height+44, "Memory at each state and mark")
	w.byteGrid(p, step)
	h := &hover{Head: head, Unit: "B", Top: top, Bottom: top + height}
	ls := layers(samples, 0)
	half := plotWidth / float64(len(samples)) * 0.36
	for i, e := range rec.events {
		x, below := p.x(float64(i)+0.5), 0.0
		h.X = append(h.X, round1(x))
		for _, l := range ls {
			if v := l.values[i]; v > 0 {
				w.printf("<rect class=\"area %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", l.class, x-half, p.y(below+v), 2*half, max(p.y(below)-p.y(below+v), 1))
				below += v
			}
		}
		y := p.y(below) - 6
		if dot := p.y(anon[i]); y-12 < dot+5 { // which may be in the way
			y = min(y, dot-8)
		}
		w.printf("<text class=\"x value\" x=\"%.1f\" y=\"%.1f\">%s</text>", x, y, ebb.FormatBytes(e.live))
		w.printf("<circle class=\"anon\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>", x, p.y(anon[i]))
		class := "x"
		if e.state {
			class = "x name"
		}
		for k, part := range halves(e.name) {
			w.printf("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", class, x, p.bottom()+18+float64(k)*15, html.EscapeString(part))
		}
		w.printf("\n")
	}
	for _, l := range ls {
		h.add(l.name, l.class, l.values)
	}
	h.add("RssAnon of the process", "anon", anon)
	w.endSVG(h)
	w.legend(h)
}

// halves cuts a name into two lines, between words or before a capital.
func halves(name string) []string {
	best := -1
	for i := 1; i < len(name); i++ {
		if c := name[i]; c == ' ' || 'A' <= c && c <= 'Z' {
			if best < 0 || abs(2*i-len(name)) < abs(2*best-len(name)) {
				best = i
			}
		}
	}
	if best < 0 {
		return []string{name}
	}
	return []string{name[:best], strings.TrimSpace(name[best:])}
}

func abs(n int) int { return max(n, -n) }
