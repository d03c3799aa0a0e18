//go:build invariants

package main

const invariantsEnabled = true
