//go:build (amd64 || arm64) && !noasm

package site

// framePCs puts the return addresses of the functions above its caller into
// pcs, innermost first, one for each physical frame, and returns their number.
//
// It follows the frame pointers: a frame pointer's word is the next one, nil at
// the outermost, and the word above it is the function's return address. It is
// in assembly because there the stack cannot move while it is read.
//
//go:noescape
func framePCs(pcs *[maxDepth]uintptr) int
