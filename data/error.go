package data

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/ebb-ml/ebb"
)

// Error is a fault of a loader or of the data set it loads. Data sets return
// one with Sample and Err set; the loader adds the rest.
type Error struct {
	Loader string // the loader's name and settings; empty outside a loader
	Batch  int    // number of the batch in its pass, from 0
	Sample int64  // index of the sample in its data set; -1 if it is not known
	Err    error  // the cause
	Stack  []byte // where it panicked; nil if it did not
}

// Error describes the fault in a line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("data: ")
	if e.Loader != "" {
		fmt.Fprintf(&b, "%s: batch %d: ", e.Loader, e.Batch)
	}
	if e.Sample >= 0 {
		fmt.Fprintf(&b, "sample %d: ", e.Sample)
	}
	if e.Stack != nil {
		b.WriteString("panic: ")
	}
	fmt.Fprint(&b, e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// panicked returns what a panic with value p is as a fault of a sample. An
// [*ebb.Error] is its own description and needs no stack.
func panicked(p any, sample int64) *Error {
	switch p := p.(type) {
	case *Error:
		return p
	case *ebb.Error:
		return &Error{Sample: sample, Err: p}
	case error:
		return &Error{Sample: sample, Err: p, Stack: debug.Stack()}
	}
	return &Error{Sample: sample, Err: fmt.Errorf("%v", p), Stack: debug.Stack()}
}

// located returns err as a fault in a batch of the named loader.
func located(err error, loader string, batch int) *Error {
	e := &Error{Sample: -1, Err: err}
	var inner *Error
	if errors.As(err, &inner) {
		e.Sample, e.Stack = inner.Sample, inner.Stack
		if err == error(inner) {
			e.Err = inner.Err
		}
	}
	e.Loader, e.Batch = loader, batch
	return e
}
