package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/ebb-ml/ebb"
)

// The sizes of a drawing in its own units.
const (
	fullWidth  = 1000
	leftMargin = 74 // for the numbers beside it
	plotWidth  = fullWidth - leftMargin - 14
)

// plot is a rectangle of a drawing with scales from 0.
type plot struct {
	top, height float64
	xLow, xHigh float64
	yLow, yHigh float64
}

func (p *plot) x(v float64) float64 {
	return leftMargin + (v-p.xLow)/(p.xHigh-p.xLow)*plotWidth
}

func (p *plot) y(v float64) float64 {
	return p.top + (p.yHigh-v)/(p.yHigh-p.yLow)*p.height
}

func (p *plot) bottom() float64 { return p.top + p.height }

// byteScale returns the top of a scale of bytes with at most six steps of a
// power of two, and the step.
func byteScale(highest int64) (top, step float64) {
	s := int64(1)
	for highest > 6*s {
		s *= 2
	}
	return float64(max((highest+s-1)/s, 1) * s), float64(s)
}

// niceStep returns 1, 2 or 5 times a power of ten, so that span has from four to
// ten of them.
func niceStep(span float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{5, 2} {
		if span/(m*power) >= 4 {
			return m * power
		}
	}
	return power
}

// byteGrid draws lines for amounts of memory, with their numbers.
func (w *pageWriter) byteGrid(p *plot, step float64) {
	for v := 0.0; v <= p.yHigh; v += step {
		w.printf("<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"y\" x=\"%d\" y=\"%.1f\">%s</text>\n",
			leftMargin, leftMargin+plotWidth, p.y(v), p.y(v), leftMargin-8, p.y(v)+4, shortBytes(v))
	}
}

// shortBytes prints a round amount of memory.
func shortBytes(v float64) string {
	text := ebb.FormatBytes(int64(v))
	return strings.Replace(text, ".00 ", " ", 1)
}

// formatMS prints milliseconds.
func formatMS(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2g ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 60e3:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
	return fmt.Sprintf("%d min %d s", int(ms/60e3), int(ms/1000)%60)
}

// line draws a line through values. Those that are no numbers are gaps.
func (w *pageWriter) line(p *plot, class string, xs, ys []float64) {
	w.printf("<path class=\"%s\" d=\"", class)
	pen := "M"
	for i, y := range ys {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			pen = "M"
			continue
		}
		w.printf("%s%.1f %.1f", pen, p.x(xs[i]), p.y(y))
		pen = "L"
	}
	w.printf("\"/>\n")
}

// areas draws values stacked on each other and returns the hover data's entries.
func (w *pageWriter) areas(p *plot, h *hover, xs []float64, layers []layer) {
	below := make([]float64, len(xs))
	above := make([]float64, len(xs))
	for _, l := range layers {
		for i, v := range l.values {
			above[i] = below[i] + v
		}
		w.printf("<path class=\"area %s\" d=\"", l.class)
		for i := range xs {
			w.printf("%c%.1f %.1f", "ML"[min(i, 1)], p.x(xs[i]), p.y(above[i]))
		}
		for i := len(xs) - 1; i >= 0; i-- {
			w.printf("L%.1f %.1f", p.x(xs[i]), p.y(below[i]))
		}
		w.printf("Z\"/>\n")
		h.add(l.name, l.class, l.values)
		below, above = above, below
	}
}

// layer is what one kind of memory held at each sample.
type layer struct {
	name, class string
	values      []float64
}

// layers returns those kinds that held anything, those of long life first.
func layers(samples []sample, without ebb.Kind) []layer {
	var ls []layer
	for _, k := range []ebb.Kind{ebb.Input, ebb.Parameter, ebb.Buffer, ebb.OptimizerState, ebb.Gradient, ebb.Activation, ebb.Workspace} {
		if k == without {
			continue
		}
		l := layer{k.String(), fmt.Sprintf("k%d", k), make([]float64, len(samples))}
		any := false
		for i := range samples {
			v := samples[i].kinds[k-1] // Kinds are numbered from 1
			l.values[i] = float64(v)
			any = any || v > 0
		}
		if any {
			ls = append(ls, l)
		}
	}
	return ls
}
