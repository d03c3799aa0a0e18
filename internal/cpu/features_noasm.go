//go:build !(amd64 || arm64) || noasm

package cpu

// haveAssembly says whether this build has assembly kernels.
const haveAssembly = false

func pause() {}
