package datasets

import (
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fetch returns the path of the file in the cache, where it puts it if it is
// missing.
func (s *source) fetch(ctx context.Context, f file, o *options) (path string, err error) {
	folder := o.cache
	if folder == "" {
		if folder, err = os.UserCacheDir(); err != nil {
			return "", &FetchError{s.name, f.name, []error{fmt.Errorf("no folder to keep it in: %w", err)}}
		}
		folder = filepath.Join(folder, "ebb")
	}
	folder = filepath.Join(folder, s.name, "raw")
	path = filepath.Join(folder, f.cached())
	if present(path) {
		return path, nil
	}
	made := firstMissing(folder)
	defer func() {
		if err != nil {
			removeEmpty(folder, made)
		}
	}()
	l, err := acquire(ctx, filepath.Join(folder, ".lock"), func() { o.report(Progress{File: f.name, Total: f.gzBytes, Waiting: true}) })
	if err != nil {
		return "", s.unwritable(folder, err)
	}
	defer l.release()
	clean(path)
	if present(path) { // another process was faster
		return path, nil
	}
	var causes []error
	for _, from := range s.sources(o) {
		err := from(ctx, s, &f, path, o)
		if err == nil {
			return path, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		var w *writeError
		if errors.As(err, &w) { // other sources would not help
			return "", s.unwritable(folder, w.error)
		}
		if !errors.Is(err, errNoSource) {
			causes = append(causes, err)
		}
	}
	return "", &FetchError{s.name, f.name, causes}
}

// unwritable describes an error of the cache folder.
func (s *source) unwritable(folder string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var p *fs.PathError
	path := folder
	if errors.As(err, &p) {
		path, err = p.Path, p.Err
	}
	return &FileError{Dataset: s.name, Path: path, Err: fmt.Errorf("the cache cannot be written: %w", err), Hint: "make room or give another folder; or give a folder that has the files"}
}

// errNoSource is a source that does not exist here.
var errNoSource = errors.New("no such source")

// writeError is an error of the cache, not of a source.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// sources returns where the files may come from, in order.
func (s *source) sources(o *options) []func(context.Context, *source, *file, string, *options) error {
	from := []func(context.Context, *source, *file, string, *options) error{fromModule}
	mirrors := o.mirrors
	if mirrors == nil {
		mirrors = s.mirrors
		if m := os.Getenv("EBB_DATASETS_MIRROR"); m != "" {
			mirrors = []string{m}
		}
	}
	for _, m := range mirrors {
		from = append(from, func(ctx context.Context, s *source, f *file, path string, o *options) error {
			return fromMirror(ctx, strings.TrimSuffix(m, "/")+"/"+f.name+".gz", f, path, o)
		})
	}
	return from
}

// clean removes drafts of path that a process left when it was killed. The caller
// has the lock.
func clean(path string) {
	folder := filepath.Dir(path)
	entries, _ := os.ReadDir(folder) // it was just made or read
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), draft(path)) {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// draft is how the names begin that path has while it is written.
func draft(path string) string { return "." + filepath.Base(path) + "-" }

func present(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstMissing returns the first folder on the way to folder that does not
// exist, or "".
func firstMissing(folder string) string {
	missing := ""
	for {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = folder
		folder = filepath.Dir(folder)
	}
}

// removeEmpty removes folder and those above it up to first, if they are empty.
func removeEmpty(folder, first string) {
	if first == "" {
		return
	}
	for os.Remove(folder) == nil && folder != first {
		folder = filepath.Dir(folder)
	}
}

// place puts the gzipped file in at path, unpacked if the cache has it so: checked,
// and complete or not at all.
func place(ctx context.Context, in io.Reader, f *file, path string) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), draft(path)+"*")
	if err != nil {
		return &writeError{err}
	}
	defer func() {
		_ = temp.Close()
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	sum := md5.New()
	in = io.TeeReader(io.LimitReader(reader{ctx, in}, f.gzBytes+1), sum)
	if f.cached() == f.name {
		gz, err := gzip.NewReader(in)
		if err != nil {
			return damaged(err)
		}
		sha := sha256.New()
		n, err := copyTo(io.MultiWriter(writer{temp}, sha), io.LimitReader(gz, f.size()+1))
		if err != nil {
			return err
		}
		if n != f.size() || hex.EncodeToString(sha.Sum(nil)) != f.sha256 {
			return fmt.Errorf("its content has not the expected checksum")
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			return err
		}
	} else if _, err := copyTo(writer{temp}, in); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.gzMD5 {
		return fmt.Errorf("it has not the expected checksum")
	}
	if err := errors.Join(temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
		return &writeError{err}
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return &writeError{err}
	}
	return nil
}

// copyTo is io.Copy whose errors of the reader are the packing's.
func copyTo(w io.Writer, r io.Reader) (int64, error) {
	n, err := io.Copy(w, r)
	var bad *writeError
	if err == nil || errors.As(err, &bad) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	return n, damaged(err)
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// writer marks errors as the cache's.
type writer struct{ w io.Writer }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

func (o *options) report(p Progress) {
	if o.progress != nil {
		o.progress(p)
	}
}
