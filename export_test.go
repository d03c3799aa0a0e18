package ebb

import "time"

// SetCloseTimeout changes how long Close waits, until the function returned is
// called.
func SetCloseTimeout(d time.Duration) (restore func()) {
	old := closeTimeout
	closeTimeout = d
	return func() { closeTimeout = old }
}
