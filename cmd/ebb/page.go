package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"math"

	"github.com/ebb-ml/ebb/lifecycle"
)

//go:embed page.css
var style string

// page returns an HTML page, whole in itself, with the table of the report and
// the loss curve.
func page(s settings, r *lifecycle.Report, c *curve) []byte {
	var b bytes.Buffer
	title := html.EscapeString("ebb train " + r.Program)
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"+
		"<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>%s</h1>\n", title, style, title)
	fmt.Fprintf(&b, "<p>seed %d, %d epochs, batches of %d, learning rate %g</p>\n", r.Seed, s.epochs, s.batchSize, s.lr)
	verdict := "freed"
	if !r.Freed {
		verdict = "survived"
	}
	fmt.Fprintf(&b, "<p class=\"%s\">%s</p>\n", verdict, html.EscapeString(r.Verdict()))
	if len(r.Survivors) > 0 {
		b.WriteString("<ul>\n")
		for _, v := range r.Survivors {
			fmt.Fprintf(&b, "<li>%s</li>\n", html.EscapeString(v.String()))
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("<h2>Memory</h2>\n")
	stateTable(&b, r)
	b.WriteString("<h2>Loss</h2>\n")
	lossCurve(&b, c)
	b.WriteString("</body>\n</html>\n")
	return b.Bytes()
}

// stateTable writes the states and marks as a table.
func stateTable(b *bytes.Buffer, r *lifecycle.Report) {
	b.WriteString("<div class=\"wide\"><table>\n")
	for i, row := range r.Rows() {
		tag := "td"
		if i == 0 {
			tag = "th scope=\"col\""
		}
		b.WriteString("<tr>")
		for k, cell := range row {
			switch {
			case k == 0 && i > 0 && cell[0] == ' ': // a mark
				fmt.Fprintf(b, "<th scope=\"row\" class=\"mark\">%s</th>", html.EscapeString(cell))
			case k == 0 && i > 0:
				fmt.Fprintf(b, "<th scope=\"row\">%s</th>", html.EscapeString(cell))
			default:
				fmt.Fprintf(b, "<%s>%s</%s>", tag, html.EscapeString(cell), tag[:2])
			}
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table></div>\n")
}

// The size of the curve in its own units, and the room for the numbers beside it.
const (
	width, height = 800, 300
	left, bottom  = 70, 30
)

// lossCurve writes the curve as a drawing. Points that are no numbers are gaps.
func lossCurve(b *bytes.Buffer, c *curve) {
	low, high := math.Inf(1), math.Inf(-1)
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	for _, p := range c.points {
		if x := float64(p); finite(x) {
			low, high = min(low, x), max(high, x)
		}
	}
	if low > high {
		b.WriteString("<p>No loss was recorded.</p>\n")
		return
	}
	steps := (len(c.points) - 1) * c.stride
	fmt.Fprintf(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Loss over %d steps, between %.6g and %.6g\">\n", left+width+10, height+bottom+10, steps+1, low, high)
	if low == high {
		high++
	}
	y := func(x float64) float64 { return 5 + (high-x)/(high-low)*height }
	for i := range 5 {
		v := low + (high-low)*float64(i)/4
		fmt.Fprintf(b, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" class=\"y\">%.4g</text>\n", left, left+width, y(v), y(v), left-8, y(v)+4, v)
		at := left + width*i/4
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" class=\"x\">%d</text>\n", at, height+bottom, steps*i/4)
	}
	b.WriteString("<path d=\"")
	pen := "M"
	for i, p := range c.points {
		if !finite(float64(p)) {
			pen = "M"
			continue
		}
		x := float64(left)
		if len(c.points) > 1 {
			x += float64(i) * width / float64(len(c.points)-1)
		}
		fmt.Fprintf(b, "%s%.1f %.1f", pen, x, y(float64(p)))
		pen = "L"
	}
	b.WriteString("\"/>\n</svg>\n")
}
