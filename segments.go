package ebb

import "github.com/ebb-ml/ebb/internal/alloc"

// VisitMemory calls f for each part of the memory that rt has mapped, in order
// of address: where it begins, its size in bytes, and whether it is in use or
// cached. It is what memory.Explain asks the system about. The parts are those
// of one moment; by the time f sees one it may be unmapped.
func (rt *Runtime) VisitMemory(f func(addr uintptr, bytes int64, inUse bool)) {
	co := rt.core
	var spans []alloc.Span
	co.mu.Lock()
	if !co.closed {
		for seg := range co.alloc.Segments() {
			for span := range seg.Spans() {
				if span.State != alloc.Guard {
					spans = append(spans, span)
				}
			}
		}
	}
	co.mu.Unlock()
	for _, s := range spans {
		f(uintptr(s.Addr), s.Size, s.State == alloc.InUse)
	}
}
