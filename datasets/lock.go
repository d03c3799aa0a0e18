package datasets

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lock is a file that one process at a time has locked. The system unlocks it
// when the process ends, however it ends.
type lock struct {
	path string
	file *os.File
}

// acquire locks the file at path, whose folder it makes. While another process
// has it, it waits and calls waiting now and then.
func acquire(ctx context.Context, path string, waiting func()) (*lock, error) {
	for wait := 0; ; wait++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := try(path)
		if l != nil || err != nil {
			return l, err
		}
		if wait%10 == 0 {
			waiting()
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// try locks the file at path, or returns nil if another process has it.
func try(path string) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if errors.Is(err, fs.ErrNotExist) { // its folder went just now
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if ok, err := lockFile(f); !ok {
		return nil, errors.Join(err, f.Close())
	}
	// The file may have been removed by who had it before.
	mine, err := f.Stat()
	if err == nil {
		now, e := os.Stat(path)
		if e == nil && os.SameFile(mine, now) {
			return &lock{path, f}, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// release unlocks and removes the file.
func (l *lock) release() {
	_ = os.Remove(l.path) // fails on windows until it is closed
	_ = l.file.Close()
	if removeLater {
		_ = os.Remove(l.path)
	}
}
