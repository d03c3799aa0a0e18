// Package site says where in the user's program something happened.
//
// Every owner, tensor and error of Ebb remembers the call stack that made it.
// Taking a stack must therefore cost next to nothing, and text must cost
// nothing until somebody reads it:
//
//   - [Here] walks the frame pointers (a few lines of assembly on amd64 and
//     arm64, runtime.Callers elsewhere and with tag noasm), and interns the
//     return addresses. The same stack is always the same *[Stack], so that
//     ledgers use the pointer as a key. A known stack costs no allocation.
//   - [Stack.Frames], [Stack.Site] and [Stack.String] symbolise on demand.
//     Functions the compiler inlined appear as frames of their own.
//
// The site of a stack is its first frame in the user's code: not Ebb's, and
// not the machinery of the standard library that calls back (reflect, iter,
// sync and such). Ebb's tests, examples, benchmarks and commands count as the
// user's program.
//
// Interned stacks are never freed. Their number is bounded: past [maxStacks]
// new stacks are cut to their innermost [cutDepth] frames, and when even those
// are too many, all further ones share one Stack that says so.
package site

import (
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
)

// maxDepth is the number of physical frames a stack keeps, innermost first.
const maxDepth = 64

// A Stack is an interned call stack: two stacks are equal exactly when their
// pointers are. A nil Stack is valid and unknown. All methods are safe for use
// by many goroutines.
type Stack struct {
	next *Stack // in the table's chain
	hash uint64
	skip int       // innermost logical frames that are left out
	pcs  []uintptr // return addresses, innermost first
	site atomic.Pointer[runtime.Frame]
}

// Here returns the call stack, innermost frame first, at most 64 physical
// frames. With skip 0 the first frame is the caller of Here,
// with skip 1 that caller's caller, as in [runtime.Callers]; functions that
// were inlined count.
//
//go:noinline
func Here(skip int) *Stack {
	var pcs [maxDepth]uintptr
	n := framePCs(&pcs)
	return stacks.intern(skip, pcs[:n])
}

// Count returns the number of interned stacks.
func Count() int { return int(stacks.count.Load()) }

// PCs returns the return addresses of the stack, innermost first, one for each
// of [Stack.Frames], in the form that [runtime.CallersFrames] takes.
func (s *Stack) PCs() []uintptr {
	frames := s.Frames()
	pcs := make([]uintptr, len(frames))
	for i, f := range frames {
		pcs[i] = f.PC + 1 // a Frame holds the address of the call
	}
	return pcs
}

// Frames returns the stack in symbols, innermost first, with inlined functions
// as frames of their own and without the wrappers the compiler generates. It is
// computed anew on each call.
func (s *Stack) Frames() []runtime.Frame {
	if s == nil || len(s.pcs) == 0 {
		return nil
	}
	// CallersFrames expands what was inlined at an address only if another
	// address follows, so it gets one more, which belongs to no function.
	it := runtime.CallersFrames(append(s.pcs[:len(s.pcs):len(s.pcs)], 0))
	frames := make([]runtime.Frame, 0, len(s.pcs))
	skip := s.skip
	for {
		f, more := it.Next()
		switch {
		case f.Function == "" || generated(f):
		case skip > 0:
			skip--
		default:
			frames = append(frames, f)
		}
		if !more {
			return frames
		}
	}
}

// Site returns the first frame in the user's code, or the innermost frame if
// there is none, or a zero Frame for a stack that is empty.
func (s *Stack) Site() runtime.Frame {
	if s == nil {
		return runtime.Frame{}
	}
	if f := s.site.Load(); f != nil {
		return *f
	}
	var site runtime.Frame
	for i, f := range s.Frames() {
		if i == 0 {
			site = f
		}
		if built.users(f) {
			site = f
			break
		}
	}
	s.site.Store(&site)
	return site
}

// String returns the site as text: the file with its directory, the line and
// the function, such as "mnist/main.go:42 main.train".
func (s *Stack) String() string {
	if s == tooMany {
		return "too many stacks"
	}
	f := s.Site()
	if f.Function == "" {
		return "unknown"
	}
	file := path.Base(f.File)
	if dir := path.Base(path.Dir(f.File)); dir != "." && dir != "/" {
		file = dir + "/" + file
	}
	function := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
	return file + ":" + strconv.Itoa(f.Line) + " " + function
}
