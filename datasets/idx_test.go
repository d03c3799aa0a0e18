package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ebb-ml/ebb"
)

// readIDX reads a whole idx file of no more than most elements.
func readIDX(o ebb.Owner, r io.Reader, most int) (*ebb.Tensor, error) {
	dims, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	n := 1
	for _, d := range dims {
		n *= d
	}
	if n > most {
		return nil, errors.New("too large")
	}
	return readBody(o, r, dims)
}

func TestReadIDX(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	st := rt.NewStore("data")
	defer st.Close()
	b := append(idxHeader(idxBytes, 2, 3), 1, 2, 3, 4, 5, 6)
	for _, r := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
		x, err := readIDX(st, r, 6)
		if err != nil || !slices.Equal(x.Shape(), []int{2, 3}) || !slices.Equal(x.Uint8s(), []uint8{1, 2, 3, 4, 5, 6}) || x.Kind() != ebb.Input {
			t.Errorf("%v, %v", x, err)
		}
	}
	if x, err := readIDX(st, bytes.NewReader(idxHeader(idxBytes, 0, 3)), 6); err != nil || x.Numel() != 0 {
		t.Errorf("no elements: %v, %v", x, err)
	}
	for want, b := range map[string][]byte{
		"it is empty":              {},
		"2 of 4 bytes":             {0, 0},
		"6 of 8 bytes":             {0, 0, idxBytes, 1, 0, 0},
		"13 of 14 bytes":           {0, 0, idxBytes, 1, 0, 0, 0, 6, 1, 2, 3, 4, 5},
		"goes on after the 9":      {0, 0, idxBytes, 1, 0, 0, 0, 1, 1, 2},
		`starts with "<htm"`:       []byte("<html>"),
		"no idx file of bytes":     idxHeader(0x0d, 1),
		"claims 9 dimensions":      idxHeader(idxBytes, 1, 1, 1, 1, 1, 1, 1, 1, 1),
		"4294967295 x 4294967295 ": idxHeader(idxBytes, 4294967295, 4294967295, 2),
		"too large":                idxHeader(idxBytes, 7),
	} {
		if _, err := readIDX(st, bytes.NewReader(b), 6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	broken := errors.New("broken")
	if _, err := readIDX(st, io.MultiReader(bytes.NewReader(b[:9]), iotest.ErrReader(broken)), 6); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add(append(idxHeader(idxBytes, 2, 3), 1, 2, 3, 4, 5, 6))
	f.Add(idxHeader(idxBytes, 0, 4294967295))
	f.Add(idxHeader(idxBytes, 4294967295, 4294967295, 4294967295))
	f.Add(idxHeader(0x0b, 1, 1))
	f.Add([]byte{0, 0, idxBytes, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		rt := ebb.NewRuntime()
		st := rt.NewStore("data")
		x, err := readIDX(st, bytes.NewReader(b), 1<<16)
		if err == nil {
			// An obvious reader agrees.
			n, at := 1, 4
			for i := range int(b[3]) {
				d := int(binary.BigEndian.Uint32(b[at:]))
				if x.Size(i) != d {
					t.Errorf("dimension %d is %d, want %d", i, x.Size(i), d)
				}
				n *= d
				at += 4
			}
			if x.Dim() != int(b[3]) || len(b) != at+n || !bytes.Equal(x.Uint8s(), b[at:]) {
				t.Errorf("shape %v of %d bytes", x.Shape(), len(b))
			}
		} else if rt.Stats().Live.Current != 0 {
			t.Errorf("live %d after %v", rt.Stats().Live.Current, err)
		}
		st.Close()
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
}
