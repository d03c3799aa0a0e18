package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-ml/ebb/internal/process"
	"github.com/ebb-ml/ebb/lifecycle"
)

// After mnist the figures are as another process sees them.
func TestSecondProcessAgreesOnMNIST(t *testing.T) {
	folder, steps := unpackedMNIST(t), "1876"
	if testing.Short() {
		steps = "300"
	}
	secondProcess(t, func(report string) *background {
		return startProgram(t, "mnist", "--data", folder, "--steps", steps, "--report", report)
	})
}

// The figures in the report are the operating system's: another process that
// looks at the one that trained sees the same. It can look for as long as the
// training waits for a reader of its report.
func TestSecondProcessAgrees(t *testing.T) {
	secondProcess(t, func(report string) *background { return start(t, "--report", report) })
}

func secondProcess(t *testing.T, begin func(report string) *background) {
	if raceEnabled {
		t.Skip("the race detector's memory moves on its own")
	}
	if f, err := process.Read(); err != nil || !f.Split {
		t.Skip("the system does not tell anonymous memory")
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	b := begin(pipe)
	// It has come to the report when it has printed the same, and been at rest for
	// a while.
	end := time.Now().Add(time.Minute)
	for !strings.Contains(b.stdout.String(), "\nfreed: ") {
		if time.Sleep(10 * time.Millisecond); time.Now().After(end) {
			t.Fatalf("not freed:\n%s%s", b.stdout.String(), b.stderr.String())
		}
	}
	var seen process.Figures
	for still := 0; still < 10; time.Sleep(10 * time.Millisecond) {
		f, err := process.ReadPID(b.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if f == seen {
			still++
		} else {
			seen, still = f, 0
		}
		if time.Now().After(end) {
			t.Fatal("never at rest")
		}
	}
	text, err := os.ReadFile(pipe)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.status(); got != 0 {
		t.Fatalf("status %d\n%s", got, &b.stderr)
	}
	var r lifecycle.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if last := r.States[len(r.States)-1]; !r.Freed || last.Live != 0 || last.Mapped != 0 {
		t.Errorf("not freed: %+v", last)
	}
	if r.Program == "mnist" && r.States[lifecycle.DataPrepared].Live < 47_040_000 {
		t.Errorf("live %d at DataPrepared: the images are not in the ledger", r.States[lifecycle.DataPrepared].Live)
	}
	first, last := r.States[0], r.States[len(r.States)-1]
	if d := seen.Anon - last.RSSAnon; d < -512<<10 || d > 512<<10 {
		t.Errorf("RssAnon %d at MemoryFreed, another process read %d", last.RSSAnon, seen.Anon)
	}
	if first.RSSAnon > 8<<20 {
		t.Errorf("RssAnon %d at InitialState", first.RSSAnon)
	}
	t.Logf("RssAnon %d at InitialState, %d more at MemoryFreed", first.RSSAnon, last.RSSAnon-first.RSSAnon)
	if d := last.RSSAnon - first.RSSAnon; d > 2<<20 && !invariantsEnabled { // guard pages have tables of their own
		t.Errorf("RssAnon ends %d above InitialState", d)
	}
}
