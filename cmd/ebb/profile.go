package main

import (
	"errors"
	"io"
	"runtime/pprof"
	"runtime/trace"
)

// profiles are what Go's own tools read of a run: a CPU profile for go tool pprof
// and an execution trace for go tool trace.
type profiles struct {
	cpu, trace *profileFile // nil: not asked for
}

// startProfiles begins to write those that have a path.
func startProfiles(cpu, execution string) (*profiles, error) {
	p := new(profiles)
	var err error
	if p.cpu, err = openProfile(cpu, pprof.StartCPUProfile); err != nil {
		return nil, err
	}
	if p.trace, err = openProfile(execution, trace.Start); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// stop ends the profiles and closes their files. A second call does nothing.
func (p *profiles) stop() error {
	var errs []error
	if p.cpu != nil {
		pprof.StopCPUProfile()
		errs = append(errs, p.cpu.close())
	}
	if p.trace != nil {
		trace.Stop()
		errs = append(errs, p.trace.close())
	}
	*p = profiles{}
	return errors.Join(errs...)
}

// profileFile keeps the first error of its writes, which Go's profilers ignore.
type profileFile struct {
	path string
	w    io.WriteCloser
	err  error
}

// openProfile opens a file anew and starts to write to it, or returns nil for an
// empty path.
func openProfile(path string, start func(io.Writer) error) (*profileFile, error) {
	if path == "" {
		return nil, nil
	}
	w, err := openInPlace(path)
	if err != nil {
		return nil, fileError("write", path, err)
	}
	f := &profileFile{path: path, w: w}
	if err := start(f); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return f, nil
}

func (f *profileFile) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if f.err == nil {
		f.err = err
	}
	return n, err
}

func (f *profileFile) close() error {
	if err := errors.Join(f.err, f.w.Close()); err != nil {
		return fileError("write", f.path, err)
	}
	return nil
}
