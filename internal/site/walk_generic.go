//go:build !(amd64 || arm64) || noasm

package site

import "runtime"

// framePCs puts the return addresses of the functions above its caller into
// pcs, innermost first, and returns their number.
func framePCs(pcs *[maxDepth]uintptr) int {
	return runtime.Callers(3, pcs[:])
}
