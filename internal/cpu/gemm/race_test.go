//go:build race

package gemm

// raceDetector: memory accesses are some twenty times slower.
const raceDetector = true
