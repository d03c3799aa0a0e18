//go:build !amd64 || noasm

package reduce

func vectorSets() []*vectors { return nil }
