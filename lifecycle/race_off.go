//go:build !race

package lifecycle

const race = false
