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
		sub.o.module = r.Module // nobody else knows the scope yet
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

// Chain runs steps one after another, each on the last one's result, in one
// scope below the one where results on x land, and closes it. When a step has
// returned, everything it made but its result is released, and so is what the
// step before handed over: of all that lies between only what the graph needs
// stays. The last result moves out, graph and all. During a step the scope has
// its region's module and tag.
func Chain(x *Tensor, regions []Region, steps []func(*Tensor) *Tensor) *Tensor {
	home := x.resultScope("chain")
	if len(steps) == 0 {
		return x
	}
	out := home.Call(Region{Name: "chain"}, []*Tensor{x}, func(args []*Tensor) []*Tensor {
		last := args[0]
		s := last.dir
		for i, step := range steps {
			s.enter(regions[i])
			y := step(last.In(s))
			if y == nil {
				panic(newError(ErrValue, "chain", []*Tensor{last}, "step %d returned nil", i).advise("return a tensor"))
			}
			s.Recycle(y)
			last = y
		}
		return []*Tensor{last}
	})
	return out[0]
}

// enter makes s the scope of a region.
func (s *Scope) enter(r Region) {
	s.o.core.mu.Lock()
	defer s.o.core.mu.Unlock()
	s.tag = r.Tag
	s.o.module = r.Module
}
