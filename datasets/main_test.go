package datasets

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/cpu"
)

func TestMain(m *testing.M) {
	code := m.Run()
	cpu.StopWorkers()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// tiny is a data set like MNIST, of few images, and its unpacked files by name.
type tiny struct {
	source
	content map[string][]byte
}

// newTiny returns one whose content depends on seed. With unpacked false the
// unpacked files' checksums are not known.
func newTiny(seed byte, unpacked bool) *tiny {
	s := &tiny{source{name: "MNIST", classes: mnist.classes}, map[string][]byte{}}
	add := func(name string, dims []int) file {
		f := file{name: name, dims: dims}
		body := make([]byte, f.bytes())
		for i := range body {
			body[i] = byte(i*7+i/28) ^ seed
			if len(dims) == 1 {
				body[i] = (byte(i) + seed) % 10
			}
		}
		content := append(idxHeader(idxBytes, dims...), body...)
		gz := pack(content)
		sum := md5.Sum(gz)
		f.gzBytes, f.gzMD5 = int64(len(gz)), hex.EncodeToString(sum[:])
		if unpacked {
			sum := sha256.Sum256(content)
			f.sha256 = hex.EncodeToString(sum[:])
		}
		s.content[name] = content
		return f
	}
	for split, n := range [...]int{60, 20} {
		prefix := [...]string{"train", "t10k"}[split]
		s.files[split].images = add(prefix+"-images-idx3-ubyte", []int{n, 28, 28})
		s.files[split].labels = add(prefix+"-labels-idx1-ubyte", []int{n})
	}
	return s
}

func idxHeader(kind byte, dims ...int) []byte {
	b := []byte{0, 0, kind, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(d))
	}
	return b
}

func pack(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// write writes the four files into folder, made if need be.
func (s *tiny) write(t testing.TB, folder string, gzipped bool) {
	t.Helper()
	for name, content := range s.content {
		if gzipped {
			name, content = name+".gz", pack(content)
		}
		put(t, filepath.Join(folder, name), content)
	}
}

func put(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// files lists all files below folder, and what they are.
func files(t testing.TB, folder string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			all = append(all, strings.TrimPrefix(path, folder))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// opened opens a data set in a runtime of its own, calls f with it or the error,
// and checks that nothing is held afterwards.
func (s *tiny) opened(t testing.TB, split Split, f func(d *Images, err error), opts ...Option) {
	t.Helper()
	openedSource(t, &s.source, split, f, opts...)
}

func openedSource(t testing.TB, s *source, split Split, f func(d *Images, err error), opts ...Option) {
	t.Helper()
	rt := ebb.NewRuntime()
	store := rt.NewStore("data")
	d, err := open(t.Context(), s, store, split, nil, opts)
	if (d == nil) == (err == nil) || store.Closed() != (err != nil) {
		t.Errorf("a data set: %v, error %v, store closed: %v", d != nil, err, store.Closed())
	}
	f(d, err)
	if d != nil {
		d.Close()
	}
	if s := rt.Stats(); s.Live.Current != 0 || s.Owners != 0 {
		t.Errorf("live %d, owners %d", s.Live.Current, s.Owners)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}
