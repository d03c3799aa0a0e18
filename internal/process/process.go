// Package process reads what the operating system says about a process: the
// memory it holds, how much it may hold, and how many descriptors it has open.
//
// Ebb's proof that memory is gone rests on these figures, because nothing in the
// process makes them up. On Linux they come from /proc, split by what backs the
// pages:
//
//	RSS = Anon + File + Shmem
//
// Tensors, the Go heap and stacks are in Anon. The program itself, its libraries
// and mapped files are in File until written to. Elsewhere the system knows no
// such split without stopping the process, and only RSS is read.
//
// [Read] costs a few microseconds and allocates next to nothing, so that reading
// does not change what is read.
package process

import "fmt"

// Figures is the memory of a process, in bytes.
type Figures struct {
	// RSS is the resident set size: the memory in use now. On Windows it is the
	// working set.
	RSS int64

	// Split reports whether the fields below are known. They are on Linux, but not
	// in sandboxes that imitate it (gVisor), and nowhere else.
	Split bool

	Anon  int64 // of RSS: anonymous memory, backed by nothing but swap
	File  int64 // of RSS: pages of mapped files
	Shmem int64 // of RSS: shared memory, tmpfs included
	Swap  int64 // not in RSS: anonymous memory that has been swapped out
	Peak  int64 // the highest RSS so far
}

// Read returns the figures of this process.
func Read() (Figures, error) { return read(self) }

// ReadPID returns the figures of another process. The error wraps
// [io/fs.ErrNotExist] on Linux if there is none.
func ReadPID(pid int) (Figures, error) { return read(pid) }

// self stands for the calling process.
const self = 0

// CgroupLimit returns the memory in bytes that the control groups of this
// process grant it: the lowest limit from its own group up to the outermost that
// it can see, of version 2 (memory.max) or 1 (memory.limit_in_bytes). Without a
// limit ok is false, as it always is on other systems than Linux.
func CgroupLimit() (bytes int64, ok bool, err error) { return cgroupLimit("/") }

// Descriptors returns how many files, sockets and pipes this process has open, or
// handles on Windows. What it opens to count is not among them.
func Descriptors() (int, error) { return descriptors() }

// A FormatError is the error for a file of the system's whose content is not what
// the system documents.
type FormatError struct {
	Path  string
	Field string // the line or value at fault
	Text  string // what stands there; empty if it is missing
}

// Error says which file and what in it.
func (e *FormatError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("process: %s has no %s", e.Path, e.Field)
	}
	return fmt.Sprintf("process: %s: %s is %q", e.Path, e.Field, e.Text)
}
