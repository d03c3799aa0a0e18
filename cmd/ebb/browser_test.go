package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// In a browser the page draws, tells the figures under the pointer and at the
// arrow keys, follows the reader's choice of light or dark, and asks the network
// for nothing.
func TestBrowser(t *testing.T) {
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
	file := filepath.Join(t.TempDir(), "p.html")
	s := linear.defaults
	s.epochs = 3000 // so that training is what most of the time goes to
	s.html = file
	if err := newJob(linear, s, io.Discard).do(context.Background()); err != nil {
		t.Fatal(err)
	}

	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked, faults []string
	err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			asked = append(asked, e.Request.URL)
		case *runtime.EventExceptionThrown:
			faults = append(faults, e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}

	text := func(js string) string {
		t.Helper()
		v, err := chromedp.Run(ctx, chromedp.Evaluate[string](js))
		if err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		return v
	}
	number := func(js string) float64 {
		t.Helper()
		v, err := chromedp.Run(ctx, chromedp.Evaluate[float64](js))
		if err != nil {
			t.Fatalf("%s: %v", js, err)
		}
		return v
	}

	// It draws: states with room for their texts, areas and lines of some height.
	for js, least := range map[string]float64{
		"document.querySelectorAll('svg').length":                                                                                                           4,
		"document.querySelectorAll('.state:not(.none)').length":                                                                                             6,
		"document.querySelectorAll('svg')[0].getBoundingClientRect().height":                                                                                200,
		"document.querySelector('svg path.anon').getBBox().height":                                                                                          20,
		"document.querySelectorAll('svg')[1].querySelector('path.area').getBBox().height":                                                                   20,
		"document.querySelectorAll('svg')[2].querySelectorAll('circle').length":                                                                             10,
		"document.querySelectorAll('svg')[3].querySelector('path.loss').getBBox().height":                                                                   20,
		"document.querySelectorAll('tr').length":                                                                                                            11,
		"innerWidth - document.documentElement.scrollWidth + 1":                                                                                             1,
		"Math.min(...[...document.querySelectorAll('.state')].map(g => g.querySelector('rect').getBBox().width - g.querySelector('text').getBBox().width))": 8,
	} {
		if got := number(js); got < least {
			t.Errorf("%s is %v, want at least %v", js, got, least)
		}
	}

	// The pointer shows figures, leaving hides them.
	const tip = "document.getElementById('tip')"
	if text(tip+".innerText") != "" || text("String("+tip+".hidden)") != "true" {
		t.Error("figures are shown before the pointer is there")
	}
	for i, want := range []string{"RssAnon of the process", "parameter", "RssAnon of the process", "loss"} {
		at := "document.querySelectorAll('svg')[" + string(rune('0'+i)) + "]"
		number(at + ".scrollIntoView({block: 'center'}), 0")
		x := number(at + ".getBoundingClientRect().left + " + at + ".getBoundingClientRect().width * 0.3") // while it trains
		y := number(at + ".getBoundingClientRect().top + " + at + ".getBoundingClientRect().height * 0.7")
		if err := chromedp.Do(ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y)); err != nil {
			t.Fatal(err)
		}
		if got := text(tip + ".innerText"); !strings.Contains(got, want) || text("String("+tip+".hidden)") != "false" {
			t.Errorf("chart %d shows %q, without %q", i, got, want)
		}
		if got := text(at + ".querySelector('.cross').getAttribute('visibility')"); got != "visible" {
			t.Errorf("chart %d: the line at the pointer is %s", i, got)
		}
	}
	if err := chromedp.Do(ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 2, 2)); err != nil {
		t.Fatal(err)
	}
	if text("String("+tip+".hidden)") != "true" {
		t.Error("figures stay when the pointer leaves")
	}

	// So do the arrow keys, from where the pointer was.
	press := func(key string) string {
		number("document.querySelectorAll('svg')[3].dispatchEvent(new KeyboardEvent('keydown', {key: '" + key + "'})), 0")
		head, _, _ := strings.Cut(text(tip+".innerText"), "\n")
		return head
	}
	was := press("ArrowRight")
	if next := press("ArrowRight"); !strings.HasPrefix(next, "step") || next == was {
		t.Errorf("right arrow: from %q to %q", was, next)
	}
	if back := press("ArrowLeft"); back != was {
		t.Errorf("left arrow: to %q, want %q", back, was)
	}

	// Light and dark differ, and the text can be read in both.
	var papers []string
	for _, scheme := range []string{"light", "dark"} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
		papers = append(papers, text("getComputedStyle(document.body).backgroundColor"))
		if ink := text("getComputedStyle(document.body).color"); ink == papers[len(papers)-1] {
			t.Errorf("%s: ink and paper are %s", scheme, ink)
		}
	}
	if papers[0] == papers[1] {
		t.Errorf("light and dark are both %s", papers[0])
	}

	mu.Lock()
	defer mu.Unlock()
	for _, url := range asked {
		if url != "file://"+file {
			t.Errorf("it asked for %s", url)
		}
	}
	if len(asked) != 1 || len(faults) > 0 {
		t.Errorf("asked for %v, faults %v", asked, faults)
	}
}
