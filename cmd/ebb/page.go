package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

// page returns an HTML page, whole in itself: it asks the network for nothing.
// The drawings are in it as they are; a script only shows the figures under the
// pointer, or at the arrow keys.
func page(s settings, r *lifecycle.Report, c *curve, rec *recorder) []byte {
	p := &pageWriter{}
	title := html.EscapeString("ebb train " + r.Program)
	p.printf("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"+
		"<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n", title, style)
	p.printf("<header>\n<h1>%s</h1>\n<p>%s</p>\n</header>\n", title, html.EscapeString(s.describe(r)))
	p.verdict(r)
	p.tiles(r, c)
	p.printf("<h2>Memory over time</h2>\n")
	p.memory(r, rec)
	p.printf("<h2>What came and went</h2>\n")
	p.columns(rec)
	p.printf("<h2>Loss</h2>\n")
	p.loss(c)
	p.printf("<h2>Figures</h2>\n")
	p.table(r)
	p.printf("<div id=\"tip\" hidden=\"hidden\"></div>\n<script>\n//<![CDATA[\n%s//]]>\n</script>\n</body>\n</html>\n", script)
	return p.Bytes()
}

// describe says what was run, in a line.
func (s *settings) describe(r *lifecycle.Report) string {
	text := fmt.Sprintf("seed %d, %d epochs, batches of %d, learning rate %g", r.Seed, s.epochs, s.batchSize, s.lr)
	if s.momentum > 0 {
		text += fmt.Sprintf(", momentum %g", s.momentum)
	}
	if s.steps > 0 {
		text += fmt.Sprintf(", at most %d steps", s.steps)
	}
	return text
}

// pageWriter writes a page.
type pageWriter struct {
	bytes.Buffer
	charts int
}

func (p *pageWriter) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *pageWriter) verdict(r *lifecycle.Report) {
	class, mark := "freed", "✓"
	if !r.Freed {
		class, mark = "survived", "✗"
	}
	p.printf("<p class=\"verdict %s\"><b>%s</b> %s</p>\n", class, mark, html.EscapeString(r.Verdict()))
	if len(r.Survivors) > 0 {
		p.printf("<ul class=\"survived\">\n")
		for _, v := range r.Survivors {
			p.printf("<li>%s</li>\n", html.EscapeString(v.String()))
		}
		p.printf("</ul>\n")
	}
}

// tiles writes the figures that matter most.
func (p *pageWriter) tiles(r *lifecycle.Report, c *curve) {
	first, last := r.States[0].Figures, r.States[len(r.States)-1].Figures
	if n := len(r.Marks); n > 0 && !r.Freed {
		last = r.Marks[n-1].Figures
	}
	tile := func(value, name string) {
		p.printf("<div><b>%s</b><span>%s</span></div>\n", html.EscapeString(value), html.EscapeString(name))
	}
	p.printf("<section class=\"tiles\">\n")
	tile(ebb.FormatBytes(last.Live), "live at the end")
	tile(ebb.FormatBytes(last.Mapped), "mapped at the end")
	tile(ebb.FormatBytes(last.RSSAnon-first.RSSAnon), "RssAnon grown")
	tile(ebb.FormatBytes(last.PeakLive), "live at the peak")
	if n := len(c.evaluations); n > 0 {
		tile(fmt.Sprintf("%.2f %%", 100*c.evaluations[n-1].share), "test accuracy")
	} else if n := len(c.points); n > 0 && finite(float64(c.points[n-1])) {
		tile(fmt.Sprintf("%.4f", c.points[n-1]), "loss at the end")
	}
	tile(formatMS(last.Elapsed), "in all")
	p.printf("</section>\n")
}

// table writes the states and marks as a table.
func (p *pageWriter) table(r *lifecycle.Report) {
	p.printf("<div class=\"wide\"><table>\n")
	for i, row := range r.Rows() {
		tag := "td"
		if i == 0 {
			tag = "th scope=\"col\""
		}
		p.printf("<tr>")
		for k, cell := range row {
			switch {
			case k == 0 && i > 0 && cell[0] == ' ': // a mark
				p.printf("<th scope=\"row\" class=\"mark\">%s</th>", html.EscapeString(cell))
			case k == 0 && i > 0:
				p.printf("<th scope=\"row\">%s</th>", html.EscapeString(cell))
			default:
				p.printf("<%s>%s</%s>", tag, html.EscapeString(cell), tag[:2])
			}
		}
		p.printf("</tr>\n")
	}
	p.printf("</table></div>\n")
}

// hover is what the script shows of a chart: a head and values for each place.
type hover struct {
	X      []float64   `json:"x"`     // in the drawing's units, rising
	Head   []string    `json:"head"`  // what stands there
	Names  []string    `json:"names"` // of the values
	Class  []string    `json:"class"` // their colours
	Values [][]float64 `json:"values"`
	Unit   string      `json:"unit"` // "B" for bytes, or ""
	Top    float64     `json:"top"`
	Bottom float64     `json:"bottom"`
}

// add adds a name with a colour.
func (h *hover) add(name, class string, values []float64) {
	h.Names, h.Class, h.Values = append(h.Names, name), append(h.Class, class), append(h.Values, values)
}

// svg begins a drawing, for which the page has hover data afterwards.
func (p *pageWriter) svg(height int, label string) {
	p.charts++
	p.printf("<div class=\"wide\"><svg viewBox=\"0 0 %d %d\" role=\"img\" tabindex=\"0\" aria-label=\"%s\" data-chart=\"chart%d\">\n", fullWidth, height, html.EscapeString(label), p.charts)
}

// endSVG ends it.
func (p *pageWriter) endSVG(h *hover) {
	p.printf("<line class=\"cross\" y1=\"%.4g\" y2=\"%.4g\" visibility=\"hidden\"/>\n</svg></div>\n", h.Top, h.Bottom)
	text, err := json.Marshal(h) // which escapes what HTML must not see
	if err != nil {
		text = []byte("null")
	}
	p.printf("<script type=\"application/json\" id=\"chart%d\">%s</script>\n", p.charts, text)
}

// legend writes what the colours mean.
func (p *pageWriter) legend(h *hover) {
	p.printf("<p class=\"legend\">")
	for i, name := range h.Names {
		p.printf("<span><i class=\"%s\"></i>%s</span>\n", h.Class[i], html.EscapeString(name))
	}
	p.printf("</p>\n")
}
