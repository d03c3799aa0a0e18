package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/timeline"
)

// PyTorch's rules predict what a real program's allocator did.
func TestPredictsRealTrace(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "snapshots", "cuda_trimmed.pickle")
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real snapshots are not here")
	}
	s, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(timeline.New(s, s.Devices[0]), "pytorch", NewPyTorch(Options{}))
	if r.Addresses != 28 || r.AddressesOf != 28 || r.SegmentsRight != 14 || r.SegmentsRecorded != 14 {
		t.Errorf("predicted %d of %d addresses and %d of %d segments, want 28 and 14", r.Addresses, r.AddressesOf, r.SegmentsRight, r.SegmentsRecorded)
	}
	if r.ReservedPeak != 421_527_552 {
		t.Errorf("reserved %d bytes, the segments sum to 421527552", r.ReservedPeak)
	}
	t.Logf("%+v", Run(timeline.New(s, s.Devices[0]), "exp", NewExpandable(Options{})))
	t.Logf("%+v", Run(timeline.New(s, s.Devices[0]), "ebb", NewEbb(0)))
}
