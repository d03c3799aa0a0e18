//go:build unix

package ebb_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
)

func TestHistoryOnSignal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mem.pickle")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), historyProgram+"=signal", "EBB_MEMORY_HISTORY="+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		skipEmulated(t, err)
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if data, err := os.ReadFile(file); err == nil {
			for _, fault := range snapshottest.Check(data) {
				t.Error(fault)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal("no file after the signal")
		}
	}
}
