//go:build !amd64 || noasm

package index

func vectorSets() []*vectors { return nil }
