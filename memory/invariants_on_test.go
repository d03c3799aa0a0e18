//go:build invariants

package memory_test

const invariants = true
