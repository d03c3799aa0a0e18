//go:build !(amd64 || arm64) || noasm

package reduce

func vectorSets() []*vectors { return nil }
