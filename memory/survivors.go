package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ebb-ml/ebb"
)

// Survivor is live memory of one kind and shape that one line made and one owner
// keeps.
type Survivor struct {
	Kind   ebb.Kind
	DType  ebb.DType
	Shape  []int
	Owner  string // path of the store or scope; "graph" if only a saved tensor, "lease" if only a running operation
	Module string
	Op     string
	Site   ebb.Site // the line, and with PCs the stack
	Count  int
	Bytes  int64         // of all together
	Oldest time.Duration // the age of the first
	Newest time.Duration // the age of the last
}

// String describes the survivor in one line.
func (s Survivor) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %d x %s %s%v in %s", ebb.FormatBytes(s.Bytes), s.Count, s.Kind, s.DType, s.Shape, s.Owner)
	if s.Module != "" {
		fmt.Fprintf(&b, ", %s", s.Module)
	}
	fmt.Fprintf(&b, ", %s old, made at %s", age(s.Oldest), s.Site)
	return b.String()
}

// age rounds a duration to what is worth reading.
func age(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d
}

// Survivors lists what is live in rt, the most bytes first. At a moment when
// nothing should be, it is the list of leaks.
func Survivors(rt *ebb.Runtime) []Survivor { return survivors(rt.Holdings()) }

func survivors(hs []ebb.Holding) []Survivor {
	type key struct {
		kind              ebb.Kind
		dtype             ebb.DType
		shape             string
		owner, module, op string
		site              ebb.Site
	}
	at := map[key]int{}
	var list []Survivor
	for _, h := range hs {
		k := key{h.Kind, h.DType, fmt.Sprint(h.Shape), h.Owner, h.Module, h.Op, h.Site}
		i, ok := at[k]
		if !ok {
			i = len(list)
			at[k] = i
			list = append(list, Survivor{Kind: h.Kind, DType: h.DType, Shape: h.Shape, Owner: h.Owner, Module: h.Module, Op: h.Op,
				Site: h.Site, Oldest: h.Age, Newest: h.Age})
		}
		s := &list[i]
		s.Count++
		s.Bytes += h.Bytes
		s.Oldest, s.Newest = max(s.Oldest, h.Age), min(s.Newest, h.Age)
	}
	slices.SortStableFunc(list, func(a, b Survivor) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}
