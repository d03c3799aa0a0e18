package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ebb-ml/ebb"
)

// The exit statuses. A signal's is 128 and its number.
const (
	statusError    = 1
	statusUsage    = 2
	statusSurvived = 3
)

// failure is what went wrong while a command ran, as opposed to its usage.
type failure struct {
	status int
	err    error // nil for a signal, of which there is nothing to say
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// fail wraps an error of a command's work.
func fail(err error) error {
	if err == nil {
		return nil
	}
	return &failure{statusError, err}
}

// outcome puts together how a training ended: an error weighs more than memory
// that survived, and that more than a signal. Everything there is to say is said.
func outcome(ctx context.Context, err, freed error) error {
	status := 0
	var stop *stopped
	switch {
	case err != nil, freed != nil && !errors.Is(freed, ebb.ErrLeak):
		status = statusError
	case freed != nil:
		status = statusSurvived
	case errors.As(context.Cause(ctx), &stop):
		status = stop.status()
	default:
		return nil
	}
	return &failure{status, errors.Join(err, freed)}
}

// status returns the exit status for what a command line returned.
func status(err error) int {
	var f *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f):
		return f.status
	default:
		return statusUsage
	}
}

// complain prints an error in a few lines, with a hint if it is one of usage.
func complain(w io.Writer, err error) {
	if err == nil || err.Error() == "" {
		return
	}
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "ebb: ") {
			line = "ebb: " + line
		}
		fmt.Fprintln(w, line)
	}
	if status(err) == statusUsage {
		fmt.Fprintln(w, "  see ebb help, or --help after a command")
	}
}
