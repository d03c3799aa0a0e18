package datasets

import (
	"fmt"
	"strings"
)

// FileError is a file that is not what the data set needs.
type FileError struct {
	Dataset string
	Path    string
	Err     error  // what is wrong with it
	Hint    string // what to do; empty if there is nothing to say
}

// Error names the file, the cause and what to do.
func (e *FileError) Error() string {
	s := fmt.Sprintf("datasets: %s: %s: %v", e.Dataset, e.Path, e.Err)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// FetchError is a file that no source could give.
type FetchError struct {
	Dataset string
	File    string
	Causes  []error // what went wrong with each source, in order
}

// Error names the file, and every source with its cause, a line each.
func (e *FetchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "datasets: %s: %s could not be had", e.Dataset, e.File)
	for _, c := range e.Causes {
		fmt.Fprintf(&b, "\n  %v", c)
	}
	b.WriteString("\n  with the files in a folder, give that folder")
	return b.String()
}

// Unwrap returns the causes.
func (e *FetchError) Unwrap() []error { return e.Causes }
