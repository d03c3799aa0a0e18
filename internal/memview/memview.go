// Package memview writes a memory history as one HTML page that needs nothing
// else: the timeline of live memory, the segments and holes at an instant, a flame
// graph and a search. The page's own code is in the folder page.
package memview

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"

	"github.com/ebb-ml/ebb/internal/timeline"
)

// Window is the part of a device's history that a page shows: the events between
// two instants, and what was live at the first.
type Window struct {
	History  *timeline.History
	From, To int
}

// Page is what a page shows.
type Page struct {
	Title    string
	Windows  []Window
	Names    *timeline.Names
	Warnings []string
}

//go:embed page/page.css
var style string

//go:embed page/data.js
var dataJS string

//go:embed page/bands.js
var bandsJS string

//go:embed page/timeline.js
var timelineJS string

//go:embed page/segments.js
var segmentsJS string

//go:embed page/flame.js
var flameJS string

//go:embed page/main.js
var mainJS string

//go:embed page/body.html
var body string

// meta is what the page's code finds as JSON. Frames, sites and kinds are shared
// by all devices.
type meta struct {
	Title    string       `json:"title"`
	Devices  []deviceMeta `json:"devices"`
	Frames   [][4]any     `json:"frames"` // name, file, line, level (see timeline.Names)
	Sites    []string     `json:"sites"`
	Kinds    []string     `json:"kinds"`
	Modules  []string     `json:"modules"`
	Stacks   int          `json:"stacks"`
	Guessed  bool         `json:"guessed"`
	Warnings []string     `json:"warnings"`
}

type deviceMeta struct {
	Name     string   `json:"name"`
	Events   int      `json:"events"`
	First    int      `json:"first"` // the number of the first event in the file
	Peak     int      `json:"peak"`  // instant, counted from First
	Base     string   `json:"base"`  // what addresses count from
	Epoch    float64  `json:"epoch"` // of the first event, in microseconds since the Unix epoch, 0 for unknown
	Blocks   int      `json:"blocks"`
	Before   int      `json:"before"` // blocks from before the first event
	Segments int      `json:"segments"`
	Columns  []column `json:"columns"`
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	e := newEncoder(p.Names)
	m := meta{Title: p.Title, Warnings: p.Warnings}
	if m.Warnings == nil {
		m.Warnings = []string{}
	}
	m.Devices = []deviceMeta{}
	var blobs [][]byte
	for _, window := range p.Windows {
		d, blob := e.device(window)
		m.Devices = append(m.Devices, d)
		blobs = append(blobs, blob)
	}
	stacks := e.finish(&m)
	text, err := json.Marshal(m) // escapes <, > and &, so that nothing in it ends the script
	if err != nil {
		return err
	}
	out := &printer{w: w}
	out.print("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	out.print("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n")
	out.print("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	out.print(fmt.Sprintf("<title>%s</title>\n<style>\n%s</style>\n</head>\n", html.EscapeString(p.Title), style))
	out.print(body)
	out.print("<script type=\"application/json\" id=\"meta\">" + string(text) + "</script>\n")
	out.blob("stacks", stacks)
	for i, blob := range blobs {
		out.blob(fmt.Sprintf("device%d", i), blob)
	}
	out.print("<script>\n'use strict';\n(() => {\n")
	for _, part := range []string{dataJS, bandsJS, timelineJS, segmentsJS, flameJS, mainJS} {
		out.print(part)
	}
	out.print("})();\n</script>\n</html>\n")
	return out.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) print(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// blob writes bytes as a script that no browser runs.
func (p *printer) blob(id string, data []byte) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data) // into memory
	_ = z.Close()
	p.print("<script type=\"text/plain\" id=\"" + id + "\">" + base64.StdEncoding.EncodeToString(b.Bytes()) + "</script>\n")
}
