package ebb

import "github.com/ebb-ml/ebb/internal/cpu"

// SetNumThreads sets how many threads kernels use in all, 1 or more; the
// default is GOMAXPROCS. Results do not depend on it. It is
// torch.set_num_threads.
func SetNumThreads(n int) {
	if n < 1 {
		throw(ErrValue, "set_num_threads", nil, "%d threads, expected 1 or more", n)
	}
	cpu.SetNumThreads(n)
}

// NumThreads returns how many threads kernels use.
func NumThreads() int { return cpu.NumThreads() }

// CPULevel returns the level of kernels in use, "generic", "avx2", "avx512" or
// "neon": the processor's best, or what the environment variable EBB_CPU asks
// for. If it asks for an unknown level, or one the processor lacks, that is an
// ErrValue error, and "generic" is in use.
func CPULevel() (string, error) {
	l, err := cpu.Level()
	if err != nil {
		return l.String(), &Error{Kind: ErrValue, Op: "EBB_CPU", Given: err.Error(), Advice: "unset EBB_CPU for the processor's best"}
	}
	return l.String(), nil
}
