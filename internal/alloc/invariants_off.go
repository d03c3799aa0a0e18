//go:build !invariants

package alloc

const invariants = false
