//go:build invariants

package alloc

const invariants = true
