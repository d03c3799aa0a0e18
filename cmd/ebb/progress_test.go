package main

import (
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/datasets"
)

// clocked returns progress on a clock that each call of step moves on.
func clocked(t *testing.T, terminal bool) (*progress, *strings.Builder, func(time.Duration)) {
	rt := ebb.NewRuntime()
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	out := new(strings.Builder)
	p := newProgress(rt, out)
	p.terminal = terminal
	now := time.Unix(1e9, 0)
	p.now = func() time.Time { return now }
	return p, out, func(d time.Duration) { now = now.Add(d) }
}

// Where output is no terminal there is a line every two seconds, however fast
// the steps are, and no code of a terminal.
func TestPlainProgress(t *testing.T) {
	p, out, wait := clocked(t, false)
	p.start(1000)
	for n := 1; n <= 500; n++ {
		wait(10 * time.Millisecond)
		p.step(n, 1.5, 64)
		if n == 250 {
			p.evaluated(0.75)
		}
	}
	p.say("epoch 1")
	p.end()
	want := "step 200 of 1000: loss 1.5000, 6400/s, live 0 B, peak 0 B, 8s left\n" +
		"step 400 of 1000: loss 1.5000, accuracy 0.7500, 6400/s, live 0 B, peak 0 B, 6s left\n" +
		"epoch 1\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

// A run that would take longer than the universe is old has time left.
func TestProgressOfVeryMany(t *testing.T) {
	p, out, wait := clocked(t, false)
	p.start(math.MaxInt)
	wait(time.Minute)
	p.step(1, 1, 1)
	if text := out.String(); !strings.Contains(text, "h") || strings.Contains(text, "-") {
		t.Error(text)
	}
}

func TestThousands(t *testing.T) {
	for x, want := range map[float64]string{730: "730", 9999: "9999", 84e3: "84k", 1.2e6: "1200k", 12e6: "12M", 1e12: "1000G", 1e15: "1000000G"} {
		if got := thousands(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

// On a terminal a bar is drawn ten times a second, lines stand above it, and
// nothing of it is left at the end.
func TestBar(t *testing.T) {
	p, out, wait := clocked(t, true)
	p.start(100)
	for n := 1; n <= 100; n++ {
		wait(20 * time.Millisecond)
		p.step(n, 0.25, 64)
		if n%10 == 0 {
			time.Sleep(drawEvery) // the bar has its own clock
		}
		if n == 50 {
			p.evaluated(0.5)
			p.say("half")
		}
	}
	p.end()
	text := out.String()
	for _, want := range []string{"█", "loss 0.2500, ", "accuracy 0.5000", "live 0 B, peak 0 B", "\x1b[2K\rhalf\n", " 50%"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if !strings.HasSuffix(text, "\x1b[2K\r") {
		t.Errorf("the end is %q", text[max(len(text)-80, 0):])
	}
	if n := strings.Count(text, "loss"); n < 5 || n > 25 {
		t.Errorf("drawn %d times", n)
	}
	if !regexp.MustCompile(`\[\d+s:\d+s\]`).MatchString(text) {
		t.Error("no time left")
	}
}

// Downloads show how far they are, and who waits for whom.
func TestDownloadProgress(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		p, out, wait := clocked(t, terminal)
		p.download(datasets.Progress{File: "a", Total: 1 << 20, Waiting: true})
		for done := int64(0); done <= 1<<20; done += 1 << 17 {
			wait(500 * time.Millisecond)
			if terminal {
				time.Sleep(drawEvery / 2) // the bar has its own clock
			}
			p.download(datasets.Progress{File: "a", Source: "there", Done: done, Total: 1 << 20})
		}
		p.end()
		text := out.String()
		for _, want := range map[bool][]string{
			false: {"a: another process downloads it\n", "a from there: 384.00 KiB of 1.00 MiB\n", "a from there: 1.00 MiB of 1.00 MiB\n"},
			true:  {"a: another process downloads it", "█", "got a from there, 1.00 MiB\n"},
		}[terminal] {
			if !strings.Contains(text, want) {
				t.Errorf("terminal %v: no %q in %q", terminal, want, text)
			}
		}
	}
}

// A terminal that went away does no harm.
func TestProgressWithoutReader(t *testing.T) {
	p, _, wait := clocked(t, true)
	p.out = broken{}
	p.start(10)
	for n := 1; n <= 10; n++ {
		wait(time.Second)
		p.step(n, 1, 1)
	}
	p.say("x")
	p.end()
	var none *progress // as with --quiet
	none.start(1)
	none.step(1, 1, 1)
	none.evaluated(1)
	none.download(datasets.Progress{})
	none.say("x")
	none.end()
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A recorder keeps a bounded number of samples, those of the peaks, and follows
// the states; it ends with its last sample.
func TestRecorder(t *testing.T) {
	rt := ebb.NewRuntime()
	r := startRecorder(rt)
	st := rt.NewStore("s")
	x := ebb.Ones(st, ebb.Shape{1024}, ebb.Parameter)
	r.note("made", false)
	_ = x
	st.Close()
	r.note("ModelRun", true)
	r.stop(true)
	if n := len(r.events); n != 4 || r.events[1].kinds[ebb.Parameter-1] != 4096 || r.events[2].live != 0 || r.events[3].name != "MemoryFreed" {
		t.Errorf("events %+v", r.events)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}

	r = &recorder{every: sampleEvery}
	now := time.Duration(0)
	for i := range 10 * mostSamples {
		s := sample{at: now, live: 10}
		if i == 3*mostSamples+1 {
			s.live = 1000
		}
		now += r.add(s)
	}
	r.events = []event{{"MemoryFreed", true, sample{at: now}}}
	if len(r.samples) > mostSamples || cap(r.samples) > 2*mostSamples || r.every < 64*sampleEvery {
		t.Errorf("%d samples, room for %d, every %v", len(r.samples), cap(r.samples), r.every)
	}
	all, peak := r.all(), int64(0)
	for i, s := range all {
		peak = max(peak, s.live)
		if i > 0 && s.at < all[i-1].at {
			t.Fatalf("sample %d is at %v, after %v", i, s.at, all[i-1].at)
		}
	}
	if peak != 1000 || len(all) > shown+2 || len(all) < shown/2 {
		t.Errorf("peak %d of %d samples", peak, len(all))
	}
	var none *recorder
	none.note("x", true)
	none.stop(false)
}
