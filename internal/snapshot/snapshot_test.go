package snapshot

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
	"github.com/google/go-cmp/cmp"
)

// marked is what reading a written sample gives: the writer adds an event of the
// category "unknown", without which PyTorch's viewer fails.
func marked(s *Snapshot) string {
	d := s.Devices[0]
	last := d.Trace.At(d.Trace.Len() - 1)
	d.Trace.Append(Event{Size: 5120, Time: last.Time, Class: s.ClassOf(Class{Action: TakeSnapshot, Category: s.Intern("unknown")})})
	return describe(s)
}

func TestWriteAndReadBack(t *testing.T) {
	s := sample()
	data := written(t, s)
	got := mustRead(t, data)
	if len(got.Warnings) > 0 {
		t.Errorf("warnings of a snapshot in order: %q", got.Warnings)
	}
	if d := cmp.Diff(marked(s), describe(got)); d != "" {
		t.Error(d)
	}
	if faults := snapshottest.Check(data); len(faults) > 0 {
		t.Errorf("what the other readers would trip over:\n%s", strings.Join(faults, "\n"))
	}
}

// The same snapshot in all the forms that writers choose.
func TestForms(t *testing.T) {
	data := written(t, sample())
	want := describe(mustRead(t, data))
	five := bytes.Clone(data)
	five[1] = 5
	forms := map[string][]byte{"protocol 5": five, "gzip": zipped(t, data), "json": asJSON(t, data), "gzipped json": zipped(t, asJSON(t, data))}
	forms["json with a mark"] = append([]byte("\xef\xbb\xbf \n"), asJSON(t, data)...)
	forms["protocol 2"] = asProtocol2(t, data)
	for name, form := range forms {
		if d := cmp.Diff(want, describe(mustRead(t, form))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJSON(t testing.TB, data []byte) []byte {
	t.Helper()
	top, err := snapshottest.Unpickle(data)
	if err != nil {
		t.Fatal(err)
	}
	var plain func(v any) any
	plain = func(v any) any {
		switch v := v.(type) {
		case *snapshottest.Dict:
			m := map[string]any{}
			for k, item := range v.Items {
				m[k] = plain(item)
			}
			return m
		case *snapshottest.List:
			l := make([]any, len(v.Items))
			for i, item := range v.Items {
				l[i] = plain(item)
			}
			return l
		}
		return v
	}
	// Settings come in the order of the file, and a Go map has none.
	text, err := json.Marshal(plain(top))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(text, []byte(`{"PYTORCH_CUDA_ALLOC_CONF":"","expandable_segments":false,"garbage_collection_threshold":0.8,"max_split_size":-1}`),
		[]byte(`{"PYTORCH_CUDA_ALLOC_CONF":"","max_split_size":-1,"expandable_segments":false,"garbage_collection_threshold":0.8}`), 1)
}

// asProtocol2 rewrites a pickle as PyTorch's C++ writer would: numbered memos,
// strings of four-byte length, one APPENDS a list.
func asProtocol2(t testing.TB, data []byte) []byte {
	t.Helper()
	out := []byte{0x80, 2}
	memos := byte(0)
	for at := 2; at < len(data); {
		op := data[at]
		size := map[byte]int{'K': 2, 'M': 3, 'J': 5, 'G': 9, 'h': 2, 'j': 5}[op]
		switch {
		case op == 0x94:
			out = append(out, 'r', memos, 0, 0, 0)
			memos++
			at++
		case op == 0x8c:
			n := int(data[at+1])
			out = append(append(out, 'X', byte(n), 0, 0, 0), data[at+2:at+2+n]...)
			at += 2 + n
		case op == 0x8a:
			n := int(data[at+1])
			out = append(out, data[at:at+2+n]...)
			at += 2 + n
		default:
			out = append(out, data[at:at+max(size, 1)]...)
			at += max(size, 1)
		}
	}
	if memos == 255 {
		t.Fatal("the sample has too many memos for one byte")
	}
	return out
}

// A dump as Python writes it: a real loop's structure, every dict memoised.
func TestTrainingDump(t *testing.T) {
	var b bytes.Buffer
	if err := snapshottest.WriteTraining(&b, snapshottest.Training{Events: 3000, Layers: 3, Leak: 2}); err != nil {
		t.Fatal(err)
	}
	s := mustRead(t, b.Bytes())
	d := s.Devices[0]
	if d.Trace.Len() < 3000 || len(s.Warnings) > 0 {
		t.Errorf("%d events, warnings %q", d.Trace.Len(), s.Warnings)
	}
	e := d.Trace.At(0)
	if s.Action(e.Class) != SegmentAlloc || len(s.Stack(e.Stack)) != 60 || e.Time != 1_771_267_191_000_003 {
		t.Errorf("first event %+v, %d frames", e, len(s.Stack(e.Stack)))
	}
	data := written(t, s)
	if faults := snapshottest.Check(data); len(faults) > 0 {
		t.Errorf("written again, it trips the other readers:\n%s", strings.Join(faults[:min(len(faults), 5)], "\n"))
	}
	if d := cmp.Diff(describe(s), describe(mustRead(t, data))); d != "" {
		t.Error(d)
	}
}

// The checker finds what it is there to find.
func TestCheckerFinds(t *testing.T) {
	faults := map[string]func(s *Snapshot){
		"lies in no segment": func(s *Snapshot) {
			s.Devices[0].Trace.Append(Event{Addr: 0x1000, Size: 64, Class: s.ClassOf(Class{Action: FreeRequested})})
		},
		"whose block is then": func(s *Snapshot) { s.Devices[0].Segments[0].Blocks[1].State = Allocated },
		"bytes asked for in":  func(s *Snapshot) { s.Devices[0].Segments[0].Blocks[0].Requested = 5000 },
		"overlaps":            func(s *Snapshot) { s.Devices[0].Segments = append(s.Devices[0].Segments, s.Devices[0].Segments[0]) },
		"no exact number":     func(s *Snapshot) { s.Devices[1].Segments[0].Addr += 1 << 53; s.Devices[1].Segments[0].Blocks = nil },
		"is not there":        func(s *Snapshot) { s.Devices[0].Segments = nil },
	}
	for want, spoil := range faults {
		s := sample()
		spoil(s)
		got := strings.Join(snapshottest.Check(written(t, s)), "\n")
		if !strings.Contains(got, want) {
			t.Errorf("want a fault %q, got %q", want, got)
		}
	}
}

func TestCutAtEveryByte(t *testing.T) {
	data := written(t, sample())
	step := 1
	if testing.Short() {
		step = 13
	}
	for name, form := range map[string][]byte{"pickle": data, "json": asJSON(t, data), "gzip": zipped(t, data)} {
		for n := 0; n < len(form); n += step {
			_, err := Read(bytes.NewReader(form[:n]))
			var format *FormatError
			if !errors.As(err, &format) {
				t.Fatalf("%s cut after %d of %d bytes: error %v", name, n, len(form), err)
			}
		}
	}
}

func TestReaderErrorsAreTheReaders(t *testing.T) {
	broken := errors.New("disk on fire")
	data := written(t, sample())
	for name, form := range map[string][]byte{"pickle": data, "json": asJSON(t, data)} {
		_, err := Read(&failing{form[:len(form)/2], broken})
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want the reader's own", name, err)
		}
	}
}

type failing struct {
	data []byte
	err  error
}

func (f *failing) Read(b []byte) (int, error) {
	if len(f.data) == 0 {
		return 0, f.err
	}
	n := copy(b, f.data)
	f.data = f.data[n:]
	return n, nil
}

// Reading costs a bounded number of bytes an event, of those kept and of those
// dropped again, so that a dump of 16 million events fits in a gigabyte.
func TestMemoryPerEvent(t *testing.T) {
	var b bytes.Buffer
	if err := snapshottest.WriteTraining(&b, snapshottest.Training{Events: 200_000, Layers: 12}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := mustRead(t, b.Bytes())
	runtime.ReadMemStats(&after)
	n := uint64(s.Devices[0].Trace.Len())
	if got := (after.TotalAlloc - before.TotalAlloc) / n; got > 56 {
		t.Errorf("%d bytes allocated an event, want at most 56", got)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := (after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)) / n; got > 40 {
		t.Errorf("%d bytes kept an event, want at most 40", got)
	}
	runtime.KeepAlive(s)
}
