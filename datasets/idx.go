package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/ebb-ml/ebb"
)

// The idx format: two zeros, the type of the elements, the number of dimensions,
// each dimension as a big-endian uint32, and the elements.

// idxBytes is the type of elements that are unsigned bytes.
const idxBytes = 0x08

// maxDims is how many dimensions a header may have. The format allows 255; no
// data set has more than a few.
const maxDims = 8

func headerBytes(dims int) int { return 4 + 4*dims }

// errNotIDX is the error of a file that is in another format.
var errNotIDX = errors.New("this is no idx file of bytes")

// readHeader reads the header of an idx file of bytes and returns its
// dimensions, whose product is no more than an int holds.
func readHeader(r io.Reader) ([]int, error) {
	var b [4 + 4*maxDims]byte
	if n, err := io.ReadFull(r, b[:4]); err != nil {
		return nil, cut(err, int64(n), 4)
	}
	if b[0] != 0 || b[1] != 0 || b[2] != idxBytes || b[3] == 0 {
		return nil, fmt.Errorf("%w: it starts with %q", errNotIDX, b[:4])
	}
	dims := int(b[3])
	if dims > maxDims {
		return nil, fmt.Errorf("its header claims %d dimensions", dims)
	}
	size := headerBytes(dims)
	if n, err := io.ReadFull(r, b[4:size]); err != nil {
		return nil, cut(err, int64(4+n), int64(size))
	}
	out, product := make([]int, dims), uint64(1)
	for i := range out {
		d := uint64(binary.BigEndian.Uint32(b[4+4*i:]))
		if d > 0 && product > math.MaxInt/4/d {
			return nil, fmt.Errorf("its header claims %s elements", times(b[4:size]))
		}
		product *= d
		out[i] = int(d)
	}
	return out, nil
}

// readBody reads the elements that follow the header, and nothing may follow
// them. The caller has decided that dims are reasonable.
func readBody(o ebb.Owner, r io.Reader, dims []int) (*ebb.Tensor, error) {
	return ebb.FromFunc(o, dims, func(dst []uint8) error {
		n, err := io.ReadFull(r, dst)
		if len(dst) > 0 && err != nil {
			head := int64(headerBytes(len(dims)))
			return cut(err, head+int64(n), head+int64(len(dst)))
		}
		var more [1]byte
		switch n, err := io.ReadFull(r, more[:]); {
		case n > 0:
			return fmt.Errorf("it goes on after the %d bytes that its header tells of", headerBytes(len(dims))+len(dst))
		case err != io.EOF:
			return err
		}
		return nil
	}, ebb.Input)
}

// cut describes an end that came too early, after n of want bytes.
func cut(err error, n, want int64) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if n == 0 {
		return errors.New("it is empty")
	}
	return fmt.Errorf("it is cut: %d of %d bytes: %w", n, want, io.ErrUnexpectedEOF)
}

// times prints the dimensions of a header.
func times(b []byte) string {
	var s []string
	for ; len(b) > 0; b = b[4:] {
		s = append(s, fmt.Sprint(binary.BigEndian.Uint32(b)))
	}
	return strings.Join(s, " x ")
}

// contents says in words what a file of the given dimensions holds.
func contents(dims []int) string {
	if len(dims) == 1 {
		return fmt.Sprintf("%d labels", dims[0])
	}
	if len(dims) == 3 {
		return fmt.Sprintf("%d images of %d x %d", dims[0], dims[1], dims[2])
	}
	return fmt.Sprintf("an array of %d dimensions", len(dims))
}
