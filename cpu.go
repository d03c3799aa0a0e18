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
// ErrValue error, of CPULevel and of every store and scope that is opened under a
// runtime.
func CPULevel() (string, error) {
	l, _ := cpu.Level()
	if e := levelError(); e != nil {
		return l.String(), e
	}
	return l.String(), nil
}

// levelError returns the error of an EBB_CPU that cannot be had, or nil.
func levelError() *Error {
	if _, err := cpu.Level(); err != nil {
		return &Error{Kind: ErrValue, Op: "processor level", Given: err.Error(), Advice: "unset EBB_CPU for the processor's best"}
	}
	return nil
}
