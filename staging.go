package ebb

import "github.com/ebb-ml/ebb/internal/site"

// NewStaging opens a scope below s in which a batch is prepared ahead of its
// use. What is made in it counts as [Input]. It has no scopes below it until
// [Scope.Begin].
func (s *Scope) NewStaging(name string, mode ...Mode) *Scope {
	stage := s.o.core.newScope(s.o, s, name, mode, site.Here(1))
	stage.o.kind = Input
	return stage
}

// Begin ends a scope's time of staging: from now on it is a scope opened this
// moment, younger than every other, so that what is computed from its tensors
// lands in it whatever was opened since it was made. A closed scope is a panic
// with ErrClosed.
func (s *Scope) Begin() {
	co := s.o.core
	co.mu.Lock()
	if s.o.closed {
		e := s.o.closedError("")
		co.mu.Unlock()
		e.Site = Site{site.Here(1)}
		panic(e)
	}
	defer co.mu.Unlock()
	co.seq++
	s.o.seq = co.seq
	s.o.kind = Activation
}

// Bytes returns the bytes that the tensors of the owner and of those below it
// take. Memory that two of them share counts twice.
func (h *handle) Bytes() int64 {
	h.o.core.mu.Lock()
	defer h.o.core.mu.Unlock()
	return h.o.bytes()
}

func (o *owner) bytes() (n int64) {
	for r := o.records.first; r != nil; r = r.next {
		n += r.st.bytes
	}
	for k := o.kids.first; k != nil; k = k.next {
		n += k.bytes()
	}
	return n
}
