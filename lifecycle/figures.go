package lifecycle

import (
	"runtime/metrics"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/process"
)

// Figures are what memory a program holds at one moment, in bytes.
type Figures struct {
	Live     int64 `json:"live_bytes"`      // of tensors, as asked for
	Mapped   int64 `json:"mapped_bytes"`    // what Ebb has mapped from the system for them, cache included
	Go       int64 `json:"go_bytes"`        // what Go's runtime holds: heap, stacks and its own tables
	RSSAnon  int64 `json:"rss_anon_bytes"`  // the process's anonymous memory, as the system counts it
	PeakLive int64 `json:"peak_live_bytes"` // the most live bytes so far, or since memory.ResetPeak

	// Elapsed is the time since Start in milliseconds.
	Elapsed float64 `json:"elapsed_ms"`
}

// measure reads all figures but the time. The system's comes last, so that the
// others' own needs are in it. Only the system's can fail. Where the system
// does not tell anonymous memory from the rest (macOS, Windows, some sandboxes),
// RSSAnon is the whole resident set, and split is false.
func measure(rt *ebb.Runtime) (f Figures, split bool, err error) {
	s := rt.Stats()
	f = Figures{Live: s.Live.Current, Mapped: s.Mapped, PeakLive: s.Live.Peak, Go: goBytes()}
	p, err := process.Read()
	f.RSSAnon = p.Anon
	if !p.Split {
		f.RSSAnon = p.RSS
	}
	return f, p.Split, err
}

// goBytes returns what Go's runtime has from the system and has not returned.
// Not all of it need be resident: tables are mapped whole and filled slowly.
func goBytes() int64 {
	s := [...]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s[:])
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
