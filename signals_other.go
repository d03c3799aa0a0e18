//go:build !unix

package ebb

import "os"

// dumpSignals are the signals on which a history is written.
func dumpSignals() []os.Signal { return nil }
