package ebb_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
	"github.com/ebb-ml/ebb/internal/timeline"
	"pgregory.net/rapid"
)

// written returns rt's snapshot as a reader sees it, after the checks that the
// readers of the format need to pass.
func written(t testing.TB, rt *ebb.Runtime) *snapshot.Snapshot {
	t.Helper()
	var b bytes.Buffer
	if err := rt.WriteSnapshot(&b); err != nil {
		t.Fatal(err)
	}
	for _, fault := range snapshottest.Check(b.Bytes()) {
		t.Error("snapshot:", fault)
	}
	s, err := snapshot.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) > 0 {
		t.Error("snapshot:", s.Warnings)
	}
	return s
}

// actions counts the events of a trace by action.
func actions(s *snapshot.Snapshot) map[snapshot.Action]int {
	n := map[snapshot.Action]int{}
	for _, e := range s.Device(0).Trace.All() {
		n[s.Action(e.Class)]++
	}
	return n
}

// train makes a model in a store and takes steps of training with it.
func train(rt *ebb.Runtime, steps int) (model *ebb.Store) {
	model = rt.NewStore("model")
	w := ebb.Ones(model, ebb.Shape{64, 64}, ebb.Parameter).SetRequiresGrad(true)
	w.SetName("fc1")
	for step := range steps {
		s := rt.NewScope("batch")
		x := ebb.Ones(s, ebb.Shape{32, 64}, ebb.Input)
		x.MatMul(w.T()).ReLU().Sum().Backward()
		rt.Mark(fmt.Sprint("step ", step))
		s.Close()
	}
	return model
}

func TestHistory(t *testing.T) {
	rt := newRuntime(t)
	rt.RecordHistory(0)
	model := train(rt, 3)

	state := rt.History()
	if !state.On || state.Max != ebb.DefaultHistory || state.Dropped != 0 || state.Hooks != 2 || time.Since(state.Since) > time.Hour {
		t.Errorf("state %+v", state)
	}
	s := written(t, rt)
	got := actions(s)
	stats := rt.Stats()
	if got[snapshot.Annotate] != 3 {
		t.Errorf("%d marks, want 3", got[snapshot.Annotate])
	}
	if live := got[snapshot.Alloc] - got[snapshot.FreeCompleted]; int64(live) != stats.Live.Count || got[snapshot.FreeRequested] != got[snapshot.FreeCompleted] {
		t.Errorf("%d allocations and %d frees, %d live", got[snapshot.Alloc], got[snapshot.FreeCompleted], stats.Live.Count)
	}
	if mapped := got[snapshot.SegmentAlloc] - got[snapshot.SegmentFree]; int64(mapped) != stats.Segments {
		t.Errorf("%d segments, trace has %d", stats.Segments, mapped)
	}

	h := timeline.New(s, s.Device(0))
	if len(h.Warnings) > 0 {
		t.Error(h.Warnings)
	}
	if int64(h.EndBytes) != stats.Live.Current || int64(h.PeakBytes) != stats.Live.Peak || h.BeforeBytes != 0 || int64(h.ReservedEnd) != stats.Mapped {
		t.Errorf("trace: live %d, peak %d, before %d, reserved %d; %+v", h.EndBytes, h.PeakBytes, h.BeforeBytes, h.ReservedEnd, stats)
	}
	names := timeline.NewNames(s)
	byKind := map[string]int64{}
	for _, b := range h.LiveNow() {
		byKind[names.Kind(&b)] += int64(b.Asked)
		if names.Kind(&b) == "parameter" {
			if m := names.Module(&b); m != "fc1" {
				t.Errorf("module %q", m)
			}
			if site := names.Site(b.Stack); !strings.Contains(site, "history_test.go") {
				t.Errorf("site %q", site)
			}
			for key, want := range map[string]string{"op": "full", "dtype": "float32", "shape": "[64,64]", "owner": "model"} {
				if got := names.Label(&b, key); got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
		}
	}
	if want := map[string]int64{"parameter": 64 * 64 * 4, "gradient": 64 * 64 * 4}; !maps.Equal(byKind, want) {
		t.Errorf("live %v, want %v", byKind, want)
	}

	model.Close()
	rt.EmptyCache()
	s = written(t, rt)
	if got := actions(s); got[snapshot.Alloc] != got[snapshot.FreeCompleted] || got[snapshot.SegmentAlloc] != got[snapshot.SegmentFree] {
		t.Errorf("after the end %v", got)
	}

	rt.StopHistory()
	if state := rt.History(); state != (ebb.HistoryState{}) {
		t.Errorf("after StopHistory %+v", state)
	}
	if s := written(t, rt); s.Device(0).Trace.Len() != 0 {
		t.Error("there is a trace after StopHistory")
	}
}

// What was there before the recording is in the snapshot, and its frees replay.
func TestHistoryStartsLate(t *testing.T) {
	rt := newRuntime(t)
	model := train(rt, 1)
	s := rt.NewScope("early")
	ebb.Ones(s, ebb.Shape{1000})
	rt.RecordHistory(100)
	before := rt.Stats().Live.Current
	s.Close()
	late := rt.NewScope("late")
	ebb.Ones(late, ebb.Shape{2000})
	snap := written(t, rt)
	h := timeline.New(snap, snap.Device(0))
	if int64(h.BeforeBytes) != before || int64(h.EndBytes) != rt.Stats().Live.Current {
		t.Errorf("before %d, want %d; now %d, want %d", h.BeforeBytes, before, h.EndBytes, rt.Stats().Live.Current)
	}
	// A second recording knows nothing of the first.
	rt.RecordHistory(100)
	late.Close()
	model.Close()
	snap = written(t, rt)
	if got := actions(snap); got[snapshot.Alloc] != 0 || got[snapshot.FreeCompleted] != 3 {
		t.Errorf("events %v", got)
	}
}

func TestHistoryWraps(t *testing.T) {
	rt := newRuntime(t)
	rt.RecordHistory(20_001) // neither of one chunk nor of whole ones
	for i := range 30_000 {
		if i%100 == 0 {
			rt.Mark(fmt.Sprint("step ", i))
		}
		s := rt.NewScope("batch")
		ebb.Empty(s, ebb.Shape{i%7 + 1})
		s.Close()
	}
	state := rt.History()
	if state.Events != 20_001 || state.Dropped < 39_000 {
		t.Errorf("state %+v", state)
	}
	s := written(t, rt)
	d := s.Device(0)
	if !d.Overflowed || d.MaxEntries != 20_001 {
		t.Errorf("overflowed %v, at most %d", d.Overflowed, d.MaxEntries)
	}
	got := actions(s)
	if got[snapshot.Alloc]+got[snapshot.FreeCompleted]+got[snapshot.Annotate] != 20_001 {
		t.Errorf("events %v", got)
	}
	var last string
	for _, e := range d.Trace.All() {
		if s.Action(e.Class) == snapshot.Annotate {
			last = s.String(s.Class(e.Class).Metadata)
		}
	}
	if last != "step 29900" {
		t.Errorf("the last mark is %q", last)
	}
}

// Descriptions without end lose their shape and owner, and nothing else.
func TestHistoryBoundsDescriptions(t *testing.T) {
	if testing.Short() {
		t.Skip("80,000 shapes")
	}
	rt := newRuntime(t)
	rt.RecordHistory(0)
	for i := range 80_000 {
		s := rt.NewScope("batch")
		ebb.Empty(s, ebb.Shape{1, i}, ebb.Uint8)
		s.Close()
	}
	snap := written(t, rt)
	trace := &snap.Device(0).Trace
	metadata := func(i int) string { return snap.String(snap.Class(trace.At(i).Class).Metadata) }
	first, last := "", ""
	for i, e := range trace.All() {
		if snap.Action(e.Class) == snapshot.Alloc {
			if last = metadata(i); first == "" {
				first = last
			}
		}
	}
	if first != "op=empty dtype=uint8 shape=[1,0] owner=batch" || last != "op=empty dtype=uint8" {
		t.Errorf("the first is %q, the last %q", first, last)
	}
}

// History, snapshots and marks go together with operations of many goroutines.
func TestHistoryConcurrently(t *testing.T) {
	rt := newRuntime(t)
	var workers, readers sync.WaitGroup
	done := make(chan struct{})
	for g := range 4 {
		workers.Go(func() {
			for i := range 300 {
				s := rt.NewScope("batch")
				x := ebb.Ones(s, ebb.Shape{8, g + 1})
				x.Add(x).Sum()
				if i%10 == 0 {
					rt.Mark(fmt.Sprint("step ", i))
				}
				s.Close()
			}
		})
	}
	readers.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			switch i % 5 {
			case 0:
				rt.RecordHistory(500)
			case 1:
				var b bytes.Buffer
				if err := rt.WriteSnapshot(&b); err != nil {
					t.Error(err)
				}
				for _, fault := range snapshottest.Check(b.Bytes()) {
					t.Error(fault)
				}
			case 2:
				rt.Timeline(time.Time{}, 50)
			case 3:
				rt.PeakHoldings()
			case 4:
				rt.StopHistory()
			}
		}
	})
	workers.Wait()
	close(done)
	readers.Wait()
	rt.StopHistory()
	if s := rt.History(); s.Hooks != 0 {
		t.Errorf("%d hooks left", s.Hooks)
	}
}

// A failed request is recorded, with what the limit still allowed.
func TestHistoryOfOutOfMemory(t *testing.T) {
	rt := newRuntime(t, ebb.Limit(8<<20))
	rt.RecordHistory(0)
	s := rt.NewScope("batch")
	defer s.Close()
	ebb.Empty(s, ebb.Shape{1 << 20})
	caught(t, func() { ebb.Empty(s, ebb.Shape{3 << 20}) })
	snap := written(t, rt)
	for _, e := range snap.Device(0).Trace.All() {
		if snap.Action(e.Class) == snapshot.OutOfMemory {
			if e.Size != 12<<20 || int64(e.Addr) != 8<<20-rt.Stats().Mapped {
				t.Errorf("event %+v", e)
			}
			return
		}
	}
	t.Error("no event")
}

// holding is what of a Holding can be compared.
type holding struct {
	kind   ebb.Kind
	dtype  ebb.DType
	shape  string
	bytes  int64
	module string
	op     string
	site   string
}

func sorted(hs []ebb.Holding) []holding {
	out := make([]holding, 0, len(hs))
	for _, h := range hs {
		out = append(out, holding{h.Kind, h.DType, fmt.Sprint(h.Shape), h.Bytes, h.Module, h.Op, h.Site.String()})
	}
	slices.SortFunc(out, func(a, b holding) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}

// The set live at the peak is what Holdings said at that moment.
func TestPeakHoldings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rt := ebb.NewRuntime()
		defer func() {
			rt.MarkFailed()
			_ = rt.Close()
		}()
		var scopes []*ebb.Scope
		early := rt.NewScope("early")
		ebb.Empty(early, ebb.Shape{rapid.IntRange(1, 100).Draw(t, "early")})
		scopes = append(scopes, early)
		rt.RecordHistory(10_000)
		most, want := rt.Stats().Live.Current, sorted(rt.Holdings())
		see := func() {
			if n := rt.Stats().Live.Current; n >= most { // of equal ones the last
				most, want = n, sorted(rt.Holdings())
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "actions") {
			switch rapid.IntRange(0, 5).Draw(t, "action") {
			case 0, 1, 2:
				s := rt.NewScope("batch")
				ebb.Empty(s, ebb.Shape{rapid.IntRange(0, 100).Draw(t, "n")}, ebb.Kinds[rapid.IntRange(0, 6).Draw(t, "kind")])
				scopes = append(scopes, s)
				see()
			case 3, 4:
				if len(scopes) > 0 {
					i := rapid.IntRange(0, len(scopes)-1).Draw(t, "closed")
					scopes[i].Close()
					scopes = slices.Delete(scopes, i, i+1)
					see()
				}
			case 5:
				rt.ResetPeak()
				most, want = rt.Stats().Live.Current, sorted(rt.Holdings())
			}
		}
		hs, peak := rt.PeakHoldings()
		if !peak.Exact || peak.Bytes != most || peak.Doubt != "" {
			t.Errorf("peak %+v, want %d", peak, most)
		}
		var bytes int64
		for _, h := range hs {
			bytes += h.Bytes
		}
		if got := sorted(hs); bytes != most || !slices.Equal(got, want) {
			t.Errorf("at the peak:\n%v\nwant\n%v", got, want)
		}
	})
}

func TestPeakHoldingsOfATrainingStep(t *testing.T) {
	rt := newRuntime(t)
	if hs, peak := rt.PeakHoldings(); hs != nil || peak.Exact || peak.Doubt == "" {
		t.Errorf("without a history: %v, %+v", hs, peak)
	}
	rt.RecordHistory(0)
	train(rt, 2).Close()
	hs, peak := rt.PeakHoldings()
	if !peak.Exact || peak.Bytes != rt.Stats().Live.Peak {
		t.Errorf("peak %+v, want %d", peak, rt.Stats().Live.Peak)
	}
	kinds := map[ebb.Kind]int64{}
	for _, h := range hs {
		kinds[h.Kind] += h.Bytes
	}
	if kinds[ebb.Parameter] != 64*64*4 || kinds[ebb.Input] != 32*64*4 {
		t.Errorf("kinds at the peak %v", kinds)
	}
	// The peak was before the history.
	rt.RecordHistory(0)
	if _, peak := rt.PeakHoldings(); peak.Exact || peak.Bytes != 0 || !strings.Contains(peak.Doubt, "since the history began") {
		t.Errorf("peak %+v", peak)
	}
}

// From a moment on, what was before shows only in what was live then.
func TestTimelineFromAMoment(t *testing.T) {
	rt := newRuntime(t)
	rt.RecordHistory(0)
	s := rt.NewScope("a")
	defer s.Close()
	rt.Mark("before")
	ebb.Empty(s, ebb.Shape{1000})
	time.Sleep(20 * time.Millisecond)
	from := time.Now()
	time.Sleep(time.Millisecond)
	rt.Mark("after")
	ebb.Empty(s, ebb.Shape{5000})
	is, marks := rt.Timeline(from, 5)
	if len(is) != 5 || is[0].Live < 4000 || is[4].Live != 24000 || is[0].Time.Before(from) {
		t.Errorf("%+v", is)
	}
	if len(marks) != 1 || marks[0].Text != "after" {
		t.Errorf("marks %v", marks)
	}
}

func TestTimeline(t *testing.T) {
	rt := newRuntime(t)
	if is, _ := rt.Timeline(time.Time{}, 10); is != nil {
		t.Errorf("without a history: %v", is)
	}
	rt.RecordHistory(0)
	s := rt.NewScope("a")
	ebb.Empty(s, ebb.Shape{1000}, ebb.Input)
	time.Sleep(20 * time.Millisecond)
	middle := rt.NewScope("b")
	ebb.Empty(middle, ebb.Shape{5000})
	rt.Mark("top")
	middle.Close()
	time.Sleep(20 * time.Millisecond)
	for _, points := range []int{1, 2, 7, 200} {
		is, marks := rt.Timeline(time.Time{}, points)
		if len(is) != points || len(marks) != 1 || marks[0].Text != "top" {
			t.Fatalf("%d instants, marks %v", len(is), marks)
		}
		var most int64
		for i, at := range is {
			var sum int64
			for _, n := range at.ByKind {
				sum += n
			}
			if sum != at.Live || at.Live > at.Mapped || at.Live < 0 || i > 0 && at.Time.Before(is[i-1].Time) {
				t.Errorf("instant %d of %d: %+v", i, points, at)
			}
			most = max(most, at.Live)
		}
		if most != rt.Stats().Live.Peak {
			t.Errorf("%d points: most %d, peak %d", points, most, rt.Stats().Live.Peak)
		}
		if last := is[points-1]; points > 2 && (last.Live != 4000 || last.ByKind[ebb.Input] != 4000) {
			t.Errorf("last instant %+v", last)
		}
	}
	s.Close()
}

// historyProgram is run by the tests of the environment, in a process of its own.
const historyProgram = "EBB_TEST_HISTORY_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(historyProgram) {
	case "":
		os.Exit(m.Run())
	case "close":
		for range 2 {
			rt := ebb.NewRuntime()
			train(rt, 2)
			rt.MarkFailed()
			if err := rt.Close(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	case "signal":
		rt := ebb.NewRuntime()
		train(rt, 2)
		fmt.Println("ready")
		time.Sleep(time.Minute)
	}
}

// skipEmulated skips a test that starts itself where the processor is emulated
// and the system cannot run the program.
func skipEmulated(t *testing.T, err error) {
	if err != nil && strings.Contains(err.Error(), "exec format error") {
		t.Skip("an emulated program cannot start itself")
	}
}

func TestHistoryByEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mem.pickle")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), historyProgram+"=close", "EBB_MEMORY_HISTORY="+file)
	out, err := cmd.CombinedOutput()
	skipEmulated(t, err)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{file, strings.Replace(file, ".pickle", "-2.pickle", 1)} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, fault := range snapshottest.Check(data) {
			t.Error(fault)
		}
		s, err := snapshot.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		// What was held when the runtime was closed is live.
		if h := timeline.New(s, s.Device(0)); h.EndBytes != 2*64*64*4 {
			t.Errorf("%d bytes live at the end", h.EndBytes)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 2 {
		t.Errorf("left in the folder: %v", entries)
	}
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: stacks show paths", info.Mode())
	}
}

// allocateDeep calls f below so many frames.
//
//go:noinline
func allocateDeep(n int, f func()) {
	if n > 0 {
		allocateDeep(n-1, f)
		return
	}
	f()
}

// The benchmark measures an allocation and its free with 60 frames on the stack:
// two events.
func BenchmarkHistory(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprint("on=", on), func(b *testing.B) {
			rt := ebb.NewRuntime()
			if on {
				rt.RecordHistory(1 << 16)
			}
			s := rt.NewScope("bench")
			x := ebb.Ones(s, ebb.Shape{8})
			allocateDeep(60, func() {
				for b.Loop() {
					kid := s.NewScope("step")
					x.In(kid).Neg()
					kid.Close()
				}
			})
			s.Close()
			_ = rt.Close()
		})
	}
}

// BenchmarkSnapshot writes a history of a million events.
func BenchmarkSnapshot(b *testing.B) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	rt.RecordHistory(1 << 20)
	s := rt.NewScope("bench")
	defer s.Close()
	x := ebb.Ones(s, ebb.Shape{8})
	allocateDeep(50, func() {
		for rt.History().Dropped == 0 {
			for range 1000 {
				kid := s.NewScope("step")
				x.In(kid).Neg()
				kid.Close()
			}
		}
	})
	for b.Loop() {
		var w counter
		if err := rt.WriteSnapshot(&w); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(w))
	}
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
