package ebb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind says what memory is for. Whoever allocates sets it: layers make
// parameters, Backward gradients, optimizers their state, operations
// activations. A Kind is also an [Option] of the creation functions.
type Kind uint8

// The kinds of memory.
const (
	Parameter      Kind = iota + 1 // weights that train
	Buffer                         // other tensors of stores: constants, running statistics
	Gradient                       // gradients, of parameters and on their way
	OptimizerState                 // momentum and the like
	Activation                     // results of operations, and what the graph saved
	Input                          // data sets and batches
	Workspace                      // a kernel's scratch space
)

// Kinds lists every Kind in order.
var Kinds = [...]Kind{Parameter, Buffer, Gradient, OptimizerState, Activation, Input, Workspace}

var kindNames = [...]string{"unknown", "parameter", "buffer", "gradient", "optimizer state", "activation", "input", "workspace"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Ledger counts memory of one kind, or of all, in bytes as asked for.
type Ledger struct {
	Current   int64 // live now
	Peak      int64 // the most that was live at once since ResetPeak
	Allocated int64 // all that was ever allocated
	Freed     int64 // all that was ever freed
	Count     int64 // live allocations now
}

func (l *Ledger) add(n int64) {
	l.Current += n
	l.Allocated += n
	l.Count++
	l.Peak = max(l.Peak, l.Current)
}

func (l *Ledger) sub(n int64) {
	l.Current -= n
	l.Freed += n
	l.Count--
}

// Stats is a runtime's account of its memory at one instant. Live bytes are
// what was asked for; mapped bytes are what the allocator reserved from the
// system for them, cached ones included.
type Stats struct {
	Live        Ledger
	ByKind      map[Kind]Ledger
	Mapped      int64 // bytes mapped from the system
	MappedPeak  int64
	InUse       int64 // bytes handed out, rounding included
	Cached      int64 // mapped but free
	LargestHole int64 // largest free block
	Segments    int64 // mappings
	Retries     int64 // times the cache was emptied to satisfy a request
	OutOfMemory int64 // requests that failed
	Limit       int64 // 0: none

	Owners  int // open stores and scopes
	Tensors int // tensors they hold, views not counted
	Nodes   int // graph nodes that hold memory
	Leases  int // operations that run now
}

// Holding is one piece of live memory and what keeps it.
type Holding struct {
	Kind   Kind
	DType  DType
	Shape  []int
	Bytes  int64
	Owner  string        // path of the store or scope; "graph" if only a saved tensor, "lease" if only a running operation
	Module string        // module path or name given by SetName
	Op     string        // the operation that made it
	Site   Site          // the line that made it
	Number int64         // of the allocation in its runtime, from 1, which later ones exceed
	Age    time.Duration // since it was made, or since the last opening of a scope or store before that
}

// String describes the holding in one line.
func (h Holding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s, %s, in %s", h.Kind, h.DType, shapeString(h.Shape), FormatBytes(h.Bytes), h.Owner)
	if h.Module != "" {
		fmt.Fprintf(&b, ", %s", h.Module)
	}
	fmt.Fprintf(&b, ", made at %s", h.Site)
	return b.String()
}

// FormatBytes prints n bytes with a binary unit: 1.50 MiB is 1.5 x 2^20.
func FormatBytes(n int64) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	if n < 1<<10 {
		return fmt.Sprintf("%s%d B", sign, n)
	}
	v, unit := float64(n)/(1<<10), 0
	for v >= 1024 && unit < 4 {
		v, unit = v/1024, unit+1
	}
	return fmt.Sprintf("%s%.2f %ciB", sign, v, "KMGTP"[unit])
}

// holders sums holdings by kind, module and site, largest first.
func holders(hs []Holding, most int) []Holder {
	type key struct {
		kind   Kind
		module string
		site   Site
	}
	sum := map[key]*Holder{}
	for _, h := range hs {
		k := key{h.Kind, h.Module, h.Site}
		if sum[k] == nil {
			sum[k] = &Holder{Kind: h.Kind, Module: h.Module, Site: h.Site}
		}
		sum[k].Bytes += h.Bytes
		sum[k].Count++
	}
	out := make([]Holder, 0, len(sum))
	for _, h := range sum {
		out = append(out, *h)
	}
	slices.SortFunc(out, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Site.String(), b.Site.String()))
	})
	return out[:min(most, len(out))]
}
