//go:build (amd64 || arm64) && !noasm

package cpu

// haveAssembly says whether this build has assembly kernels.
const haveAssembly = true

// pause tells the processor that the caller waits in a loop, so that it leaves
// more to a thread that shares its core.
//
//go:noescape
func pause()
