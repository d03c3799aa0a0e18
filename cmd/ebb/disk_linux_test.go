package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// On a disk that fills up the old files stay as they were, nothing half-written
// is left beside them, and the error says which file and why.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32k"); err != nil {
		t.Skipf("no small disk to be had: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	report := filepath.Join(dir, "r.json")
	if err := os.WriteFile(report, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 512))
	}
	filler.Close()

	b := start(t, "--report", report)
	if got := b.status(); got != 1 {
		t.Errorf("status %d, want 1", got)
	}
	if want := "ebb: cannot write " + report + ": no space left on device\n"; b.stderr.String() != want {
		t.Errorf("stderr %q, want %q", &b.stderr, want)
	}
	if !strings.Contains(b.stdout.String(), "freed: live 0, mapped 0") {
		t.Errorf("stdout %s", &b.stdout)
	}
	if got, err := os.ReadFile(report); err != nil || !bytes.Equal(got, []byte("old")) {
		t.Errorf("the old report is %q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); len(left) != 2 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}
