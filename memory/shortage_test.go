package memory_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/snapshot"
	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
	"github.com/ebb-ml/ebb/memory"
	"github.com/google/pprof/profile"
)

func TestDumpOnOutOfMemory(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "oom")
	shortage := func(prefix string) *ebb.Error {
		rt := ebb.NewRuntime(ebb.Limit(1<<20), memory.DumpOnOutOfMemory(prefix))
		defer rt.Close()
		memory.RecordHistory(rt, 0)
		err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
			ebb.Ones(s, ebb.Shape{1000}, ebb.Input)
			ebb.Ones(s, ebb.Shape{1 << 20})
			return nil
		})
		var e *ebb.Error
		if !errors.As(err, &e) || e.Memory == nil {
			t.Fatal(err)
		}
		return e
	}
	e := shortage(prefix)
	if !strings.Contains(e.Error(), "written: "+prefix+".pickle, "+prefix+".pb.gz") {
		t.Error(e)
	}
	data, err := os.ReadFile(prefix + ".pickle")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range snapshottest.Check(data) {
		t.Error(fault)
	}
	s, err := snapshot.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, e := range s.Device(0).Trace.All() {
		if s.Action(e.Class) == snapshot.OutOfMemory && e.Size == 4<<20 {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d failed requests in the snapshot", failed)
	}
	data, err = os.ReadFile(prefix + ".pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if n := sum(p, "inuse_space", "kind", "input"); n != 4000 {
		t.Errorf("%d bytes of input in the profile", n)
	}

	e = shortage(filepath.Join(prefix, "none", "oom"))
	if len(e.Memory.Files) != 0 || !strings.Contains(e.Error(), "could not be written") {
		t.Error(e)
	}
}
