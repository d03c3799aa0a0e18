package wholefile_test

import (
	"errors"
	"io"
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
	if err := wholefile.Write(filepath.Join(dir, "none", "file"), text("", nil)); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
