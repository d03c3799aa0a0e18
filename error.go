package ebb

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/ebb-ml/ebb/internal/site"
)

// ErrorKind says what went wrong, in one word. It is an error itself, so that
// errors.Is(err, ebb.ErrShape) tells a wrong shape from the rest.
type ErrorKind uint8

// The kinds of errors.
const (
	_              ErrorKind = iota
	ErrShape                 // shapes do not fit the operation or each other
	ErrDType                 // an element type the operation does not take
	ErrIndex                 // an index or dimension out of range
	ErrValue                 // an argument out of its domain
	ErrRuntime               // tensors of two runtimes, or a closed runtime
	ErrReleased              // a tensor used after its owner closed
	ErrNoScope               // an operation on tensors of stores alone
	ErrClosed                // a scope or store that was closed
	ErrOutward               // a result or a graph directed out of its scope
	ErrGraph                 // a gradient that cannot be computed
	ErrModified              // a saved tensor modified before its gradient was computed
	ErrOutOfMemory           // past the limit, or refused by the system
	ErrBusy                  // a second Backward or Step on one model at a time
	ErrLeak                  // memory still held where none should be
	ErrTimeout               // a lease that was not returned in time
)

var errorKindNames = [...]string{"", "shape", "dtype", "index", "value", "runtime", "released", "no scope", "closed",
	"outward", "graph", "modified", "out of memory", "busy", "leak", "timeout"}

// Error returns the kind's name.
func (k ErrorKind) Error() string {
	if int(k) < len(errorKindNames) {
		return errorKindNames[k]
	}
	return fmt.Sprintf("ErrorKind(%d)", uint8(k))
}

// Site is a place in the user's program: a call stack, symbolised only when
// it is printed. The zero Site is unknown.
type Site struct{ stack *site.Stack }

// String returns file:line and function of the first frame outside Ebb.
func (s Site) String() string { return s.stack.String() }

// PCs returns the program counters, innermost first, for
// runtime.CallersFrames.
func (s Site) PCs() []uintptr {
	if s.stack == nil {
		return nil
	}
	return s.stack.PCs()
}

// Frame returns the first frame outside Ebb, which String prints.
func (s Site) Frame() runtime.Frame { return s.stack.Site() }

// Known reports whether the place was recorded.
func (s Site) Known() bool { return s.stack != nil }

// Error is what Ebb's operations panic with and what [Catch], [Runtime.Run]
// and [Scope.Run] turn into an error. It holds text, shapes and program
// counters, never a tensor, so keeping one keeps no memory.
type Error struct {
	Kind      ErrorKind
	Op        string       // the operation, by PyTorch's name; empty if none
	Module    string       // path of the module it ran in ("fc1"); empty if none
	Shapes    [][]int      // the operands' shapes
	DTypes    []DType      // the operands' types
	Owner     string       // name of the scope or store concerned
	Given     string       // what was given and what was expected
	Advice    string       // what to do
	Site      Site         // where the operation was called
	Allocated Site         // where the tensor concerned was made
	Released  Site         // where it was released, modified, or first used
	Memory    *OutOfMemory // for ErrOutOfMemory: what holds the memory
	Leaks     []Holding    // for ErrLeak: what is still held
	Err       error        // the cause, if another error

	core *core
}

// Error describes the error in one line or a few.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("ebb: ")
	if e.Op != "" {
		b.WriteString(e.Op)
		if e.Module != "" {
			fmt.Fprintf(&b, " in %s", e.Module)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Given)
	if len(e.Shapes) > 0 {
		b.WriteString(" (operands ")
		for i, s := range e.Shapes {
			if i > 0 {
				b.WriteString(", ")
			}
			if i < len(e.DTypes) {
				b.WriteString(e.DTypes[i].String())
			}
			b.WriteString(shapeString(s))
		}
		b.WriteByte(')')
	}
	if e.Site.Known() {
		fmt.Fprintf(&b, "\n  at %s", e.Site)
	}
	if e.Allocated.Known() {
		fmt.Fprintf(&b, "\n  made at %s", e.Allocated)
	}
	if e.Released.Known() {
		verb := "released"
		switch e.Kind {
		case ErrModified:
			verb = "modified"
		case ErrGraph, ErrBusy:
			verb = "first used"
		case ErrClosed:
			verb = "closed"
		}
		fmt.Fprintf(&b, "\n  %s at %s", verb, e.Released)
	}
	if e.Memory != nil {
		b.WriteString("\n")
		b.WriteString(e.Memory.String())
	}
	for i, h := range e.Leaks {
		if i == 20 {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Leaks)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s", h)
	}
	if e.Advice != "" {
		fmt.Fprintf(&b, "\n  %s", e.Advice)
	}
	if e.Err != nil && e.Memory == nil { // the cause of a shortage is part of its description
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Is reports whether target is e's kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(ErrorKind)
	return ok && k == e.Kind
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// newError makes an error of op on the given operands, at the caller's site.
func newError(kind ErrorKind, op string, operands []*Tensor, format string, args ...any) *Error {
	e := &Error{Kind: kind, Op: op, Given: fmt.Sprintf(format, args...), Site: Site{site.Here(1)}}
	for _, x := range operands {
		if x == nil {
			continue
		}
		e.Shapes = append(e.Shapes, append([]int{}, x.shape...))
		e.DTypes = append(e.DTypes, x.dtype)
		if e.core == nil {
			e.core = x.rec.core
		}
	}
	e.Module = moduleOf(operands)
	return e
}

// moduleOf returns the path of the module that an operation on operands runs
// in: that of the youngest scope.
func moduleOf(operands []*Tensor) string {
	var youngest *owner
	for _, x := range operands {
		if x == nil {
			continue
		}
		x.rec.core.mu.Lock()
		if s := x.scope(); s != nil && (youngest == nil || s.o.seq > youngest.seq) {
			youngest = s.o
		}
		x.rec.core.mu.Unlock()
	}
	if youngest == nil {
		return ""
	}
	return youngest.module
}

// advise sets what to do and returns e.
func (e *Error) advise(format string, args ...any) *Error {
	e.Advice = fmt.Sprintf(format, args...)
	return e
}

// throw panics with a new error of op.
func throw(kind ErrorKind, op string, operands []*Tensor, format string, args ...any) {
	panic(newError(kind, op, operands, format, args...))
}

// Catch turns a panic with an [*Error] into an error: deferred at the top of
// a function with a named result, it joins the error to *err. Any other panic
// goes on.
//
//	func step() (err error) {
//		defer ebb.Catch(&err)
//		...
//	}
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		r.caught()
		if *err == nil {
			*err = r
		} else {
			*err = errors.Join(*err, r)
		}
	default:
		panic(r)
	}
}

// caught remembers in the runtime that a run failed, so that Close does not
// report as a leak what the failure left open.
func (e *Error) caught() {
	if e.core != nil {
		e.core.failed.Store(true)
	}
}
