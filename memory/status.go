package memory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/process"
)

// Status is a runtime's memory in figures, for programs that watch: what
// [Handler] serves as status.json and [Var] publishes. Bytes are as asked for in
// Live and Kinds, as mapped elsewhere.
type Status struct {
	Time    time.Time `json:"time"`
	PID     int       `json:"pid"`
	Program string    `json:"program"`

	Live        int64        `json:"live_bytes"`
	Peak        int64        `json:"peak_bytes"`
	Allocated   int64        `json:"allocated_bytes"` // all that was ever allocated
	Count       int64        `json:"live_count"`
	Kinds       []KindStatus `json:"kinds"` // those that have ever been
	Mapped      int64        `json:"mapped_bytes"`
	MappedPeak  int64        `json:"mapped_peak_bytes"`
	Cached      int64        `json:"cached_bytes"`
	LargestHole int64        `json:"largest_hole_bytes"`
	Limit       int64        `json:"limit_bytes"` // 0: none
	Segments    int64        `json:"segments"`
	Retries     int64        `json:"retries"`       // times the cache was emptied for a request
	OutOfMemory int64        `json:"out_of_memory"` // requests that failed

	Owners  int `json:"owners"` // open stores and scopes
	Tensors int `json:"tensors"`
	Nodes   int `json:"graph_nodes"`
	Leases  int `json:"running_operations"`

	RSS  int64 `json:"rss_bytes"`      // the process's, as the system counts; 0 if it does not tell
	Anon int64 `json:"rss_anon_bytes"` // of RSS; 0 if the system does not tell

	History HistoryStatus `json:"history"`
}

// KindStatus is the memory of one kind.
type KindStatus struct {
	Kind  string `json:"kind"`
	Live  int64  `json:"live_bytes"`
	Peak  int64  `json:"peak_bytes"`
	Count int64  `json:"live_count"`
}

// HistoryStatus says what is recorded.
type HistoryStatus struct {
	On      bool      `json:"on"`
	Since   time.Time `json:"since,omitzero"`
	Events  int       `json:"events"`
	Max     int       `json:"max_events"`
	Dropped int64     `json:"dropped_events"`
}

// ReadStatus returns the figures of rt now.
func ReadStatus(rt *ebb.Runtime) Status {
	m, h := rt.Stats(), rt.History()
	s := Status{Time: time.Now(), PID: os.Getpid(), Program: filepath.Base(os.Args[0]),
		Live: m.Live.Current, Peak: m.Live.Peak, Allocated: m.Live.Allocated, Count: m.Live.Count, Kinds: []KindStatus{},
		Mapped: m.Mapped, MappedPeak: m.MappedPeak, Cached: m.Cached, LargestHole: m.LargestHole, Limit: m.Limit,
		Segments: m.Segments, Retries: m.Retries, OutOfMemory: m.OutOfMemory,
		Owners: m.Owners, Tensors: m.Tensors, Nodes: m.Nodes, Leases: m.Leases,
		History: HistoryStatus{h.On, h.Since, h.Events, h.Max, h.Dropped}}
	for _, k := range ebb.Kinds {
		if l := m.ByKind[k]; l.Allocated > 0 || l.Current > 0 {
			s.Kinds = append(s.Kinds, KindStatus{k.String(), l.Current, l.Peak, l.Count})
		}
	}
	if p, err := process.Read(); err == nil {
		s.RSS, s.Anon = p.RSS, p.Anon
	}
	return s
}

// Variable is a runtime's figures as a variable of package expvar, which this
// package does not import because it would serve /debug/vars.
type Variable struct{ rt *ebb.Runtime }

// Var returns rt's figures for expvar:
//
//	expvar.Publish("ebb", memory.Var(rt))
func Var(rt *ebb.Runtime) Variable { return Variable{rt} }

// String returns the [Status] now as JSON, as expvar wants.
func (v Variable) String() string {
	text, err := json.Marshal(ReadStatus(v.rt))
	if err != nil {
		return "null"
	}
	return string(text)
}
