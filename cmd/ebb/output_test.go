package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	for _, content := range []string{"first", "second, longer", ""} {
		if err := probe(path); err != nil {
			t.Fatal(err)
		}
		if err := write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("read %q, %v, want %q", got, err, content)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// When the new file cannot take the old one's place, the old one stays as it was
// and the new one goes.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	temporary, err := createTemporary(path)
	if err != nil {
		t.Fatal(err)
	}
	temporary.Close()
	if err := renameTemporary(path); err == nil {
		t.Error("a folder was replaced")
	}
	removeTemporary()
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	err = write(filepath.Join(dir, "none", "r.json"), []byte("x"))
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), ".new") {
		t.Errorf("got %v", err)
	}
}

func TestUnwritableFolder(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("the administrator writes everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "r.json")
	if err := probe(path); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
