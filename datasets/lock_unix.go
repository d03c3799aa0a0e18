//go:build !windows

package datasets

import (
	"os"

	"golang.org/x/sys/unix"
)

// removeLater: an open file can be removed.
const removeLater = false

// lockFile locks f and reports whether it could.
func lockFile(f *os.File) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return false, nil
		default:
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}
