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
	for _, name := range []string{"cuda_trimmed.pickle", "synthetic_inconsistent.pickle"} {
		h := real(t, name)
		n := NewNames(h.Snapshot)
		t.Logf("%s before %d(%d) peak %d at %d tracepeak %d end %d %d reserved %d %d %d lost %d unk %d unm %d\n%v", name, h.BeforeBytes, len(h.Before), h.PeakBytes, h.PeakAt, h.TracePeak, h.EndBytes, h.EndBlocks, h.ReservedStart, h.ReservedPeak, h.ReservedEnd, h.LostFrees, h.UnknownFrees, h.Unmatched, h.Warnings)
		t.Logf("%+v", h.Now())
		f := h.FragmentationNow()
		t.Logf("free %d hole %d rel %d unk %d pins %d", f.Free, f.LargestHole, f.Releasable, f.Unknown, len(f.Pins))
		for _, x := range n.Holders(h.LiveAt(h.PeakAt))[:5] {
			t.Logf("%+v", x)
		}
		t.Log(len(n.ByKind(h.LiveNow())))
	}
}
