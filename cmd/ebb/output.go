package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/term"
)

// standardOutput remembers the first error of writing to it, so that what prints
// need not look for it.
type standardOutput struct {
	io.Writer
	err error
}

func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// terminal returns the terminal that w is, if it is one that can be drawn on.
func terminal(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*standardOutput); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return f, ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// fileError says which file and why, without the temporary file's name or the
// system call's.
func fileError(verb, path string, err error) error {
	var inner *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &inner):
		err = inner.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("cannot %s %s: %w", verb, path, err)
}

// openInPlace opens a file for writing from its beginning. One that is the
// standard output or error is that stream, so that what else is printed there
// stays in order; closing leaves it open.
func openInPlace(path string) (io.WriteCloser, error) {
	if f := standard(path); f != nil {
		return keepOpen{f}, nil
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// standard returns the standard stream that a path leads to, or nil.
func standard(path string) *os.File {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		// A file with a name of its own that the shell has redirected to counts
		// only if it is meant as a stream: /dev/stdout, not the file's name.
		if s, err := f.Stat(); err == nil && os.SameFile(info, s) && (!s.Mode().IsRegular() || filepath.Dir(path) == "/dev") {
			return f
		}
	}
	return nil
}

// inPlace reports whether a target is written in place: it is there, and no
// regular file.
func inPlace(path string) bool {
	info, err := os.Stat(path)
	return standard(path) != nil || err == nil && !info.Mode().IsRegular()
}

// probe finds out whether write will be able to write a file, before the work
// whose result it is to hold. An empty path is no file.
func probe(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fileError("write", path, errors.New("is a folder"))
	}
	if inPlace(path) {
		return nil
	}
	f, err := createTemporary(path)
	if err != nil {
		return fileError("write", path, err)
	}
	f.Close()
	removeTemporary()
	return nil
}

// write writes a file whole or not at all: new beside its target, then renamed. A
// target that is no regular file is written in place.
func write(path string, content []byte) error {
	return writeStream(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// writeStream is write for content that is produced as it is written.
func writeStream(path string, content func(w io.Writer) error) error {
	if inPlace(path) {
		w, err := openInPlace(path)
		if err == nil {
			err = errors.Join(content(w), w.Close())
		}
		if err != nil {
			return fileError("write", path, err)
		}
		return nil
	}
	f, err := createTemporary(path)
	if err != nil {
		return fileError("write", path, err)
	}
	if err = content(f); err == nil {
		err = f.Sync() // a full disk may show only now
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = renameTemporary(target(path))
	}
	if err != nil {
		removeTemporary()
		return fileError("write", path, err)
	}
	return nil
}

// target follows symbolic links, so that the file is replaced and not the link.
func target(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// temporary is the one file that is being written, so that whoever ends the
// process can remove it.
var temporary struct {
	sync.Mutex
	path string
}

// createTemporary makes a new file in the folder of path.
func createTemporary(path string) (*os.File, error) {
	temporary.Lock()
	defer temporary.Unlock()
	path = target(path)
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.new", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err == nil {
		temporary.path = name
	}
	return f, err
}

// renameTemporary gives the file its name.
func renameTemporary(path string) error {
	temporary.Lock()
	defer temporary.Unlock()
	err := os.Rename(temporary.path, path)
	if err == nil {
		temporary.path = ""
	}
	return err
}

// removeTemporary removes the file, if there is one.
func removeTemporary() {
	temporary.Lock()
	defer temporary.Unlock()
	if temporary.path != "" {
		_ = os.Remove(temporary.path)
		temporary.path = ""
	}
}

// checkTargets returns an error if two flags name one file.
func (s *settings) checkTargets() error {
	seen := map[string]string{}
	for _, t := range []struct{ flag, path string }{{"--metrics", s.metrics}, {"--report", s.report}, {"--html", s.html}, {"--snapshot", s.snapshot}, {"--cpuprofile", s.cpuprofile}, {"--trace", s.trace}} {
		if t.path == "" {
			continue
		}
		path := target(filepath.Clean(t.path))
		if inPlace(path) {
			continue // a stream takes several
		}
		if other, ok := seen[path]; ok {
			return fmt.Errorf("%s and %s both write %s", other, t.flag, t.path)
		}
		seen[path] = t.flag
	}
	return nil
}
