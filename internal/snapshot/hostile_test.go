package snapshot

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
)

// short writes a string of less than 256 bytes.
func short(s string) string { return "\x8c" + string([]byte{byte(len(s))}) + s }

func TestRefused(t *testing.T) {
	tests := map[string]struct{ data, want string }{
		"empty":             {"", "empty"},
		"text":              {"hello", "neither a pickle"},
		"global":            {"\x80\x02cos\nsystem\n(S'true'\ntR.", "GLOBAL"},
		"stack global":      {"\x80\x04" + short("os") + short("system") + "\x93" + short("true") + "\x85R.", "STACK_GLOBAL"},
		"reduce":            {"\x80\x04NNR.", "REDUCE"},
		"build":             {"\x80\x04}}b.", "BUILD"},
		"persistent id":     {"\x80\x04K\x01Q.", "BINPERSID"},
		"extension":         {"\x80\x04\x82\x01.", "EXT1"},
		"out of band":       {"\x80\x05\x97.", "NEXT_BUFFER"},
		"unknown opcode":    {"\x80\x04\xff", "unknown pickle opcode"},
		"protocol 6":        {"\x80\x06}.", "protocol 6"},
		"protocol 1":        {"\x80\x01}.", "protocol 1"},
		"huge string":       {"\x80\x04X\xff\xff\xff\xff" + "abc", "ends in the middle"},
		"huge string 8":     {"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc", "ends in the middle"},
		"huge bytes":        {"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\xffabc", "ends in the middle"},
		"huge number":       {"\x80\x04\x8b\xff\xff\xff\x7fabc", "ends in the middle"},
		"memo far away":     {"\x80\x02}r\xff\xff\xff\xff.", "not stored"},
		"memo unknown":      {"\x80\x02}h\x05.", "not stored"},
		"nothing":           {"\x80\x04.", "takes more than it has put"},
		"append to nothing": {"\x80\x04]a.", "takes more than it has put"},
		"append to a dict":  {"\x80\x04}Na.", "no list or dict"},
		"marks":             {"\x80\x04" + strings.Repeat("(", 20_000), "nested too deep"},
		"json depth":        {strings.Repeat("[", 10_000), "nested too deep"},
		"json tail":         {`{"segments":[]} {}`, "goes on"},
		"json word":         {`{"segments":nope}`, "unexpected"},
		"json number":       {`{"segments":[1-2]}`, "bad number"},
		"json digits":       {`[` + strings.Repeat("1", 5000) + `]`, "without end"},
		"other dict":        {"\x80\x04}(" + short("state_dict") + "}u.", "neither segments nor device_traces"},
		"other list":        {"\x80\x04](K\x01K\x02e.", "not of segments"},
		"a number":          {"\x80\x04K\x01.", "no dict"},
		"zeros":             {"\x1f\x8b" + strings.Repeat("\x00", 100), "gzip"},
	}
	for name, test := range tests {
		_, err := Read(strings.NewReader(test.data))
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// Odd files of which something can still be said.
func TestOddFiles(t *testing.T) {
	tests := map[string]struct {
		data  string
		check func(s *Snapshot) bool
	}{
		"no keys but one": {`{"segments":[]}`, func(s *Snapshot) bool { return len(s.Devices) == 0 }},
		"frames null": {`{"device_traces":[[{"action":"alloc","addr":5,"size":7,"stream":0,"frames":null}]]}`, func(s *Snapshot) bool {
			return s.Devices[0].Trace.At(0) == Event{Addr: 5, Size: 7, Class: s.Devices[0].Trace.At(0).Class}
		}},
		"out of memory has no address": {`{"device_traces":[[{"action":"oom","device_free":99,"size":7}]]}`, func(s *Snapshot) bool {
			e := s.Devices[0].Trace.At(0)
			return e.Addr == 99 && e.Size == 7 && s.Action(e.Class) == OutOfMemory
		}},
		"unknown action and keys": {`{"new":[{}],"device_traces":[[{"action":"teleport","addr":1,"more":{"a":[1,2]}}]]}`, func(s *Snapshot) bool {
			c := s.Class(s.Devices[0].Trace.At(0).Class)
			return c.Action == OtherAction && s.String(c.Name) == "teleport"
		}},
		"address beyond 2^63": {`{"device_traces":[[{"action":"alloc","addr":18446720620317114368,"size":1}]]}`, func(s *Snapshot) bool {
			return s.Devices[0].Trace.At(0).Addr == 18446720620317114368
		}},
		"negative address": {`{"device_traces":[[{"action":"alloc","addr":-23453392437248,"size":1}]]}`, func(s *Snapshot) bool {
			return s.Devices[0].Trace.At(0).Addr == 18446720620317114368
		}},
		"nine-byte number": {"\x80\x04}(" + short("device_traces") + "](](}(" + short("action") + short("alloc") + short("addr") +
			"\x8a\x09\x00\x00\x00\x40\xab\xea\xff\xff\x00ueeu.", func(s *Snapshot) bool {
			return s.Devices[0].Trace.At(0).Addr == 0xffffeaab40000000
		}},
		"torch 1.13": {`[{"device":0,"address":4096,"total_size":2097152,"allocated_size":512,"active_size":512,"stream":0,"segment_type":"small",
			"blocks":[{"size":512,"state":"active_allocated","history":[{"addr":4096,"real_size":100,"frames":[{"filename":"a.py","line":3,"name":"f"}]}]},
			{"size":2096640,"state":"inactive"}]}]`, func(s *Snapshot) bool {
			b := s.Devices[0].Segments[0].Blocks
			return len(b) == 2 && b[0].Requested == 100 && len(s.Stack(b[0].Stack)) == 1 && b[1].Addr == 4608
		}},
		"awaiting free": {`{"segments":[{"address":0,"total_size":512,"blocks":[{"size":512,"state":"active_awaiting_free"}]}]}`, func(s *Snapshot) bool {
			return s.Devices[0].Segments[0].Blocks[0].State == PendingFree
		}},
		"overflow as a list": {`{"device_traces":[[{"action":"snapshot"}],[{"action":"snapshot"}]],"trace_alloc_overflowed":[false,true],"allocator_settings":{"trace_alloc_max_entries":7}}`, func(s *Snapshot) bool {
			return !s.Devices[0].Overflowed && s.Devices[1].Overflowed && s.Devices[0].MaxEntries == 7
		}},
		"host": {`{"segments":[],"host_segments":[{"address":4096,"total_size":512,"blocks":[]}],"host_traces":[[{"action":"alloc","addr":1}]]}`, func(s *Snapshot) bool {
			d := s.Devices[0]
			return d.Index == HostDevice && len(d.Segments) == 1 && d.Trace.Len() == 1
		}},
		"metadata is a dict": {`{"device_traces":[[{"action":"alloc","user_metadata":{"phase":"warm","n":3}}]]}`, func(s *Snapshot) bool {
			return s.String(s.Class(s.Devices[0].Trace.At(0).Class).Metadata) == "phase: warm, n: 3"
		}},
		"totals that do not fit": {`{"segments":[{"address":0,"total_size":4096,"blocks":[{"size":512,"state":"inactive"}]}]}`, func(s *Snapshot) bool {
			return len(s.Warnings) == 1 && strings.Contains(s.Warnings[0], "sum to 512")
		}},
	}
	for name, test := range tests {
		s, err := Read(strings.NewReader(test.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !test.check(s) {
			t.Errorf("%s: read as\n%s%q", name, describe(s), s.Warnings)
		}
	}
}

// A few hundred bytes that would expand to 2^40 objects, and lists that contain
// themselves, cost what the file holds.
func TestExpansion(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("\x80\x04}(" + short("segments") + "]" + short("device_traces"))
	bomb.WriteString("]\x94")
	for i := range 40 { // each list holds the one before twice
		bomb.WriteString("](h" + string([]byte{byte(i)}) + "h" + string([]byte{byte(i)}) + "e\x94")
	}
	bomb.WriteString("u.")
	data := []byte(bomb.String())
	// The lists are left on the stack below the last; take them as a tuple's items.
	data = bytes.Replace(data, []byte("]\x94]("), []byte("]\x940]("), 1)
	data = bytes.ReplaceAll(data, []byte("e\x94]("), []byte("e\x940]("))
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := allocated(func() { mustRead(t, data) }); n > 16<<20 {
		t.Errorf("%d bytes of doubling lists made the reader allocate %d bytes", len(data), n)
	}
	cycle := "\x80\x04}(" + short("device_traces") + "]\x94h\x00a" + short("segments") + "]\x94h\x01au."
	mustRead(t, []byte(cycle))
	twice := "\x80\x04}(" + short("device_traces") + "](](}(" + short("action") + short("alloc") + "ue\x94" + strings.Repeat("h\x00", 500) + "eu."
	s := mustRead(t, []byte(twice))
	if len(s.Devices) != 1 || s.Devices[0].Trace.Len() != 1 || len(s.Warnings) == 0 {
		t.Errorf("one trace for 501 devices was read as %d devices, warnings %q", len(s.Devices), s.Warnings[:min(len(s.Warnings), 1)])
	}
	long := "\x80\x04}" + short("x") + "X\x00\x00\x20\x00" + strings.Repeat("y", 2<<20) + "s."
	if _, err := Read(strings.NewReader(long)); err == nil || len(err.Error()) > 200 {
		t.Errorf("a string of 2 MiB: error of %d bytes", len(err.Error()))
	}
}

// Whatever the bytes are, the reader ends, and what it returns can be written and
// read again as the same.
func FuzzRead(f *testing.F) {
	data := written(f, sample())
	f.Add(data)
	f.Add(asJSON(f, data))
	f.Add(asProtocol2(f, data))
	f.Add(zipped(f, data))
	var training bytes.Buffer
	if err := snapshottest.WriteTraining(&training, snapshottest.Training{Events: 20, Layers: 1, Frames: 4}); err != nil {
		f.Fatal(err)
	}
	f.Add(training.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		for i, d := range s.Devices {
			if d.Index != HostDevice && d.Trace.Len() > 0 && again.Devices[i].Trace.Len() < d.Trace.Len() {
				t.Fatalf("device %d: %d events became %d", d.Index, d.Trace.Len(), again.Devices[i].Trace.Len())
			}
		}
	})
}
