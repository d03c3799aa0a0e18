//go:build invariants && !race && unix

package alloc

import "golang.org/x/sys/unix"

// protect makes pages untouchable, or usable again.
func protect(pages []byte, on bool) error {
	if on {
		return unix.Mprotect(pages, unix.PROT_NONE)
	}
	return unix.Mprotect(pages, mapProt)
}
