//go:build !unix

package memory

// private checks that a folder is closed to others. On Windows the folder for
// temporary files is the user's own.
func private(string) error { return nil }

// sweep would remove the sockets of processes that have ended.
func sweep(string) {}
