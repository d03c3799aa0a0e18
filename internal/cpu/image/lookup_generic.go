//go:build !amd64 || noasm

package image

func lookups() []lookupKernel { return nil }
