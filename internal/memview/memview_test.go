package memview

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
	"github.com/ebb-ml/ebb/internal/timeline"
)

// browser opens a page in headless Chromium, or skips where there is none. It
// fails the test if the page asks for anything but itself.
func browser(t *testing.T, page []byte) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium to show the page in")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1400, 1000))
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	err := chromedp.Listen(ctx, func(e any) {
		if r, ok := e.(*network.EventRequestWillBeSent); ok && r.Request.URL != "file://"+file {
			t.Errorf("the page asks for %s", r.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!(window.memview && window.memview.timeline && window.memview.timeline.drawn)")); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// eval runs JavaScript in the page.
func eval[T any](t *testing.T, ctx context.Context, js string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T]("(() => { const p = window.memview; "+js+" })()"))
	if err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	return v
}

func render(t testing.TB, s *snapshot.Snapshot) ([]byte, []*timeline.History) {
	t.Helper()
	p := Page{Title: "test", Names: timeline.NewNames(s), Warnings: s.Warnings}
	var histories []*timeline.History
	for _, d := range s.Devices {
		h := timeline.New(s, d)
		histories = append(histories, h)
		p.Windows = append(p.Windows, Window{History: h, To: d.Trace.Len()})
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), histories
}

func training(t testing.TB, events int) *snapshot.Snapshot {
	t.Helper()
	var b bytes.Buffer
	if err := snapshottest.WriteTraining(&b, snapshottest.Training{Events: events, Layers: 6, Leak: 3}); err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The height drawn at an instant, in every mode and however far one zooms, is
// what the replay says was live then.
func TestHeightsAreTheReports(t *testing.T) {
	s := training(t, 3000)
	page, histories := render(t, s)
	h := histories[0]
	ctx := browser(t, page)
	type column struct {
		Instant int
		Height  float64
	}
	n := h.Device.Trace.Len()
	for _, mode := range []string{"kind", "line", "stack", "module", "block"} {
		for _, view := range [][2]int{{0, n}, {n / 2, n/2 + 40}, {n - 300, n}} {
			columns := eval[[]column](t, ctx, fmt.Sprintf(`
				p.mode = %q; p.timeline.view = [%d, %d]; p.draw();
				const d = p.timeline.drawn, out = [];
				for (let c = 0; c < d.n; c += 97) out.push({Instant: d.instants[c], Height: d.sums[c]});
				return out;`, mode, view[0], view[1]))
			if len(columns) < 5 {
				t.Fatalf("%s: %d columns", mode, len(columns))
			}
			for _, c := range columns {
				var want uint64
				for _, b := range h.LiveAt(c.Instant) {
					want += b.Asked
				}
				if math.Abs(c.Height-float64(want)) > 0.5 {
					t.Errorf("%s, view %v: height %.0f at instant %d, live were %d", mode, view, c.Height, c.Instant, want)
				}
			}
		}
	}
	if peak := eval[int](t, ctx, `return p.device.peak`); peak != h.PeakAt {
		t.Errorf("the page's peak is at %d, the report's at %d", peak, h.PeakAt)
	}
	for _, at := range []int{0, h.PeakAt, n} {
		got := eval[[3]float64](t, ctx, fmt.Sprintf(`p.choose(%d); p.draw(); return [p.segments.free, p.segments.largest, p.device.reserved(p.instant)]`, at))
		f := h.Fragmentation(at)
		if got != [3]float64{float64(f.Free), float64(f.LargestHole), float64(h.ReservedAt(at))} {
			t.Errorf("instant %d: free, largest hole and reserved %.0f, want %d, %d, %d", at, got, f.Free, f.LargestHole, h.ReservedAt(at))
		}
	}
}

// With a million events a frame is a few hundred draw calls, in every mode.
func TestDrawCallsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("a million events")
	}
	s := training(t, 1_000_000)
	page, _ := render(t, s)
	ctx := browser(t, page)
	for _, mode := range []string{"kind", "line", "stack", "block"} {
		for _, view := range []string{"null", "[500000, 510000]", "[500000, 500100]"} {
			got := eval[[4]float64](t, ctx, fmt.Sprintf(`
				p.mode = %q; p.timeline.view = %s; p.cache.clear();
				const t0 = performance.now(); p.draw(); const ms = performance.now() - t0;
				return [p.timeline.painter.draws + p.timeline.overview.draws, p.segments.painter.draws, p.flame.painter.draws, ms]`, mode, view))
			if got[0] > 700 || got[1] > 100 || got[2] > 1500 {
				t.Errorf("%s, view %s: %v draw calls", mode, view, got[:3])
			}
			t.Logf("%s, view %s: %.0f, %.0f and %.0f draw calls, %.0f ms", mode, view, got[0], got[1], got[2], got[3])
		}
	}
	merged := eval[string](t, ctx, `p.mode = 'block'; p.timeline.view = null; p.draw(); return document.getElementById('legend').textContent`)
	if !strings.Contains(merged, "smaller block") {
		t.Errorf("no band says how many small blocks it holds: %q", merged)
	}
}

// Text from a file is text on the page, whatever it holds.
func TestHostileText(t *testing.T) {
	s := snapshot.New()
	evil := `</script><script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">"'` + "\u2028\x00"
	d := s.Device(0)
	stack := s.StackOf([]snapshot.FrameID{s.FrameOf(evil+".py", 1, evil)})
	class := s.ClassOf(snapshot.Class{Action: snapshot.Alloc, Category: s.Intern(evil), Metadata: s.Intern(evil)})
	for i := range 20 {
		d.Trace.Append(snapshot.Event{Addr: uint64(i) << 20, Size: 1 << 20, Stack: stack, Class: class})
	}
	s.Warnings = []string{evil}
	page, _ := render(t, s)
	if bytes.Contains(page, []byte("<img")) {
		t.Error("the page's source has the file's markup")
	}
	ctx := browser(t, page)
	got := eval[string](t, ctx, `
		p.mode = 'line'; p.draw();
		p.blockTip(0, {clientX: 5, clientY: 5});
		p.search('onerror'); p.draw();
		return [window.pwned, document.images.length, document.getElementById('tip').textContent.includes('onerror'), document.getElementById('holdersNote').textContent.includes('match')].join()`)
	if got != ",0,true,true" {
		t.Errorf("pwned, images, tip, note: %s", got)
	}
}

func TestSearch(t *testing.T) {
	s := training(t, 2000)
	page, histories := render(t, s)
	h := histories[0]
	ctx := browser(t, page)
	var want float64
	names := timeline.NewNames(s)
	for _, b := range h.LiveAt(h.PeakAt) {
		if strings.Contains(names.StackText(b.Stack), "metrics.py") {
			want += float64(b.Asked)
		}
	}
	got := eval[float64](t, ctx, `
		p.search('METRICS.py'); p.choose(p.device.peak); p.draw();
		return sweep1(p);
		function sweep1(p) { const d = p.timeline.drawn; let c = 0; while (d.instants[c] !== p.instant && c < d.n - 1) c++; return d.heights[c * d.bands.n]; }`)
	if want == 0 || got != want {
		t.Errorf("the search for metrics.py shows %.0f bytes, want %.0f", got, want)
	}
}

// A snapshot without a trace, without segments, or without anything still makes a
// page that says so.
func TestPoorSnapshots(t *testing.T) {
	poor := map[string]*snapshot.Snapshot{"empty": snapshot.New(), "no trace": snapshot.New(), "no segments": snapshot.New()}
	poor["no trace"].Device(0).Segments = []snapshot.Segment{{Addr: 4096, Size: 4096, Blocks: []snapshot.Block{{Addr: 4096, Size: 512, Requested: 100, State: snapshot.Allocated}}}}
	s := poor["no segments"]
	s.Device(1).Trace.Append(snapshot.Event{Addr: 1 << 63, Size: 77, Class: s.ClassOf(snapshot.Class{Action: snapshot.Alloc})})
	for name, want := range map[string]string{"no trace": "100 B", "no segments": "77 B"} {
		page, _ := render(t, poor[name])
		ctx := browser(t, page)
		if got := eval[string](t, ctx, `return document.querySelector('.card b').textContent`); got != want {
			t.Errorf("%s: live %q, want %q", name, got, want)
		}
	}
	page, _ := render(t, poor["empty"])
	if !bytes.Contains(page, []byte(`"devices":[]`)) {
		t.Error("a page of nothing has devices")
	}
}

// Where time goes backward in a trace, it stands still in the page.
func TestTimesNeverGoBack(t *testing.T) {
	s := snapshot.New()
	d := s.Device(0)
	for i, us := range []int64{100, 50, 200} {
		d.Trace.Append(snapshot.Event{Addr: uint64(i), Size: 1, Time: us, Class: s.ClassOf(snapshot.Class{Action: snapshot.Alloc})})
	}
	m, data := newEncoder(timeline.NewNames(s)).device(Window{timeline.New(s, d), 0, 3})
	for _, c := range m.Columns {
		if c.Name != "times" {
			continue
		}
		var got []uint32
		for i := range c.Length {
			got = append(got, binary.LittleEndian.Uint32(data[c.Offset+4*i:]))
		}
		if want := []uint32{0, 0, 100}; !slices.Equal(got, want) {
			t.Errorf("microseconds between events %v, want %v", got, want)
		}
		return
	}
	t.Error("no times")
}
