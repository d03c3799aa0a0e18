package main

import "syscall"

// cpuSeconds returns the processor time that this process has used.
func cpuSeconds() float64 {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	ticks := func(f syscall.Filetime) int64 { return int64(f.HighDateTime)<<32 + int64(f.LowDateTime) }
	return float64(ticks(kernel)+ticks(user)) / 1e7 // in units of 100 ns
}
