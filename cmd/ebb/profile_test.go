package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
)

// Both files are what Go's tools read.
func TestProfiles(t *testing.T) {
	folder := t.TempDir()
	cpu, execution := filepath.Join(folder, "cpu"), filepath.Join(folder, "trace")
	p, err := startProfiles(cpu, execution)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("stopping twice: %v", err)
	}
	text, err := os.ReadFile(cpu)
	if err != nil {
		t.Fatal(err)
	}
	got, err := profile.ParseData(text)
	if err != nil {
		t.Fatal(err)
	}
	if unit := got.SampleType[len(got.SampleType)-1]; unit.Type != "cpu" || unit.Unit != "nanoseconds" {
		t.Errorf("samples of %s in %s, want cpu in nanoseconds", unit.Type, unit.Unit)
	}
	text, err = os.ReadFile(execution)
	if err != nil || !bytes.HasPrefix(text, []byte("go 1.")) {
		t.Errorf("trace begins with %.16q, error %v", text, err)
	}
}
