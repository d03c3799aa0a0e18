package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestMain lets the test binary be the command itself, so that its exit status
// can be seen.
func TestMain(m *testing.M) {
	if os.Getenv("EBB_RUN_LEAK") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestLeak(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "EBB_RUN_LEAK=1")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if c.ProcessState.ExitCode() != 3 {
		t.Errorf("status %d (%v), want 3", c.ProcessState.ExitCode(), err)
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(source), "x := ebb.Randn")
	line := "leak/main.go:" + strconv.Itoa(strings.Count(before, "\n")+1)
	for _, want := range []string{"1 survivor of 256.00 KiB", "activation float32[256, 256], 256.00 KiB, in history", "made at " + line} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, &stderr)
		}
	}
	if !strings.Contains(string(out), "kept: [256 256]") {
		t.Errorf("stdout %q", out)
	}
	if strings.Contains(stderr.String(), "goroutine") || strings.Count(stderr.String(), "\n") > 5 {
		t.Errorf("more than a few lines:\n%s", &stderr)
	}
}
