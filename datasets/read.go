package datasets

import (
	"bufio"
	"bytes"
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
	"slices"

	"github.com/ebb-ml/ebb"
)

// read returns the file's elements in store: images as bytes, labels as Int64.
func (s *source) read(ctx context.Context, store *ebb.Store, f file, o *options) (*ebb.Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.dir != "" {
		path, err := s.find(o.dir, f)
		if err != nil {
			return nil, err
		}
		return s.load(store, path, f)
	}
	path, err := s.fetch(ctx, f, o)
	if err != nil {
		return nil, err
	}
	x, err := s.load(store, path, f)
	var bad *FileError
	if !errors.As(err, &bad) {
		return x, err
	}
	// The cache was damaged: what is in it is ours to replace.
	if err := os.Remove(path); err != nil {
		return nil, errors.Join(bad, err)
	}
	if path, err = s.fetch(ctx, f, o); err != nil {
		return nil, errors.Join(bad, err)
	}
	return s.load(store, path, f)
}

// find returns the path of the file in a user's folder.
func (s *source) find(folder string, f file) (string, error) {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return "", &FileError{Dataset: s.name, Path: folder, Err: plain(err), Hint: "it should be a folder with " + f.name + " or " + f.name + ".gz"}
	}
	for _, sub := range []string{"", filepath.Join(s.name, "raw"), "raw"} {
		for _, name := range []string{f.name, f.name + ".gz"} {
			path := filepath.Join(folder, sub, name)
			info, err := os.Stat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err == nil && !info.Mode().IsRegular():
				err = errors.New("it is no regular file")
			}
			if err != nil {
				return "", &FileError{Dataset: s.name, Path: path, Err: plain(err)}
			}
			return path, nil
		}
	}
	return "", &FileError{Dataset: s.name, Path: filepath.Join(folder, f.name), Err: fs.ErrNotExist,
		Hint: fmt.Sprintf("the file, or %s.gz, may also lie in %s", f.name, filepath.Join(folder, s.name, "raw"))}
}

// plain returns an error without the path that a FileError names already.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// load reads a file, gzipped or not, and checks all of it.
func (s *source) load(store *ebb.Store, path string, f file) (x *ebb.Tensor, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, &FileError{Dataset: s.name, Path: path, Err: plain(err)}
	}
	defer in.Close()
	c, err := s.newChecked(in, f)
	if err == nil {
		x, err = c.read(store)
	}
	if err == nil {
		return x, nil
	}
	bad := &FileError{Dataset: s.name, Path: path, Err: plain(err)}
	var w *wrongContent
	if errors.As(err, &w) {
		bad.Hint = w.hint
	}
	return nil, bad
}

// checked is an unpacked view of a file whose checksum is taken on the way.
type checked struct {
	*source
	file
	raw      io.Reader // the file, through the MD5 if it is gzipped
	unpacked io.Reader // through the SHA-256
	md5      interface{ Sum([]byte) []byte }
	sha      interface{ Sum([]byte) []byte }
	gzipped  bool
}

// newChecked looks whether in is gzipped.
func (s *source) newChecked(in io.Reader, f file) (*checked, error) {
	var magic [2]byte
	n, err := io.ReadFull(in, magic[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	in = io.MultiReader(bytes.NewReader(magic[:n]), in)
	sha := sha256.New()
	c := &checked{source: s, file: f, sha: sha}
	if n < 2 || magic != [2]byte{0x1f, 0x8b} {
		c.unpacked = io.TeeReader(in, sha)
		return c, nil
	}
	sum := md5.New()
	c.gzipped, c.md5 = true, sum
	buffered := bufio.NewReaderSize(io.TeeReader(in, sum), 1<<16)
	c.raw = buffered
	gz, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, damaged(err)
	}
	// A bomb unpacks to no more than a byte beyond what is expected.
	c.unpacked = io.TeeReader(gzipReader{io.LimitReader(gz, f.size()+1)}, sha)
	return c, nil
}

// gzipReader says of errors that they are the packing's.
type gzipReader struct{ io.Reader }

func (g gzipReader) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(err)
	}
	return n, err
}

func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return fmt.Errorf("the gzipped file is cut: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("the gzipped file is damaged: %w", err)
}

// wrongContent is a well-formed file of another data set.
type wrongContent struct{ is, hint string }

func (w *wrongContent) Error() string { return w.is }

// read returns the file's elements.
func (c *checked) read(store *ebb.Store) (*ebb.Tensor, error) {
	dims, err := readHeader(c.unpacked)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(dims, c.dims) {
		return nil, fmt.Errorf("it holds %s, expected %s", contents(dims), contents(c.dims))
	}
	// What turns out to be wrong goes with this store.
	draft := store.NewStore("draft")
	defer draft.Close()
	x, err := readBody(draft, c.unpacked, dims)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, err
	}
	if len(dims) > 1 {
		return x.MoveTo(store), nil
	}
	return ebb.FromFunc(store, dims, func(dst []int64) (err error) {
		ebb.Read(x, func(src []uint8) {
			for i, label := range src {
				if int(label) >= len(c.classes) {
					err = fmt.Errorf("label %d is %d, of %d classes", i, label, len(c.classes))
					return
				}
				dst[i] = int64(label)
			}
		})
		return err
	}, ebb.Input)
}

// check compares the checksums after everything was read.
func (c *checked) check() error {
	sha, sum := hex.EncodeToString(c.sha.Sum(nil)), ""
	if c.gzipped {
		if _, err := io.Copy(io.Discard, c.raw); err != nil {
			return err
		}
		sum = hex.EncodeToString(c.md5.Sum(nil))
	}
	switch {
	case c.sha256 != "" && sha == c.sha256:
		return nil
	case c.sha256 == "" && c.gzipped && sum == c.gzMD5:
		return nil
	}
	if other := c.namesake(sha, sum); other != nil {
		return &wrongContent{fmt.Sprintf("this is %s, not %s", other.name, c.source.name), fmt.Sprintf("the files of both have the same names; open it as %s, or give another folder", other.name)}
	}
	if c.sha256 == "" && !c.gzipped {
		return nil // there is no checksum to compare with
	}
	return &wrongContent{fmt.Sprintf("it has the form but not the content of %s (checksum %s)", c.source.name, sha),
		"it is damaged, or of another data set: the files of MNIST and FashionMNIST have the same names"}
}
