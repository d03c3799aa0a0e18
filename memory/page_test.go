package memory_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory"
)

// tab is a page in a headless browser, with what it asks for and complains of.
type tab struct {
	t     *testing.T
	ctx   context.Context
	mu    sync.Mutex
	asked []string
	says  []string
}

func newTab(t *testing.T) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.asked = append(b.asked, e.Request.URL)
		case *runtime.EventExceptionThrown:
			b.says = append(b.says, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if !strings.HasSuffix(e.Entry.URL, "/favicon.ico") && !strings.Contains(e.Entry.Text, "getImageData") { // of the test's own
				b.says = append(b.says, e.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text returns what an expression of JavaScript gives.
func (b *tab) text(js string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// wait waits until an expression gives a text that has the wanted one in it.
func (b *tab) wait(js, want string) string {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got := b.text(js)
		if strings.Contains(got, want) {
			return got
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s is %q, want %q in it", js, got, want)
		}
	}
}

// The page in a browser: figures, timeline, tooltip by keyboard and pointer,
// pause, and text from the program that is no markup.
func TestPage(t *testing.T) {
	b := newTab(t)
	for _, recorded := range []bool{true, false} {
		rt := ebb.NewRuntime()
		defer rt.Close()
		if recorded {
			memory.RecordHistory(rt, 0)
		}
		model := rt.NewStore("<img src=x onerror=alert(1)>")
		defer model.Close()
		ebb.Ones(model, ebb.Shape{1 << 20}, ebb.Parameter)
		s := rt.NewScope("batch")
		ebb.Ones(s, ebb.Shape{1 << 19}, ebb.Input)
		memory.Mark(rt, "step 1")
		server := httptest.NewServer(memory.Handler(rt))
		defer server.Close()
		if err := chromedp.Do(b.ctx, chromedp.Navigate(server.URL+"/")); err != nil {
			t.Fatal(err)
		}

		const of = "document.getElementById"
		b.wait(of+"('tiles').innerText", "live in 2 tensors")
		b.wait(of+"('tiles').innerText", "6.00 MiB")
		b.wait(of+"('holders').innerText", "<img src=x onerror=alert(1)>")
		b.wait(of+"('holders').innerText", "page_test.go")
		b.wait(of+"('kinds').innerText", "4.00 MiB")
		if recorded {
			b.wait(of+"('recording').innerText", "5 events since")
		} else {
			b.wait(of+"('recording').innerText", "No history is recorded")
		}

		// Colours on the canvas: of the two kinds, the lines and the ground.
		b.wait(`(() => {
			const c = document.getElementById("chart"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Map();
			for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) { const k = (d[i] << 16) | (d[i + 1] << 8) | d[i + 2]; seen.set(k, (seen.get(k) || 0) + 1); }
			return [...seen.values()].filter((n) => n > 2000).length >= 2 ? "drawn" : JSON.stringify([...seen.values()].slice(0, 20)); })()`, "drawn")

		tip := "(" + of + "('tip').hidden ? 'none' : " + of + "('tip').innerText)"
		key := func(name string) {
			b.text(fmt.Sprintf("%s('chart').dispatchEvent(new KeyboardEvent('keydown', {key: %q})); ''", of, name))
		}
		key("ArrowLeft")
		key("ArrowRight")
		for _, want := range []string{"6.00 MiB live", "parameter", "4.00 MiB", "input", "mapped"} {
			if got := b.text(tip); !strings.Contains(got, want) {
				t.Errorf("the tip lacks %q: %s", want, got)
			}
		}
		if got := b.text(tip); recorded && !strings.Contains(got, "after “step 1”") {
			t.Errorf("no mark in the tip: %s", got)
		}
		key("Escape")
		if got := b.text(tip); got != "none" {
			t.Errorf("Escape leaves the tip: %s", got)
		}
		b.text("(() => { const c = " + of + "('chart'), r = c.getBoundingClientRect(); c.dispatchEvent(new PointerEvent('pointermove', {clientX: r.right - 30, clientY: r.top + 50})); return ''; })()")
		if got := b.text(tip); !strings.Contains(got, "live") {
			t.Errorf("the pointer shows no tip: %s", got)
		}
		if got := b.text("(() => { const t = " + of + "('tip').getBoundingClientRect(), c = document.querySelector('.chart').getBoundingClientRect(); return String(t.left >= c.left && t.right <= c.right); })()"); got != "true" {
			t.Error("the tip leaves the chart")
		}
		b.text(of + "('pause').click(); ''")
		if got := b.text(of+"('pause').getAttribute('aria-pressed')") + b.text(of+"('state').innerText"); got != "truepaused" {
			t.Errorf("paused: %s", got)
		}
		s.Close()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.says {
		t.Error("the browser says:", c)
	}
	for _, url := range b.asked {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("the page asks for %s", url)
		}
	}
}
