package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
	"github.com/google/pprof/profile"
)

// mem runs a command on memory and returns what it printed.
func mem(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(append([]string{"mem"}, args...), &out, &errs)
	return status, out.String(), errs.String()
}

// answer runs a command with --json and decodes what it prints.
func answer[T any](t *testing.T, wantStatus int, args ...string) T {
	t.Helper()
	status, out, errs := mem(t, append(args, "--json")...)
	if status != wantStatus {
		t.Fatalf("%q: status %d, want %d: %s", args, status, wantStatus, errs)
	}
	var v T
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%q: %v in %s", args, err, out)
	}
	return v
}

// trainingFile writes the dump of a training loop.
func trainingFile(t *testing.T, training snapshottest.Training) string {
	t.Helper()
	var b bytes.Buffer
	if err := snapshottest.WriteTraining(&b, training); err != nil {
		t.Fatal(err)
	}
	return file(t, "training.pickle", b.Bytes())
}

func file(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// realFile returns one of the real snapshots, or skips where they are not present.
func realFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "snapshots", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real snapshots are not here")
	}
	return path
}

func TestMemReportOfRealFiles(t *testing.T) {
	type figures struct {
		reserved, live, asked, tracePeak, hole uint64
		segments, events                       int
	}
	for name, want := range map[string]figures{
		"cuda_trimmed.pickle":           {421_527_552, 0, 0, 402_752_512, 134_217_728, 14, 50},
		"synthetic_inconsistent.pickle": {262_144_000, 8_704, 466, 2_255_398_132, 0, 5, 1_040},
	} {
		r := answer[memReport](t, 0, "report", realFile(t, name))
		d := r.Devices[0]
		if got := (figures{d.Reserved, d.Live, d.Requested, d.TracePeak, d.LargestHole, d.Segments, d.Events}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if len(r.Warnings) == 0 {
			t.Errorf("%s: no warning", name)
		}
		status, out, errs := mem(t, "report", realFile(t, name))
		if status != 0 || !strings.Contains(errs, "warning: ") || !strings.Contains(out, "reserved") {
			t.Errorf("%s: status %d, %q, %q", name, status, out, errs)
		}
	}
	r := answer[memReplay](t, 0, "replay", realFile(t, "cuda_trimmed.pickle"), "--allocator", "pytorch")
	if got := r.Devices[0].Results[0]; got.Addresses != 28 || got.SegmentsRight != 14 {
		t.Errorf("replay predicts %d addresses and %d segments, want 28 and 14", got.Addresses, got.SegmentsRight)
	}
}

func TestMemAnswersOnATrainingLoop(t *testing.T) {
	path := trainingFile(t, snapshottest.Training{Events: 4000, Layers: 4, Leak: 1})
	r := answer[memReport](t, 0, "report", path)
	d := r.Devices[0]
	var holders, kinds uint64
	for _, h := range r.Holders {
		holders += h.Bytes
	}
	for _, h := range r.Kinds {
		kinds += h.Bytes
	}
	if d.Live == 0 || holders != d.Live || kinds != d.Live || d.Live != d.Requested || d.TraceEnd != d.Live || len(r.Warnings) != 0 {
		t.Errorf("live %d, by line %d, by kind %d, asked %d, trace's end %d, warnings %q", d.Live, holders, kinds, d.Requested, d.TraceEnd, r.Warnings)
	}
	if d.Peak != d.TracePeak+d.BeforeTrace {
		t.Errorf("peak %d, of the trace %d and before it %d", d.Peak, d.TracePeak, d.BeforeTrace)
	}

	at := answer[memAt](t, 0, "at", path, "--peak")
	var blocks uint64
	for _, b := range at.Blocks {
		blocks += b.Bytes
	}
	if at.Devices[0].Live != d.Peak || blocks != d.Peak || at.Devices[0].Event != d.PeakEvent {
		t.Errorf("at the peak %d live, in blocks %d, event %d; the report says %d at %d", at.Devices[0].Live, blocks, at.Devices[0].Event, d.Peak, d.PeakEvent)
	}
	byTime := answer[memAt](t, 0, "at", path, "--time", fmt.Sprint(d.PeakTime))
	byEvent := answer[memAt](t, 0, "at", path, "--event", fmt.Sprint(d.PeakEvent))
	since := answer[memAt](t, 0, "at", path, "--time", fmt.Sprintf("%dus", 3*(d.PeakEvent-1)))
	for name, v := range map[string]memAt{"time": byTime, "event": byEvent, "since the start": since} {
		if v.Devices[0].Live != d.Peak {
			t.Errorf("by %s: %d live, want %d", name, v.Devices[0].Live, d.Peak)
		}
	}

	leaks := answer[memLeaks](t, 3, "leaks", path)
	found := leaks.Devices[0].Leaks
	if len(found) != 1 || found[0].BytesPerIteration != 1<<20 || !strings.HasPrefix(found[0].Site, "/home/user/metrics.py:88") {
		t.Errorf("leaks %+v, want 1 MiB an iteration from metrics.py:88", found)
	}
	if once := leaks.Devices[0].Once; len(once) != 1 || once[0].Kind != "optimizer state" {
		t.Errorf("one-time growth %+v, want the optimizer's state", once)
	}
	clean := answer[memLeaks](t, 0, "leaks", trainingFile(t, snapshottest.Training{Events: 4000, Layers: 4}))
	if n := len(clean.Devices[0].Leaks); n != 0 || len(clean.Devices[0].Loops) == 0 {
		t.Errorf("%d leaks in a loop without one, %d loops", n, len(clean.Devices[0].Loops))
	}

	if r := answer[memReplay](t, 0, "replay", path, "--capacity", "4GiB"); len(r.Devices[0].Results) != 3 {
		t.Errorf("%d allocators replayed, want 3", len(r.Devices[0].Results))
	}
	small := answer[memReplay](t, 3, "replay", path, "--capacity", "64MiB", "--allocator", "ebb,expandable")
	for _, v := range small.Devices[0].Results {
		if v.Fits || v.Failed == nil || v.ReservedPeak > 64<<20 {
			t.Errorf("%s in 64 MiB: fits %v, %d reserved", v.Allocator, v.Fits, v.ReservedPeak)
		}
	}
}

func TestMemDiff(t *testing.T) {
	a := trainingFile(t, snapshottest.Training{Events: 1000, Layers: 2, Leak: 1})
	b := trainingFile(t, snapshottest.Training{Events: 3000, Layers: 2, Leak: 1})
	r := answer[memDiff](t, 0, "diff", a, b)
	for _, by := range []string{"device", "kind", "line"} {
		if list := r.By[by]; len(list) != 1 || list[0].Bytes != r.Bytes || r.Bytes <= 0 {
			t.Errorf("by %s: %+v, want one growth of %d", by, list, r.Bytes)
		}
	}
	stack := answer[memDiff](t, 0, "diff", a, b, "--by", "stack")
	if list := stack.By["stack"]; len(list) != 1 || !strings.Contains(list[0].Key, "metrics.py:88 record_loss\n") {
		t.Errorf("by stack: %+v", list)
	}
	if same := answer[memDiff](t, 0, "diff", a, a, "--peak"); same.Bytes != 0 || len(same.By["line"]) != 0 {
		t.Errorf("a file and itself differ: %+v", same)
	}
}

// failing is a trace in which a request fails with half of the memory free.
func failing() *snapshot.Snapshot {
	s := snapshot.New()
	d := s.Device(0)
	stack := s.StackOf([]snapshot.FrameID{s.FrameOf("weights.py", 7, "load")})
	event := func(a snapshot.Action, addr, size uint64) {
		d.Trace.Append(snapshot.Event{Addr: addr, Size: size, Stack: stack, Time: int64(1_700_000_000_000_000 + d.Trace.Len()), Class: s.ClassOf(snapshot.Class{Action: a})})
	}
	for i := range uint64(4) {
		base := 1<<40 + i<<30
		event(snapshot.SegmentAlloc, base, 20<<20)
		event(snapshot.Alloc, base, 9<<20)
		event(snapshot.Alloc, base+9<<20, 9<<20)
	}
	for i := range uint64(4) {
		event(snapshot.FreeRequested, 1<<40+i<<30, 9<<20)
		event(snapshot.FreeCompleted, 1<<40+i<<30, 9<<20)
	}
	event(snapshot.OutOfMemory, 1<<20, 30<<20)
	for i := range uint64(4) {
		base := 1<<40 + i<<30
		g := snapshot.Segment{Addr: base, Size: 20 << 20, Blocks: []snapshot.Block{{Addr: base + 9<<20, Size: 9 << 20, Requested: 9 << 20, State: snapshot.Allocated, Stack: stack}}}
		g.Blocks = g.Tiled()
		d.Segments = append(d.Segments, g)
	}
	return s
}

func TestMemOOM(t *testing.T) {
	var b bytes.Buffer
	if err := failing().Write(&b); err != nil {
		t.Fatal(err)
	}
	path := file(t, "oom.pickle", b.Bytes())
	r := answer[memOOM](t, 3, "oom", path)
	f := r.Failed
	if f == nil || f.Verdict != "fragmentation" || f.Asked != 30<<20 || f.Live != 36<<20 || f.Reserved != 80<<20 || f.LargestHole != 9<<20 || f.Free != 44<<20 {
		t.Fatalf("%+v", f)
	}
	if len(r.Pins) != 4 || len(r.Release) != 1 || len(r.Advice) != 1 || !strings.Contains(r.Advice[0], "no setting that was tried") {
		t.Errorf("%d pins, release %v, advice %q", len(r.Pins), r.Release, r.Advice)
	}
	status, out, _ := mem(t, "oom", path)
	if status != 3 || !strings.Contains(out, "largest hole 9.00 MiB of 45.00 MiB free") || !strings.Contains(out, "weights.py:7 load") {
		t.Errorf("status %d: %s", status, out)
	}
	if r := answer[memOOM](t, 0, "oom", trainingFile(t, snapshottest.Training{Events: 100, Layers: 1})); r.Failed != nil {
		t.Errorf("a failure where there was none: %+v", r.Failed)
	}
}

// Advice is given where a replay shows it to be true, and not where the setting is
// on already.
func TestMemOOMAdvice(t *testing.T) {
	for setting, want := range map[string]bool{"False": true, "True": false} {
		s := snapshot.New()
		s.Settings = []snapshot.Setting{{Key: "expandable_segments", Value: setting}}
		d := s.Device(0)
		event := func(a snapshot.Action, addr, size uint64) {
			d.Trace.Append(snapshot.Event{Addr: addr, Size: size, Class: s.ClassOf(snapshot.Class{Action: a})})
		}
		// Three blocks of 6 MiB in each segment of 20 leave 2 MiB that fit nothing.
		for i := range uint64(10) {
			base := 1<<40 + i<<30
			event(snapshot.SegmentAlloc, base, 20<<20)
			for k := range uint64(3) {
				event(snapshot.Alloc, base+k*6<<20, 6<<20)
			}
		}
		event(snapshot.OutOfMemory, 0, 6<<20)
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		r := answer[memOOM](t, 3, "oom", file(t, "oom.pickle", b.Bytes()))
		if got := strings.Contains(strings.Join(r.Advice, ""), "expandable_segments:True"); got != want || r.Failed.Verdict != "fragmentation" {
			t.Errorf("expandable_segments %s: %s, advice %q", setting, r.Failed.Verdict, r.Advice)
		}
	}
}

func TestMemPprof(t *testing.T) {
	path := trainingFile(t, snapshottest.Training{Events: 1000, Layers: 2, Leak: 1})
	out := filepath.Join(t.TempDir(), "p.pb.gz")
	if status, _, errs := mem(t, "pprof", path, "-o", out); status != 0 {
		t.Fatal(errs)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var inuse, peak int64
	for _, s := range p.Sample {
		inuse += s.Value[1]
		peak += s.Value[3]
	}
	d := answer[memReport](t, 0, "report", path).Devices[0]
	if uint64(inuse) != d.Live || uint64(peak) != d.Peak {
		t.Errorf("the profile has %d now and %d at the peak, the report %d and %d", inuse, peak, d.Live, d.Peak)
	}
}

// A part that was cut out says the same as the whole, and other readers take it.
func TestMemTrim(t *testing.T) {
	path := trainingFile(t, snapshottest.Training{Events: 2000, Layers: 2, Leak: 1})
	out := filepath.Join(t.TempDir(), "part.pickle")
	if status, _, errs := mem(t, "trim", path, "--from", "500", "--to", "900", "-o", out); status != 0 {
		t.Fatal(errs)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if faults := snapshottest.Check(data); len(faults) > 0 {
		t.Errorf("other readers would trip: %s", strings.Join(faults, "\n"))
	}
	whole := answer[memAt](t, 0, "at", path, "--event", "700")
	part := answer[memAt](t, 0, "at", out, "--event", "200")
	if whole.Devices[0].Live != part.Devices[0].Live || whole.Devices[0].Reserved != part.Devices[0].Reserved || len(whole.Holders) != len(part.Holders) {
		t.Errorf("at event 700 of the whole %+v, in the part %+v", whole.Devices[0], part.Devices[0])
	}
}

func TestMemView(t *testing.T) {
	path := trainingFile(t, snapshottest.Training{Events: 500, Layers: 1})
	out := filepath.Join(t.TempDir(), "page.html")
	if status, _, errs := mem(t, "view", path, "-o", out); status != 0 {
		t.Fatal(errs)
	}
	page, err := os.ReadFile(out)
	if err != nil || !bytes.Contains(page, []byte("<!doctype html>")) || bytes.Contains(page, []byte("http://")) || bytes.Contains(page, []byte("https://")) {
		t.Errorf("page of %d bytes, error %v", len(page), err)
	}
}

// A question that makes sense for one device alone asks for it where there are
// traces of several.
func TestMemOfSeveralDevices(t *testing.T) {
	s := snapshot.New()
	for _, index := range []int{0, 1} {
		s.Device(index).Trace.Append(snapshot.Event{Addr: 512, Size: uint64(index + 1), Class: s.ClassOf(snapshot.Class{Action: snapshot.Alloc})})
	}
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := file(t, "two.pickle", b.Bytes())
	if status, _, errs := mem(t, "at", path, "--event", "1"); status != 2 || !strings.Contains(errs, "traces of several devices; say --device") {
		t.Errorf("status %d: %s", status, errs)
	}
	if r := answer[memAt](t, 0, "at", path, "--event", "1", "--device", "1"); len(r.Devices) != 1 || r.Devices[0].Live != 2 {
		t.Errorf("%+v", r)
	}
	if r := answer[memAt](t, 0, "at", path, "--peak"); len(r.Devices) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestShortened(t *testing.T) {
	for _, c := range []struct {
		text       string
		width      int
		head, tail string
	}{{"häuser", 6, "häuser", "häuser"}, {"häuser", 4, "häu…", "…ser"}, {"häuser", 1, "…", "…"}, {"häuser", 0, "", ""}, {"häuser", -3, "", ""}, {"", 0, "", ""}} {
		if got := head(c.text, c.width); got != c.head {
			t.Errorf("head(%q, %d) is %q", c.text, c.width, got)
		}
		if got := tail(c.text, c.width); got != c.tail {
			t.Errorf("tail(%q, %d) is %q", c.text, c.width, got)
		}
	}
}

func TestMemStatuses(t *testing.T) {
	t.Chdir(t.TempDir())
	good := trainingFile(t, snapshottest.Training{Events: 100, Layers: 1})
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	empty := file(t, "empty.pickle", nil)
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"report", "missing.pickle"}, 1, "cannot read missing.pickle: no such file"},
		{[]string{"report", empty}, 1, "the file is empty"},
		{[]string{"report", file(t, "cut.pickle", whole[:len(whole)/2])}, 1, "ends in the middle"},
		{[]string{"report", file(t, "evil.pickle", []byte("\x80\x02cos\nsystem\n."))}, 1, "GLOBAL"},
		{[]string{"report", file(t, "weights.pt", []byte("PK\x03\x04"))}, 1, "neither a pickle"},
		{[]string{"report", t.TempDir()}, 1, "cannot read"},
		{[]string{"report", good, "--device", "3"}, 1, "nothing of device 3"},
		{[]string{"report"}, 2, "accepts 1 arg"},
		{[]string{"report", good, "--colour"}, 2, "unknown flag"},
		{[]string{"at", good}, 2, "at least one of the flags"},
		{[]string{"at", good, "--event", "1000000"}, 2, "the trace has"},
		{[]string{"at", good, "--time", "noon"}, 2, "is no time"},
		{[]string{"at", good, "--peak", "--event", "3"}, 2, "none of the others can be"},
		{[]string{"replay", good, "--allocator", "jemalloc"}, 2, "one or more of pytorch"},
		{[]string{"replay", good, "--allocator", ""}, 2, "one or more of pytorch"},
		{[]string{"report", good, "--top", "99999999999999999999"}, 2, "a whole number from 0"},
		{[]string{"report", good, "--top", "-1"}, 2, "a whole number from 0"},
		{[]string{"report", good, "--device", "-2"}, 2, "a whole number from -1"},
		{[]string{"at", good, "--event", "-1"}, 2, "a whole number from 0"},
		{[]string{"at", good, "--time", ""}, 2, "is no time"},
		{[]string{"replay", good, "--capacity", "lots"}, 2, "bytes, such as"},
		{[]string{"diff", good}, 2, "accepts 2 arg"},
		{[]string{"diff", good, good, "--by", "shape"}, 2, "one of device"},
		{[]string{"trim", good, "--from", "9", "--to", "3"}, 2, "is after"},
		{[]string{"oom", good, "--event", "3"}, 2, "no out-of-memory event"},
		{[]string{"teleport"}, 2, "unknown command"},
	} {
		status, _, errs := mem(t, test.args...)
		if status != test.status || !strings.Contains(errs, test.want) {
			t.Errorf("%q: status %d, %q; want %d and %q", test.args, status, errs, test.status, test.want)
		}
	}
	if left, _ := filepath.Glob("*"); len(left) > 0 {
		t.Errorf("failed commands left files: %q", left)
	}
}

func TestMemWatch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the figures of another process")
	}
	status, out, errs := mem(t, "watch", fmt.Sprint(os.Getpid()), "--once")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 0 || len(lines) != 3 || !strings.Contains(lines[2], "MiB") || !strings.Contains(errs, "the system's") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	for arg, want := range map[string]int{"0": 2, "me": 2, "2147483647": 1} {
		if status, _, _ := mem(t, "watch", arg, "--once"); status != want {
			t.Errorf("watch %s: status %d, want %d", arg, status, want)
		}
	}
}

// Standard input, gzipped.
func TestMemStandardInput(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := snapshottest.WriteTraining(z, snapshottest.Training{Events: 100, Layers: 1}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file(t, "x.gz", b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	os.Stdin = f
	r := answer[memReport](t, 0, "report", "-")
	if r.Devices[0].Events < 100 || r.Format != "pickle protocol 4, gzipped" {
		t.Errorf("%d events, format %q", r.Devices[0].Events, r.Format)
	}
}

// Nothing in a file moves the terminal's cursor or colours its text.
func TestMemEscapesText(t *testing.T) {
	s := snapshot.New()
	d := s.Device(0)
	evil := "\x1b[31mred\u009b2J\u202e\r\nnext\x07"
	stack := s.StackOf([]snapshot.FrameID{s.FrameOf(evil+".py", 1, evil), s.FrameOf("loop.py", 2, evil)})
	class := func(a snapshot.Action) snapshot.ClassID {
		return s.ClassOf(snapshot.Class{Action: a, Category: s.Intern(evil), Metadata: s.Intern(evil)})
	}
	for i := range uint64(40) {
		addr := 1<<40 + i<<20
		d.Trace.Append(snapshot.Event{Addr: addr, Size: 100, Stack: stack, Class: class(snapshot.Alloc)})
		d.Trace.Append(snapshot.Event{Addr: addr + 4096, Size: 100, Stack: s.StackOf([]snapshot.FrameID{s.FrameOf("loop.py", 3, evil)}), Class: class(snapshot.Alloc)})
		d.Trace.Append(snapshot.Event{Addr: addr + 4096, Size: 100, Class: class(snapshot.FreeCompleted)})
	}
	d.Trace.Append(snapshot.Event{Addr: 5, Size: 1 << 40, Stack: stack, Class: class(snapshot.OutOfMemory)})
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := file(t, "evil.pickle", b.Bytes())
	none := trainingFile(t, snapshottest.Training{Events: 100, Layers: 1})
	for _, args := range [][]string{
		{"report", path}, {"at", path, "--peak"}, {"leaks", path}, {"diff", none, path}, {"diff", none, path, "--by", "stack"}, {"oom", path}, {"replay", path, "--capacity", "1KiB"},
	} {
		for _, format := range []string{"--device=0", "--json"} {
			_, out, errs := mem(t, append(args, format)...)
			if i := strings.IndexFunc(out+errs, func(r rune) bool { return unprintable(r) && r != '\n' }); i >= 0 {
				t.Errorf("%q prints %q", args, (out + errs)[i:min(len(out+errs), i+20)])
			}
			if !strings.Contains(out, "red") {
				t.Errorf("%q %s does not show the text at all", args, format)
			}
		}
	}
}
