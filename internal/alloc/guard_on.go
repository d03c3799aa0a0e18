//go:build invariants && !race

package alloc

const guards = true
