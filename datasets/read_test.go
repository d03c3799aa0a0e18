package datasets

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

func TestLayoutsOfAFolder(t *testing.T) {
	for _, unpacked := range []bool{true, false} {
		s := newTiny(1, unpacked)
		for _, sub := range []string{"", "MNIST/raw", "raw"} {
			for _, gzipped := range []bool{true, false} {
				folder := t.TempDir()
				s.write(t, filepath.Join(folder, sub), gzipped)
				for split, n := range map[Split]int{Train: 60, Test: 20} {
					s.opened(t, split, func(d *Images, err error) {
						if err != nil {
							t.Fatal(err)
						}
						content := s.content[s.files[split].images.name]
						if d.Len() != n || !slices.Equal(d.Images().Uint8s(), content[16:]) || !slices.Equal(d.Images().Shape(), []int{n, 28, 28}) {
							t.Errorf("%d images", d.Len())
						}
						for i, v := range d.Targets().Int64s() {
							if v != int64(s.content[s.files[split].labels.name][8+i]) {
								t.Fatalf("label %d is %d", i, v)
							}
						}
						if d.Images().Kind() != ebb.Input || d.Targets().Kind() != ebb.Input || len(d.Classes()) != 10 {
							t.Error(d.Images().Kind(), d.Targets().Kind())
						}
					}, Dir(folder))
				}
			}
		}
	}
}

// Every row is a file that is wrong in one way, and what the error says.
func TestBadFiles(t *testing.T) {
	s := newTiny(1, true)
	images, labels := s.files[Train].images.name, s.files[Train].labels.name
	good := s.content[images]
	flip := func(b []byte, at int) []byte {
		b = slices.Clone(b)
		b[at] ^= 0x10
		return b
	}
	gz := pack(good)
	for _, c := range []struct {
		what, name string
		content    []byte
		want       string
		cause      error
	}{
		{"empty", images, nil, "empty", nil},
		{"one byte", images, []byte{0}, "cut", io.ErrUnexpectedEOF},
		{"cut in the header", images, good[:9], "cut: 9 of 16", io.ErrUnexpectedEOF},
		{"cut after the header", images, good[:16], "cut: 16 of 47056", io.ErrUnexpectedEOF},
		{"cut", images, good[:20000], "cut: 20000 of 47056", io.ErrUnexpectedEOF},
		{"longer", images, append(slices.Clone(good), 0), "goes on after", nil},
		{"corrupted", images, flip(good, 30000), "not the content of MNIST", nil},
		{"labels under the images' name", images, s.content[labels], "holds 60 labels, expected 60 images", nil},
		{"images under the labels' name", labels, good, "holds 60 images of 28 x 28, expected 60 labels", nil},
		{"test images", images, s.content[s.files[Test].images.name], "holds 20 images", nil},
		{"test labels", labels, s.content[s.files[Test].labels.name], "holds 20 labels", nil},
		{"other type", images, idxHeader(0x0d, 60, 28, 28), "no idx file", nil},
		{"a page", images, []byte("<!DOCTYPE html><html>"), "no idx file", nil},
		{"huge claim", images, idxHeader(idxBytes, 4000000000, 28, 28), "expected 60 images", nil},
		{"overflow", images, idxHeader(idxBytes, 4000000000, 4000000000, 4000000000), "claims", nil},
		{"other set", images, newTiny(9, true).content[images], "MNIST and FashionMNIST have the same names", nil},
		{"other set's labels", labels, newTiny(9, true).content[labels], "MNIST and FashionMNIST have the same names", nil},
		{"gzip cut", images + ".gz", gz[:len(gz)/2], "gzipped file is cut", io.ErrUnexpectedEOF},
		{"gzip cut in its header", images + ".gz", gz[:5], "gzipped file is cut", io.ErrUnexpectedEOF},
		{"gzip without its end", images + ".gz", gz[:len(gz)-3], "gzipped file is cut", io.ErrUnexpectedEOF},
		{"gzip corrupted", images + ".gz", flip(gz, len(gz)-6), "gzipped file is damaged", nil},
		{"gzip of nothing", images + ".gz", pack(nil), "empty", nil},
		{"gzip twice", images + ".gz", pack(gz), "no idx file", nil},
		{"bomb", images + ".gz", pack(append(slices.Clone(good), make([]byte, 4<<20)...)), "goes on after", nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			folder := t.TempDir()
			s.write(t, folder, false)
			if strings.HasSuffix(c.name, ".gz") {
				if err := os.Remove(filepath.Join(folder, images)); err != nil {
					t.Fatal(err)
				}
			}
			put(t, filepath.Join(folder, c.name), c.content)
			before := files(t, folder)
			s.opened(t, Train, func(_ *Images, err error) {
				var e *FileError
				if !errors.As(err, &e) || e.Path != filepath.Join(folder, c.name) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("error %v", err)
				}
				if c.cause != nil && !errors.Is(err, c.cause) {
					t.Errorf("%v is not %v", err, c.cause)
				}
			}, Dir(folder))
			if after := files(t, folder); after != before {
				t.Errorf("the folder has\n%s\nbefore\n%s", after, before)
			}
		})
	}
}

func TestBadFolders(t *testing.T) {
	s := newTiny(1, true)
	name := s.files[Train].images.name
	empty := t.TempDir()
	aFile := filepath.Join(empty, "file")
	put(t, aFile, nil)
	folderAsFile := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folderAsFile, name), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder, path, want string
		cause              error
	}{
		{filepath.Join(empty, "missing"), filepath.Join(empty, "missing"), "should be a folder with " + name, fs.ErrNotExist},
		{empty, filepath.Join(empty, name), "may also lie in", fs.ErrNotExist},
		{aFile, aFile, "no folder", nil},
		{folderAsFile, filepath.Join(folderAsFile, name), "no regular file", nil},
	} {
		s.opened(t, Train, func(_ *Images, err error) {
			var e *FileError
			if !errors.As(err, &e) || e.Path != c.path || !strings.Contains(err.Error(), c.want) || c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("%s: %v", c.folder, err)
			}
		}, Dir(c.folder))
	}
	if runtime.GOOS != "windows" && os.Geteuid() != 0 {
		folder := t.TempDir()
		s.write(t, folder, false)
		if err := os.Chmod(filepath.Join(folder, name), 0); err != nil {
			t.Fatal(err)
		}
		s.opened(t, Train, func(_ *Images, err error) {
			if !errors.Is(err, fs.ErrPermission) {
				t.Error(err)
			}
		}, Dir(folder))
	}
}

// Labels are checked even where there is no checksum.
func TestLabelsBeyondTheClasses(t *testing.T) {
	s := newTiny(1, false)
	folder := t.TempDir()
	name := s.files[Test].labels.name
	s.content[name][8+7] = 10
	s.write(t, folder, false)
	s.opened(t, Test, func(_ *Images, err error) {
		if err == nil || !strings.Contains(err.Error(), "label 7 is 10, of 10 classes") {
			t.Error(err)
		}
	}, Dir(folder))
}

// A gzip bomb is given up at the size that the data set has.
func TestBombIsBounded(t *testing.T) {
	s := newTiny(1, true)
	read := &counting{}
	f := s.files[Train].images
	c, err := s.newChecked(bytes.NewReader(pack(append(slices.Clone(s.content[f.name]), make([]byte, 8<<20)...))), f)
	if err != nil {
		t.Fatal(err)
	}
	c.unpacked = io.TeeReader(c.unpacked, read)
	rt := ebb.NewRuntime()
	st := rt.NewStore("data")
	if _, err := c.read(st); err == nil {
		t.Error("no error")
	}
	if read.n > f.size()+1 {
		t.Errorf("%d bytes unpacked, %d expected", read.n, f.size())
	}
	if peak := rt.Stats().Live.Peak; peak > f.bytes() {
		t.Errorf("peak %d", peak)
	}
	st.Close()
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
