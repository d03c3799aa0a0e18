//go:build unix

package ebb

import (
	"os"
	"syscall"
)

// dumpSignals are the signals on which a history is written.
func dumpSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1} }
