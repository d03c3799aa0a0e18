package timeline

import (
	"bytes"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
)

// Whatever a file says, every question about it ends with an answer, and what is
// cut out of it is a snapshot.
func FuzzHistory(f *testing.F) {
	for _, t := range []snapshottest.Training{{Events: 30, Layers: 1, Frames: 3}, {Events: 300, Layers: 2, Frames: 8, Leak: 2}} {
		var b bytes.Buffer
		if err := snapshottest.WriteTraining(&b, t); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte(`{"segments":[{"address":4096,"total_size":4096,"blocks":[{"size":512,"state":"active_allocated","frames":null}]}],
		"device_traces":[[{"action":"free_completed","addr":4096,"size":18446744073709551615},{"action":"alloc","addr":4096,"size":7},{"action":"alloc","addr":4097,"size":7},
		{"action":"segment_unmap","addr":18446744073709551000,"size":9999},{"action":"oom","device_free":5,"size":9}]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := snapshot.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		names := NewNames(s)
		var windows []Window
		for i, d := range s.Devices {
			if i == 4 {
				break
			}
			h := New(s, d)
			n := d.Trace.Len()
			names.Holders(h.LiveNow())
			names.ByModule(h.LiveAt(h.PeakAt))
			h.FragmentationNow()
			h.Fragmentation(n / 2)
			h.Leaks(names)
			for _, e := range h.Failures() {
				f := h.Failure(e)
				f.Release(names)
				break
			}
			windows = append(windows, Window{h, n / 3, n})
		}
		part, _ := Trim(s, windows)
		var b bytes.Buffer
		if err := part.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := snapshot.Read(&b); err != nil {
			t.Fatal(err)
		}
	})
}
