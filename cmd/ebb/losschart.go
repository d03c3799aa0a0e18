package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// loss draws the loss of each step, its running mean, and the accuracy where it
// was taken. Points that are no numbers are gaps.
func (w *pageWriter) loss(c *curve) {
	xs, ys := make([]float64, len(c.points)), make([]float64, len(c.points))
	head := make([]string, len(c.points))
	low, high := math.Inf(1), math.Inf(-1)
	for i, point := range c.points {
		first := i * c.stride
		xs[i], ys[i] = float64(first+c.stride), float64(point)
		if finite(ys[i]) {
			low, high = min(low, ys[i]), max(high, ys[i])
		}
		head[i] = fmt.Sprintf("step %d", first+1)
		if c.stride > 1 {
			head[i] = fmt.Sprintf("steps %d to %d", first+1, first+c.stride)
		}
	}
	if low > high {
		w.printf("<p>No loss was recorded.</p>\n")
		return
	}
	if low == high {
		high += max(1, math.Abs(low)/2) // 1 more is nothing to a very large loss
	}
	step := niceStep(high - low)
	p := &plot{top: 22, height: 240, xHigh: xs[len(xs)-1], yLow: math.Floor(low/step) * step, yHigh: math.Ceil(high/step) * step}
	w.svg(22+240+24, fmt.Sprintf("Loss over %d steps, between %.4g and %.4g", len(c.points)*c.stride, low, high))
	for i := range int((p.yHigh-p.yLow)/step+0.5) + 1 {
		v := p.yLow + float64(i)*step
		w.printf("<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"y\" x=\"%d\" y=\"%.1f\">%s</text>\n",
			leftMargin, leftMargin+plotWidth, p.y(v), p.y(v), leftMargin-8, p.y(v)+4, trimZeros(v))
	}
	for v, across := 0.0, max(niceStep(p.xHigh), 1); v <= p.xHigh; v += across {
		w.printf("<text class=\"x\" x=\"%.1f\" y=\"%.1f\">%.0f</text>\n", p.x(v), p.bottom()+18, v)
	}
	h := &hover{Head: head, Top: p.top, Bottom: p.bottom()}
	for _, x := range xs {
		h.X = append(h.X, round1(p.x(x)))
	}
	if span := len(ys) / 40; span > 1 {
		mean := runningMean(ys, span)
		w.line(p, "loss each", xs, ys)
		w.line(p, "loss", xs, mean)
		h.add("loss", "loss each", numbers(ys))
		h.add(fmt.Sprintf("mean of the %d steps around", (span/2*2+1)*c.stride), "loss", numbers(mean))
	} else {
		w.line(p, "loss", xs, ys)
		h.add("loss", "loss", numbers(ys))
	}
	for _, e := range c.evaluations {
		x := p.x(float64(e.steps))
		w.printf("<line class=\"evaluated\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"y name\" x=\"%.1f\" y=\"%.1f\">accuracy %.2f %%</text>\n",
			x, x, p.top, p.bottom(), x-6, p.top-6, 100*e.share)
	}
	w.endSVG(h)
	w.legend(h)
}

// runningMean returns for each point the mean of the span ones around it, fewer
// at the ends.
func runningMean(ys []float64, span int) []float64 {
	means := make([]float64, len(ys))
	for i := range ys {
		half := min(span/2, i, len(ys)-1-i)
		sum, n := 0.0, 0
		for _, y := range ys[i-half : i+half+1] {
			if finite(y) {
				sum, n = sum+y, n+1
			}
		}
		means[i] = sum / float64(n) // NaN if there were none: a gap
	}
	return means
}

// numbers returns ys with 0 for what JSON does not have.
func numbers(ys []float64) []float64 {
	out := make([]float64, len(ys))
	for i, y := range ys {
		if finite(y) {
			out[i] = y
		}
	}
	return out
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func round1(x float64) float64 { return math.Round(x*10) / 10 }

// trimZeros prints a number as short as four digits allow.
func trimZeros(x float64) string {
	return strconv.FormatFloat(math.Round(x*1e9)/1e9, 'g', 4, 64)
}
