//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ebb-ml/ebb/lifecycle"
)

// background is ebb as a process of its own.
type background struct {
	*exec.Cmd
	stdout, stderr output
}

// output is what a process has printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start runs ebb train linear with more flags.
func start(t *testing.T, args ...string) *background {
	t.Helper()
	return startProgram(t, "linear", args...)
}

// startProgram runs ebb train with flags.
func startProgram(t *testing.T, program string, args ...string) *background {
	t.Helper()
	b := &background{Cmd: exec.Command("ebb", append([]string{"train", program}, args...)...)}
	b.Stdout, b.Stderr = &b.stdout, &b.stderr
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Process.Kill() })
	return b
}

// status waits for the end.
func (b *background) status() int {
	_ = b.Wait()
	return b.ProcessState.ExitCode()
}

// follow reads lines of a file as it grows, until there are n.
func follow(t *testing.T, path string, n int) []string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(path)
		if lines := strings.SplitAfter(string(text), "\n"); len(lines) > n {
			return lines[:n]
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no %d lines", path, n)
		}
	}
}

// A signal ends the step, then memory is freed and reported. The metrics can be
// followed meanwhile: each line is whole as soon as it is there.
func TestSignal(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		status int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			lines, report := filepath.Join(dir, "m.jsonl"), filepath.Join(dir, "r.json")
			b := start(t, "--epochs", "1000000000", "--metrics", lines, "--report", report)
			for i, line := range follow(t, lines, 200) {
				var m struct{ Step int }
				if err := json.Unmarshal([]byte(line), &m); err != nil || m.Step != i {
					t.Fatalf("line %d: %q, %v", i, line, err)
				}
			}
			if err := b.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if got := b.status(); got != c.status {
				t.Errorf("status %d, want %d\n%s", got, c.status, &b.stderr)
			}
			if b.stderr.String() != "" {
				t.Errorf("stderr: %s", &b.stderr)
			}
			if !strings.Contains(b.stdout.String(), "freed: live 0, mapped 0") {
				t.Errorf("stdout: %s", &b.stdout)
			}
			text, err := os.ReadFile(report)
			if err != nil {
				t.Fatal(err)
			}
			var r lifecycle.Report
			if err := json.Unmarshal(text, &r); err != nil || !r.Freed || len(r.States) != 6 {
				t.Errorf("report %s, %v", text, err)
			}
			all, err := os.ReadFile(lines)
			if err != nil || !strings.HasSuffix(string(all), "}\n") {
				t.Errorf("metrics end in %q, %v", all[max(len(all)-60, 0):], err)
			}
			if left, err := os.ReadDir(dir); len(left) != 2 || err != nil {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// An interrupt may come at any moment: while the data is read, between two steps,
// during an evaluation, or while memory is freed. It ends within five seconds,
// and memory is freed.
func TestInterruptAtAnyMoment(t *testing.T) {
	folder := unpackedMNIST(t)
	moments := []time.Duration{5, 20, 40, 80, 160, 320, 640, 1000, 1300}
	if testing.Short() {
		moments = []time.Duration{20, 200}
	}
	for _, moment := range moments {
		report := filepath.Join(t.TempDir(), "r.json")
		b := startProgram(t, "mnist", "--data", folder, "--workers", "2", "--report", report)
		time.Sleep(moment * time.Millisecond)
		interrupted(t, b, report)
	}
}

// interrupted interrupts the process and checks how it ends.
func interrupted(t *testing.T, b *background, report string) {
	t.Helper()
	begin := time.Now()
	if err := b.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	hurry := time.AfterFunc(20*time.Second, func() { _ = b.Process.Kill() })
	defer hurry.Stop()
	switch got := b.status(); got {
	case 130:
		text, err := os.ReadFile(report)
		if err != nil || !bytes.Contains(text, []byte(`"freed":true`)) {
			t.Errorf("report %s, %v", text, err)
		}
		if !strings.Contains(b.stdout.String(), "freed: live 0, mapped 0") {
			t.Errorf("stdout: %s", &b.stdout)
		}
	case 0: // it had just ended
	case -1: // before it listened to signals, or not within the time
		if time.Since(begin) > 5*time.Second {
			t.Error("it did not end")
		}
	default:
		t.Errorf("status %d, want 130", got)
	}
	if b.stderr.String() != "" {
		t.Errorf("stderr: %s", &b.stderr)
	}
}

// A download from a server that stalls can be interrupted, and goes on from where
// it was the next time.
func TestInterruptedDownload(t *testing.T) {
	s := serveMNIST(gzippedMNIST(t), "stall")
	defer s.Close()
	cache, report := t.TempDir(), filepath.Join(t.TempDir(), "r.json")
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("EBB_DATASETS_MIRROR", s.URL)
	path := os.Getenv("PATH")
	bin, _, _ := strings.Cut(path, ":")
	t.Setenv("PATH", bin) // without the go command
	b := startProgram(t, "mnist", "--report", report)
	part := filepath.Join(cache, "ebb/MNIST/raw/train-images-idx3-ubyte.part")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(part); err == nil && info.Size() == 9912422/3 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing arrived")
		}
	}
	interrupted(t, b, report)
	if info, err := os.Stat(part); err != nil || info.Size() != 9912422/3 {
		t.Errorf("what had arrived is gone: %v", err)
	}
}

// A second signal stops at once, whatever the process waits for: here for the
// reader of a pipe.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	lines, pipe := filepath.Join(dir, "m.jsonl"), filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	b := start(t, "--epochs", "1000000000", "--metrics", lines, "--report", pipe)
	follow(t, lines, 10)
	if err := b.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() { done <- b.status() }()
	select {
	case got := <-done:
		t.Fatalf("ended with %d, though nobody reads the report", got)
	case <-time.After(200 * time.Millisecond):
	}
	if err := b.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-done:
		if got != 143 {
			t.Errorf("status %d, want 143", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("goes on after the second signal")
	}
}

// A reader that goes away is an error like a full disk, and memory is freed.
func TestBrokenPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, report := filepath.Join(dir, "pipe"), filepath.Join(dir, "r.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	b := start(t, "--epochs", "1000000000", "--metrics", pipe, "--report", report)
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(f).ReadString('\n'); err != nil {
		t.Error(err)
	}
	f.Close()
	if got := b.status(); got != 1 {
		t.Errorf("status %d, want 1", got)
	}
	if want := "ebb: cannot write " + pipe + ": broken pipe\n"; b.stderr.String() != want {
		t.Errorf("stderr %q, want %q", &b.stderr, want)
	}
	if text, err := os.ReadFile(report); err != nil || !bytes.Contains(text, []byte(`"freed":true`)) {
		t.Errorf("report %s, %v", text, err)
	}
}
