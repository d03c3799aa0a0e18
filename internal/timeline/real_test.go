package timeline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// real opens one of the real files, or skips where they are not present.
func real(t testing.TB, name string) *History {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "snapshots", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real snapshots are not here")
	}
	s, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return New(s, s.Devices[0])
}

func TestRealFigures(t *testing.T) {
	type figures struct {
		reserved, live, asked  uint64
		segments, events       int
		tracePeak, largestHole uint64
		beforeAsked            uint64
	}
	for name, want := range map[string]figures{
		"cuda_trimmed.pickle":           {421_527_552, 0, 0, 14, 50, 402_752_512, 134_217_728, 0},
		"synthetic_inconsistent.pickle": {262_144_000, 8_704, 466, 5, 1_040, 2_255_398_132, 0, 466},
	} {
		h := real(t, name)
		now := h.Now()
		got := figures{now.Reserved, now.Live, now.Requested, len(h.Device.Segments), h.Device.Trace.Len(), h.TracePeak, h.FragmentationNow().LargestHole, h.BeforeBytes}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if h.PeakBytes != h.TracePeak+h.BeforeBytes {
			t.Errorf("%s: peak %d, want that of the trace and what was there before", name, h.PeakBytes)
		}
		if len(h.Warnings) == 0 {
			t.Errorf("%s: no warning, though trace and segments disagree", name)
		}
	}
}
