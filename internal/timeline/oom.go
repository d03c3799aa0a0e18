package timeline

import (
	"cmp"
	"slices"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// Verdicts on a failed request.
const (
	Exhaustion    = "exhaustion"    // there was not enough, however it lay
	Fragmented    = "fragmentation" // there was enough, but not in one piece
	HoleThatFits  = "unused hole"   // a free block was large enough, and not used
	NothingFailed = ""
)

// Failure is a request that failed, and how the memory lay then.
type Failure struct {
	Event      int    // its number in the trace
	Asked      uint64 // bytes
	DeviceFree uint64 // bytes that the driver said were free
	Stack      snapshot.StackID
	Verdict    string
	Missing    uint64 // bytes by which everything free together fell short; 0 where it did not
	Live       []Block
	Reserved   uint64
	Fragmentation
}

// Failures returns the numbers of the events at which a request failed.
func (h *History) Failures() []int {
	var list []int
	for i, e := range h.Device.Trace.All() {
		if h.Snapshot.Action(e.Class) == snapshot.OutOfMemory {
			list = append(list, i)
		}
	}
	return list
}

// Failure explains the failed request of an event.
func (h *History) Failure(event int) Failure {
	e := h.Device.Trace.At(event)
	f := Failure{
		Event: event, Asked: e.Size, DeviceFree: e.Addr, Stack: e.Stack,
		Live: h.LiveAt(event), Reserved: h.ReservedAt(event), Fragmentation: h.Fragmentation(event),
	}
	switch free := f.Free + f.DeviceFree; {
	case f.LargestHole >= f.Asked:
		f.Verdict = HoleThatFits
	case free >= f.Asked:
		f.Verdict = Fragmented
	default:
		f.Verdict = Exhaustion
		f.Missing = f.Asked - free
	}
	return f
}

// Release is what would have made room: the fewest holders that together free
// what was missing.
func (f *Failure) Release(n *Names) []Holder {
	need := f.Missing
	if f.Verdict == Fragmented {
		need = f.Asked - f.LargestHole
	}
	list := n.Holders(f.Live)
	slices.SortStableFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(hold(a.Kind), hold(b.Kind)), cmp.Compare(b.Bytes, a.Bytes))
	})
	var sum uint64
	for i := range list {
		if sum >= need {
			return list[:i]
		}
		sum += list[i].Bytes
	}
	return list
}

// hold ranks kinds by how hard they are to do without: what can be computed again
// goes first, the model last.
func hold(kind string) int {
	switch kind {
	case "parameter", "buffer":
		return 2
	case "gradient", "optimizer state", "optimizer":
		return 1
	}
	return 0
}
