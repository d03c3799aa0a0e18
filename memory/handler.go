package memory

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ebb-ml/ebb"
)

// Handler serves rt's memory to people and programs, for a service's debug mux:
//
//	http.Handle("/debug/memory/", memory.Handler(rt))
//
// Below the path it is mounted at there are
//
//	/                an overview with a live timeline and the largest holders
//	status.json      a [Status]
//	timeline.json    what was live, at most ?points=N (400) moments from ?since=T on, in Unix milliseconds
//	holders.json     the ?top=N (50) largest of [Survivors]
//	snapshot.pickle  what [DumpSnapshot] writes
//	profile.pb.gz    what [WriteProfile] writes
//
// The page is self-contained. It is for those who may know: call stacks show the
// paths and names of source files. Nothing can be changed through it.
func Handler(rt *ebb.Runtime) http.Handler { return &handler{rt} }

type handler struct{ rt *ebb.Runtime }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch _, last := path.Split(r.URL.Path); last {
	case "":
		servePage(w)
	case "status.json":
		serveJSON(w, ReadStatus(h.rt))
	case "timeline.json":
		h.timeline(w, r)
	case "holders.json":
		h.holders(w, r)
	case "snapshot.pickle":
		attachment(w, "application/octet-stream", last)
		_ = h.rt.WriteSnapshot(w) // the client went away: nobody to tell
	case "profile.pb.gz":
		attachment(w, "application/octet-stream", last)
		_ = WriteProfile(h.rt, w)
	default:
		if r.URL.Path == "" || path.Ext(last) != "" {
			http.NotFound(w, r)
			return
		}
		// Mounted without the slash that the page's links need.
		http.Redirect(w, r, "./"+last+"/", http.StatusMovedPermanently)
	}
}

func attachment(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	safe := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, program)
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", fmt.Sprintf("%s-%d-%s", safe, os.Getpid(), name)))
}

func serveJSON(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
}

// number returns a parameter of the request within bounds, or fallback.
func number(r *http.Request, name string, fallback, least, most int64) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil {
		return fallback
	}
	return min(max(n, least), most)
}

// timelineJSON is a timeline in columns, which is a third of the text of rows.
type timelineJSON struct {
	Times  []int64            `json:"times_ms"` // Unix time
	Live   []int64            `json:"live_bytes"`
	Mapped []int64            `json:"mapped_bytes"`
	Kinds  map[string][]int64 `json:"kinds"`
	Marks  []markJSON         `json:"marks"`
}

type markJSON struct {
	Time int64  `json:"time_ms"`
	Text string `json:"text"`
}

func (h *handler) timeline(w http.ResponseWriter, r *http.Request) {
	var since time.Time
	if ms := number(r, "since", 0, 0, 1<<50); ms > 0 {
		since = time.UnixMilli(ms)
	}
	instants, marks := h.rt.Timeline(since, int(number(r, "points", 400, 1, 10_000)))
	t := timelineJSON{Times: []int64{}, Live: []int64{}, Mapped: []int64{}, Kinds: map[string][]int64{}, Marks: []markJSON{}}
	for i, at := range instants {
		t.Times = append(t.Times, at.Time.UnixMilli())
		t.Live = append(t.Live, at.Live)
		t.Mapped = append(t.Mapped, at.Mapped)
		for k, n := range at.ByKind {
			column := t.Kinds[k.String()]
			if column == nil {
				column = make([]int64, len(instants))
				t.Kinds[k.String()] = column
			}
			column[i] = n
		}
	}
	for _, m := range marks {
		t.Marks = append(t.Marks, markJSON{m.Time.UnixMilli(), m.Text})
	}
	serveJSON(w, t)
}

// holderJSON is a Survivor for programs.
type holderJSON struct {
	Site   string  `json:"site"`
	Kind   string  `json:"kind"`
	Module string  `json:"module"`
	Owner  string  `json:"owner"`
	Op     string  `json:"op"`
	DType  string  `json:"dtype"`
	Shape  []int   `json:"shape"`
	Bytes  int64   `json:"bytes"`
	Count  int     `json:"count"`
	Oldest float64 `json:"oldest_seconds"`
}

func (h *handler) holders(w http.ResponseWriter, r *http.Request) {
	all := Survivors(h.rt)
	out := []holderJSON{}
	for _, s := range all[:min(len(all), int(number(r, "top", 50, 1, 10_000)))] {
		out = append(out, holderJSON{s.Site.String(), s.Kind.String(), s.Module, s.Owner, s.Op, s.DType.String(), s.Shape, s.Bytes, s.Count,
			s.Oldest.Seconds()})
	}
	serveJSON(w, out)
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	page   = strings.NewReplacer("/*css*/", pageCSS, "/*js*/", pageJS).Replace(pageHTML)
	policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		digest(pageCSS), digest(pageJS))
)

// digest is how a content security policy allows a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func servePage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	_, _ = io.WriteString(w, page)
}
