//go:build unix

package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// sweep removes the sockets that processes left which ended without Close.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".sock")
		name, _, _ = strings.Cut(name, "-")
		if pid, err := strconv.Atoi(name); ok && err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// private checks that a folder is the user's and closed to others: one in a folder
// for all could have been made by somebody else.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("memory: %s is no folder", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("memory: %s has mode %o, expected 700: others could reach the sockets in it", dir, info.Mode().Perm())
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Getuid() {
		return fmt.Errorf("memory: %s belongs to user %d", dir, s.Uid)
	}
	return nil
}
