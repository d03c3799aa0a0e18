package wholefile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ebb-ml/ebb/internal/wholefile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, _ = io.WriteString(w, s)
			return err
		}
	}
	if err := wholefile.Write(name, text("first", nil)); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	if err := wholefile.Write(name, text("second", full)); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(name); string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	if err := wholefile.Write(name, text("third", nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); string(got) != "third" {
		t.Errorf("%q, %v", got, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// A link stays, and so does a device: what it leads to is written.
func TestWriteThroughLinks(t *testing.T) {
	dir := t.TempDir()
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	old, link := filepath.Join(dir, "old"), filepath.Join(dir, "link")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(old, link); err != nil {
		t.Skip(err)
	}
	if err := wholefile.Write(link, text); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(old); string(got) != "text" {
		t.Errorf("the link leads to %q, %v", got, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	null := filepath.Join(dir, "null")
	if err := os.Symlink(os.DevNull, null); err != nil {
		t.Skip(err)
	}
	if err := wholefile.Write(null, text); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(null); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device is %v, %v", info, err)
	}
}

// An error says which file was asked for, and the cause, and no other name.
func TestErrorNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none", "file")
	err := wholefile.Write(name, func(io.Writer) error { return nil })
	var path *fs.PathError
	if !errors.As(err, &path) || path.Path != name || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
