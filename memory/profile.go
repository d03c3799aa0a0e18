package memory

import (
	"io"
	"runtime"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/profile"
)

// WriteProfile writes what is live in rt as a profile in pprof's format: objects
// and bytes (as asked for) by call stack, with the labels kind, owner, module, op
// and dtype. The stack's innermost frame is the user's line, not Ebb's.
//
//	go tool pprof -http : mem.pb.gz              a flame graph
//	go tool pprof -tagroot kind -top mem.pb.gz   the kinds as its roots
//	go tool pprof -diff_base before.pb.gz after.pb.gz
//
// The sample types are inuse_objects and inuse_space. While a history is recorded
// there are also peak_objects and peak_space, what was live at the peak; without
// one that is not known. A comment in the profile says so, or that the peak was
// before the history's oldest event and the figures are of the highest moment
// since.
func WriteProfile(rt *ebb.Runtime, w io.Writer) error {
	live := rt.Holdings()
	peak, when := rt.PeakHoldings()
	types := []profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
	if rt.History().On {
		types = append(types, profile.ValueType{Type: "peak_objects", Unit: "count"}, profile.ValueType{Type: "peak_space", Unit: "bytes"})
	}
	p := profile.New(types, "inuse_space", time.Now().UnixNano())
	if when.Doubt != "" {
		p.Comment("at the peak: " + when.Doubt)
	}
	samples := map[sampleKey]*[4]int64{}
	var order []sampleKey
	add := func(hs []ebb.Holding, at int) {
		for _, h := range hs {
			k := sampleKey{h.Site, h.Kind, h.DType, h.Owner, h.Module, h.Op}
			v := samples[k]
			if v == nil {
				v = new([4]int64)
				samples[k] = v
				order = append(order, k)
			}
			v[at]++
			v[at+1] += h.Bytes
		}
	}
	add(live, 0)
	if len(types) == 4 {
		add(peak, 2)
	}
	for _, k := range order {
		p.Add(frames(k.site), samples[k][:len(types)],
			profile.Label{Key: "kind", Value: k.kind.String()}, profile.Label{Key: "owner", Value: k.owner},
			profile.Label{Key: "module", Value: k.module}, profile.Label{Key: "op", Value: k.op},
			profile.Label{Key: "dtype", Value: k.dtype.String()})
	}
	return p.Write(w)
}

// sampleKey is what the holdings of one sample have in common.
type sampleKey struct {
	site              ebb.Site
	kind              ebb.Kind
	dtype             ebb.DType
	owner, module, op string
}

// frames returns a site's stack from the user's line outwards, or all of it where
// no line is the user's.
func frames(s ebb.Site) []profile.Frame {
	if !s.Known() {
		return []profile.Frame{{Function: "unknown"}}
	}
	var all []profile.Frame
	user, found := s.Frame(), false
	it := runtime.CallersFrames(s.PCs())
	for {
		f, more := it.Next()
		if !found && f.Function == user.Function && f.File == user.File && f.Line == user.Line {
			all, found = all[:0], true // what is inside is Ebb's
		}
		if f.Function != "" {
			all = append(all, profile.Frame{Function: f.Function, File: f.File, Line: int64(f.Line)})
		}
		if !more {
			return all
		}
	}
}
