//go:build !invariants || race

package alloc

const guards = false

func protect([]byte, bool) error { return nil }
