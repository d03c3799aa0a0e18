//go:build !invariants

package data_test

const invariants = false
