package cpu

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/cpu"
)

// SIMD is a processor level: which instructions kernels use. For a given
// level results have the same bits on every machine.
type SIMD uint8

// The processor levels. Each kernel uses the level's own version or, where it
// has none, the Go version.
const (
	Generic SIMD = iota // Go, on every processor
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, BW, DQ and VL
	NEON                // arm64
)

var simdNames = [...]string{"generic", "avx2", "avx512", "neon"}

// String returns the level's name as EBB_CPU spells it.
func (s SIMD) String() string { return simdNames[s] }

// LevelError says that the environment variable EBB_CPU names a processor
// level that does not exist or that this processor or build cannot run.
type LevelError struct {
	Value     string // of EBB_CPU
	Known     bool   // it is a level's name
	Supported []SIMD // the levels that would do
}

func (e *LevelError) Error() string {
	if !e.Known {
		return fmt.Sprintf("EBB_CPU=%q is not a processor level: use one of %v", e.Value, e.Supported)
	}
	return fmt.Sprintf("EBB_CPU=%s: this processor or build does not support it: use one of %v", e.Value, e.Supported)
}

var level, levelErr = chooseLevel(os.Getenv("EBB_CPU"), supportedLevels())

// Level returns the processor level that kernels use: the best one, or the
// one that the environment variable EBB_CPU names (generic, avx2, avx512,
// neon) when the program starts. If it cannot be had, Level returns Generic
// and a *LevelError. A build with tag noasm has Generic only.
func Level() (SIMD, error) { return level, levelErr }

// Best returns the last of the sets of kernels, which are in the order of their
// levels, that Level allows, or the zero set. An EBB_CPU that cannot be had is
// reported when a runtime's first store or scope is opened.
func Best[S any](sets []S, levelOf func(S) SIMD) (best S) {
	for _, s := range sets {
		if levelOf(s) <= level {
			best = s
		}
	}
	return best
}

// supportedLevels lists what this processor and build can run, worst first.
func supportedLevels() []SIMD {
	levels := []SIMD{Generic}
	if !haveAssembly {
		return levels
	}
	if runtime.GOARCH == "arm64" { // NEON is part of the base architecture
		return append(levels, NEON)
	}
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA {
		levels = append(levels, AVX2)
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
			levels = append(levels, AVX512)
		}
	}
	return levels
}

func chooseLevel(name string, supported []SIMD) (SIMD, error) {
	if name == "" {
		return supported[len(supported)-1], nil
	}
	for _, s := range supported {
		if s.String() == name {
			return s, nil
		}
	}
	err := &LevelError{Value: name, Supported: supported}
	for _, known := range simdNames {
		err.Known = err.Known || known == name
	}
	return Generic, err
}
