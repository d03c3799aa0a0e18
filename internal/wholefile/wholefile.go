// Package wholefile writes files whole or not at all.
package wholefile

import (
	"io"
	"os"
	"path/filepath"
)

// Write writes a file with what content writes. It appears under its name, with
// mode 0600, when all of it is there; on an error nothing has changed.
func Write(name string, content func(w io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err = content(f); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
