package ebb

import "github.com/ebb-ml/ebb/internal/site"

// Region describes a [Scope.Call].
type Region struct {
	Name   string // of the scope
	Module string // path of the module that runs in it; "" leaves the caller's
	Tag    any    // what Tag returns for the scope
}

// Call runs f in a scope of its own below s and closes it. f gets args directed
// into that scope, so that its results land there. What f returns and lies in
// the scope is moved out to s, graph and all; anything else it returns is
// handed back as s's, as if by In. Everything else in the scope is released.
// nil tensors stay nil. A panic in f closes the scope and goes on.
//
// It is what nn.Call is made of.
func (s *Scope) Call(r Region, args []*Tensor, f func(args []*Tensor) []*Tensor) []*Tensor {
	at := site.Here(1)
	co := s.o.core
	sub := co.newScope(s.o, s, r.Name, nil, at)
	sub.tag = r.Tag
	if r.Module != "" {
		sub.o.module = r.Module
	}
	defer sub.Close()
	in := make([]*Tensor, len(args))
	for i, x := range args {
		if x != nil {
			in[i] = x.In(sub)
		}
	}
	out := f(in)
	co.mu.Lock()
	var e *Error
	moved := make([]*Tensor, len(out))
	for i, x := range out {
		if x == nil {
			continue
		}
		switch {
		case x.rec.core != co:
			e = mixedRuntimes("call", co)
		case x.rec.st == nil:
			e = x.releasedError("call")
		case s.o.closed:
			e = s.o.closedError("call")
		}
		if e != nil {
			break
		}
		y := *x
		y.dir = nil
		switch o := x.rec.owner; {
		case o == nil || o.within(sub.o):
			if o != nil {
				co.transfer(x.rec, s.o)
			}
			y.own = s
		case o != s.o:
			y.dir = s
			if !o.store && o.seq > s.o.seq {
				y.dir = nil // of a younger scope, where it stays
			}
		}
		moved[i] = &y
	}
	co.mu.Unlock()
	if e != nil {
		e.Site = Site{at}
		panic(e)
	}
	return moved
}

// within reports whether o is other or below it. The caller holds mu.
func (o *owner) within(other *owner) bool {
	for ; o != nil; o = o.parent {
		if o == other {
			return true
		}
	}
	return false
}

// Chain runs steps one after another, each in its own [Scope.Call] with the
// last one's result, and releases what a step handed over when the next has
// returned: of all the results between only what the graph needs stays. The
// result lies in the scope where results on x land.
func Chain(x *Tensor, regions []Region, steps []func(*Tensor) *Tensor) *Tensor {
	s := x.resultScope("chain")
	at := site.Here(1)
	co := s.o.core
	last := x
	for i, step := range steps {
		y := s.Call(regions[i], []*Tensor{last}, func(args []*Tensor) []*Tensor { return []*Tensor{step(args[0])} })[0]
		if y == nil {
			panic(newError(ErrValue, "chain", []*Tensor{last}, "step %d returned nil", i).advise("return a tensor"))
		}
		if last.rec != x.rec && last.rec != y.rec {
			co.mu.Lock()
			co.release(last.rec, at)
			co.mu.Unlock()
		}
		last = y
	}
	return last
}
