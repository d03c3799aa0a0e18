package ebb

import "github.com/ebb-ml/ebb/internal/process"

// LimitFromCgroup sets [Limit] to a fraction, above 0 and at most 1, of the
// memory limit of the process's control group. Without a control group limit
// there is none. Another fraction is an [ErrValue] panic.
func LimitFromCgroup(fraction float64) RuntimeOption {
	if !(fraction > 0 && fraction <= 1) {
		throw(ErrValue, "LimitFromCgroup", nil, "fraction %v, expected above 0 and at most 1", fraction)
	}
	return func(co *core) {
		if n, ok, err := process.CgroupLimit(); err == nil && ok {
			Limit(int64(fraction * float64(n)))(co)
		}
	}
}
