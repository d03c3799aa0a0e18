// Package memory shows where a runtime's memory is and gives it back, as
// torch.cuda.memory does for a device:
//
//   - [Stats] and [ResetPeak] for numbers, [Summary] for a table of them,
//   - [EmptyCache] and [Collect] to return what is not in use,
//   - [Explain] for the whole process: what its resident memory is made of,
//   - [Survivors] for what is live by line, and [Growth] for what a step that is
//     run again and again leaves behind,
//   - [RecordHistory], [DumpSnapshot] and [WriteProfile] for every allocation with
//     its call stack, for ebb mem, PyTorch's viewer and go tool pprof,
//   - [DumpOnOutOfMemory] for both at the moment when memory runs out,
//   - [Handler], [Listen] and [Var] for a program that is watched while it runs;
//     package prommetrics has a Prometheus collector.
//
// The environment does the same for a program that nobody changed:
// EBB_MEMORY_HISTORY=FILE records the history and writes a snapshot when the
// runtime is closed and on the signal USR1, EBB_MEMORY=listen opens the socket that
// ebb mem watch asks.
//
// Units are binary everywhere: 1 MiB is 2^20 bytes and 1 GiB is 2^30.
package memory

import (
	"runtime/debug"

	"github.com/ebb-ml/ebb"
)

// Stats returns the account of rt's memory now: live bytes (current, peak, total
// allocated and freed), in all and by kind, and what is mapped and cached. It is
// torch.cuda.memory_stats.
func Stats(rt *ebb.Runtime) ebb.Stats { return rt.Stats() }

// ResetPeak sets every peak to what is live and mapped now. It is
// torch.cuda.reset_peak_memory_stats.
func ResetPeak(rt *ebb.Runtime) { rt.ResetPeak() }

// EmptyCache gives rt's cached memory back to the system and returns how many
// bytes: free segments are unmapped, and free pages inside segments still in use
// are returned (they stay mapped, without memory). Tensors keep their memory. It
// is torch.cuda.empty_cache.
func EmptyCache(rt *ebb.Runtime) int64 { return rt.EmptyCache() }

// Collect collects Go's garbage, which also finds stores and scopes that were
// forgotten (their memory is reclaimed as soon as their cleanup has run), and
// returns unused memory to the system: Go's and rt's cache. It returns how many
// bytes the cache gave back. It is Python's gc.collect followed by
// torch.cuda.empty_cache. A training loop has no need of it.
func Collect(rt *ebb.Runtime) int64 {
	debug.FreeOSMemory() // collects first
	return rt.EmptyCache()
}
