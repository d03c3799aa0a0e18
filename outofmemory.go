package ebb

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ebb-ml/ebb/internal/alloc"
)

// OutOfMemory says what could not be allocated, and what holds the memory. The
// cache had been emptied before.
type OutOfMemory struct {
	Asked       int64 // bytes of the request
	Rounded     int64 // bytes it takes with rounding
	Kind        Kind  // what it is for
	DType       DType
	Shape       []int
	Limit       int64  // 0: none
	Refusal     string // why the system refused; "" if the limit did
	Mapped      int64
	Live        int64
	LargestHole int64 // largest free block in the mapped segments
	Free        int64 // all free bytes in the mapped segments
	Fits        int64 // the largest request that would have fit; 0 if the system, not the limit, refused
	ByKind      map[Kind]int64
	Holders     []Holder // the largest, by site
	Pins        []Holder // if Fragmented: the largest of those that hold the segments with holes open, by site

	// The batch, if the operation's result has one as its first dimension: the
	// same as an input's in a scope. BatchFits is the size with which the whole
	// operation would have fit, what else is live of the batch being that much
	// smaller too.
	Batch     int
	BatchFits int

	// What no gradient needs and its scope alone keeps, in bytes: results that
	// Sequential, Chain and Call free as they go.
	Idle int64

	Files []string // written for the occasion, see OnOutOfMemory
}

// Holder is what one line of the program holds.
type Holder struct {
	Kind   Kind
	Module string
	Site   Site
	Bytes  int64
	Count  int
}

// String describes the holder in one line.
func (h Holder) String() string {
	module := ""
	if h.Module != "" {
		module = ", " + h.Module
	}
	return fmt.Sprintf("%s in %d x %s%s, made at %s", FormatBytes(h.Bytes), h.Count, h.Kind, module, h.Site)
}

// OnOutOfMemory sets what is called when an operation finds no memory, before it
// panics with e: to write down what memory holds while it still does, as
// memory.DumpOnOutOfMemory does. It may add to e.Memory.Files.
func OnOutOfMemory(f func(rt *Runtime, e *Error)) RuntimeOption {
	return func(co *core) { co.shortage = f }
}

// room returns what the limit leaves to map.
func (m *OutOfMemory) room() int64 {
	if m.Limit == 0 {
		return 0
	}
	return max(m.Limit-m.Mapped, 0)
}

// Fragmented reports whether enough memory is free for the request, but in
// pieces.
func (m *OutOfMemory) Fragmented() bool {
	return m.Rounded > 0 && m.LargestHole < m.Rounded && m.Free+m.room() >= m.Rounded
}

// Missing returns how many bytes are too few even if the free ones were in one
// piece; 0 if fragmented. Without a limit it counts the holes alone.
func (m *OutOfMemory) Missing() int64 { return max(m.Rounded-m.Free-m.room(), 0) }

// String describes the shortage in a few lines.
func (m *OutOfMemory) String() string {
	var b strings.Builder
	what := m.DType.String() + shapeString(m.Shape)
	if m.Kind == Workspace {
		what = "scratch space"
	}
	fmt.Fprintf(&b, "  asked for %s: %s, %s with rounding; mapped %s", what, FormatBytes(m.Asked), FormatBytes(m.Rounded), FormatBytes(m.Mapped))
	if m.Limit > 0 {
		fmt.Fprintf(&b, " of limit %s", FormatBytes(m.Limit))
	}
	if m.Fits > 0 {
		fmt.Fprintf(&b, "; up to %s would have fit", FormatBytes(m.Fits))
	}
	if m.Refusal != "" {
		fmt.Fprintf(&b, "; the system refused more: %s", m.Refusal)
	}
	fmt.Fprintf(&b, "\n  live %s", FormatBytes(m.Live))
	sep := ": "
	for _, k := range Kinds {
		if n := m.ByKind[k]; n > 0 {
			fmt.Fprintf(&b, "%s%s %s", sep, k, FormatBytes(n))
			sep = ", "
		}
	}
	if m.Fragmented() {
		fmt.Fprintf(&b, "\n  fragmented: largest hole %s of %s free", FormatBytes(m.LargestHole), FormatBytes(m.Free))
		if m.room() > 0 {
			fmt.Fprintf(&b, ", and %s left to map", FormatBytes(m.room()))
		}
		if len(m.Pins) > 0 {
			b.WriteString("; the holes are held open by")
			for _, h := range m.Pins {
				fmt.Fprintf(&b, "\n    %s", h)
			}
		}
	} else {
		fmt.Fprintf(&b, "\n  exhausted: largest hole %s of %s free", FormatBytes(m.LargestHole), FormatBytes(m.Free))
		if m.Limit > 0 {
			fmt.Fprintf(&b, ", and %s left to map; %s are missing", FormatBytes(m.room()), FormatBytes(m.Missing()))
		}
	}
	if len(m.Holders) > 0 {
		b.WriteString("\n  the largest holders:")
	}
	for _, h := range m.Holders {
		fmt.Fprintf(&b, "\n    %s", h)
	}
	if len(m.Files) > 0 {
		fmt.Fprintf(&b, "\n  written: %s", strings.Join(m.Files, ", "))
	}
	return b.String()
}

// advice says what would help, as far as the figures bear it out.
func (m *OutOfMemory) advice() string {
	var all []string
	if m.BatchFits > 0 {
		all = append(all, fmt.Sprintf("a batch of %d instead of %d would have fit here", m.BatchFits, m.Batch))
	}
	if need := m.Missing(); m.Idle > 0 && m.Idle >= need && m.Idle >= m.Rounded/2 {
		all = append(all, fmt.Sprintf("%s of activations are kept by their scope alone and needed by no gradient: Sequential, nn.Chain and nn.Call free such results as they go",
			FormatBytes(m.Idle)))
	}
	switch {
	case m.Fragmented():
		all = append(all, "release what holds the holes open, or make it before what is large")
	case m.Refusal == "" && m.Limit > 0 && m.Rounded > m.Limit:
		all = append(all, "the request alone is over the limit")
	case m.Refusal == "" && m.Limit > 0:
		all = append(all, "raise ebb.Limit, or release some of the largest holders first")
	case len(m.Holders) > 0:
		all = append(all, "release some of the largest holders first")
	}
	return strings.Join(all, "\n  ")
}

// outOfMemory describes a failed allocation. The caller holds core.mu.
func (co *core) outOfMemory(st *storage, c *call, err error) *Error {
	m := &OutOfMemory{Asked: st.bytes, Rounded: st.bytes, Kind: st.kind, DType: st.dtype(), Shape: st.shape(), ByKind: map[Kind]int64{}}
	s := co.alloc.Stats()
	m.Mapped, m.Free, m.LargestHole, m.Limit, m.Live = s.Mapped, s.Free, s.LargestHole, co.limit, co.live.Current
	var oom *alloc.OutOfMemoryError
	if errors.As(err, &oom) {
		m.Rounded = oom.Rounded
		if oom.Cause != nil {
			m.Refusal = oom.Cause.Error()
		} else {
			m.Fits = oom.Fits
		}
	}
	for _, k := range Kinds {
		m.ByKind[k] = co.byKind[k].Current
	}
	m.Holders = holders(co.holdings(), 5)
	if m.Fragmented() {
		m.Pins = holders(co.pins(), 3)
	}
	m.survey(co, c)
	e := &Error{Kind: ErrOutOfMemory, Op: c.op.name, Module: c.module(), Given: "out of memory", Site: Site{c.site}, Memory: m, Err: err, core: co,
		Advice: m.advice()}
	for _, x := range c.in {
		e.Shapes = append(e.Shapes, append([]int{}, x.shape...))
		e.DTypes = append(e.DTypes, x.dtype)
	}
	return e
}

// pins lists what lies in segments that have holes.
func (co *core) pins() []Holding {
	by := map[*alloc.Block]*storage{}
	co.visitStorages(func(st *storage, _ string) { by[st.blk] = st })
	var out []Holding
	for seg := range co.alloc.Segments() {
		holes := false
		for span := range seg.Spans() {
			holes = holes || span.State == alloc.Free
		}
		if !holes {
			continue
		}
		for span := range seg.Spans() {
			if st := by[span.Block]; span.State == alloc.InUse && st != nil {
				out = append(out, Holding{Kind: st.kind, Bytes: st.bytes, Module: st.module, Site: Site{st.site}})
			}
		}
	}
	return out
}

// survey finds what is idle, and the batch with which the call would have fit.
func (m *OutOfMemory) survey(co *core, c *call) {
	batch := 0
	if len(c.out) > 0 && len(c.out[0].shape) > 0 {
		batch = c.out[0].shape[0]
	}
	ofBatch := func(l *layout) bool { return l != nil && len(l.shape) > 0 && l.shape[0] == batch }
	isBatch := false
	var grows int64 // live bytes with the batch as their first dimension
	seen := map[*storage]bool{}
	var visit func(o *owner)
	visit = func(o *owner) {
		for p := o.records.first; p != nil && !o.store; p = p.next {
			st := p.st
			if seen[st] {
				continue
			}
			seen[st] = true
			if st.kind == Activation && st.refs == 1 {
				m.Idle += st.bytes
			}
			if ofBatch(st.layout) {
				grows += st.bytes
				isBatch = isBatch || st.kind == Input
			}
		}
		for k := o.kids.first; k != nil; k = k.next {
			visit(k)
		}
	}
	for o := co.roots.first; o != nil; o = o.next {
		visit(o)
	}
	if batch < 2 || !isBatch || m.Limit == 0 {
		return
	}
	m.Batch = batch
	// Scratch space may grow with the batch or not; here it does not. What is
	// mapped and not live stays so, and segments may be a sixteenth larger than
	// what lies in them.
	fixed := m.Live - grows + int64(c.work)
	for i, l := range c.out {
		n, made := l.bytes(), len(c.in)+i < len(c.held)
		switch {
		case !ofBatch(l) && !made:
			fixed += n
		case ofBatch(l) && !made:
			grows += n
		case ofBatch(l): // it is live already, and in nobody's records yet
			grows += n
			fixed -= n
		}
	}
	room := (m.Limit-(m.Mapped-m.Live))*16/17 - fixed
	if fits := int(float64(batch) * float64(room) / float64(grows)); fits > 0 && fits < batch {
		m.BatchFits = fits
	}
}
