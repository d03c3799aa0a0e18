package snapshot

import (
	"os"
	"path/filepath"
	"testing"
)

// real opens one of the real files, or skips where they are not present.
func real(t testing.TB, name string) *Snapshot {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "snapshots", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real snapshots are not here")
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRealFiles(t *testing.T) {
	s := real(t, "cuda_trimmed.pickle")
	d := s.Devices[0]
	t.Log(s.Format, len(s.Devices), len(d.Segments), d.Trace.Len(), s.Warnings, s.NumStacks(), len(s.frames.list), s.Settings)
	s = real(t, "synthetic_inconsistent.pickle")
	d = s.Devices[0]
	t.Log(s.Format, len(s.Devices), len(d.Segments), d.Trace.Len(), s.Warnings, s.NumStacks(), len(s.frames.list), s.Settings, s.Annotations)
}
