package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-ml/ebb/internal/process"
)

// On a disk that fills up the old files stay as they were, nothing half-written
// is left beside them, and the error says which file and why.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "32k")
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

// smallDisk returns a folder on a disk of its own, or skips the test.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no small disk to be had: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A cache on a disk that fills up during a download is left empty.
func TestFullDiskOfCache(t *testing.T) {
	s := serveMNIST(gzippedMNIST(t), "good")
	defer s.Close()
	for _, size := range []string{"4m", "20m"} { // the gzipped images do not fit; they do, but not unpacked
		dir := smallDisk(t, size)
		t.Setenv("XDG_CACHE_HOME", dir)
		t.Setenv("EBB_DATASETS_MIRROR", s.URL)
		bin, _, _ := strings.Cut(os.Getenv("PATH"), ":")
		t.Setenv("PATH", bin) // without the go command
		b := startProgram(t, "mnist")
		if got := b.status(); got != 1 {
			t.Errorf("%s: status %d, want 1", size, got)
		}
		if text := b.stderr.String(); !strings.Contains(text, "no space left on device") || strings.Count(text, "\n") > 4 || strings.Contains(text, "goroutine") {
			t.Errorf("%s: stderr %q", size, text)
		}
		if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
			t.Errorf("%s: left %v, %v", size, left, err)
		}
	}
}

// A file that unpacks to far more than the data set has costs no memory.
func TestGzipBomb(t *testing.T) {
	folder := t.TempDir()
	header := []byte{0, 0, 8, 3, 0, 0, 0xea, 0x60, 0, 0, 0, 28, 0, 0, 0, 28}
	bomb := pack(append(header, make([]byte, 64<<20)...))
	if err := os.WriteFile(filepath.Join(folder, "train-images-idx3-ubyte.gz"), bytes.Repeat(bomb, 64), 0o666); err != nil {
		t.Fatal(err)
	}
	b := startProgram(t, "mnist", "--data", folder)
	// Not the usage that the system tells at the end: that begins with the peak of
	// the process that started this one.
	peak := make(chan int64)
	go func() {
		highest := int64(0)
		for f, err := process.ReadPID(b.Process.Pid); err == nil && f.RSS > 0; f, err = process.ReadPID(b.Process.Pid) {
			highest = max(highest, f.Peak)
			time.Sleep(time.Millisecond)
		}
		peak <- highest
	}()
	if got := b.status(); got != 1 {
		t.Errorf("status %d, want 1", got)
	}
	if text := b.stderr.String(); !strings.HasPrefix(text, "ebb: datasets: MNIST: "+folder+"/train-images-idx3-ubyte.gz: ") {
		t.Errorf("stderr %q", text)
	}
	if p := <-peak; p == 0 || p > 150<<20 && !raceEnabled {
		t.Errorf("%d bytes resident at the peak", p)
	}
}
