//go:build !race

package ebb_test

const raceDetector = false
