package snapshot

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Open reads a snapshot from a file, or from standard input where the name is
// "-". Errors name the file; those of its contents wrap a [*FormatError].
func Open(name string) (*Snapshot, error) {
	if name == "-" {
		s, err := Read(os.Stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return s, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Read reads a snapshot: a pickle of protocol 2 to 5 or JSON, gzipped or not. It
// reads r once, to the snapshot's end. An error is a [*FormatError] unless r
// itself failed.
func Read(r io.Reader) (*Snapshot, error) {
	in := bufio.NewReaderSize(r, peek)
	head, err := in.Peek(2)
	if len(head) == 0 {
		if err != io.EOF {
			return nil, err
		}
		return nil, &FormatError{0, "the file is empty; the dump may have failed"}
	}
	packed := bytes.HasPrefix(head, []byte{0x1f, 0x8b})
	if packed {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, gzipError(err)
		}
		in = bufio.NewReaderSize(z, peek)
	}
	s, err := readPlain(in)
	if err == nil && packed {
		// The checksum comes after the object, so the file must be read to its end.
		_, err = io.CopyN(io.Discard, in, maxTail)
		if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		if packed {
			err = gzipError(err)
		}
		return nil, err
	}
	if packed {
		s.Format += ", gzipped"
	}
	return s, nil
}

// peek is enough to tell formats apart. Larger reads pass the buffer by.
const peek = 64

// maxTail is how much of a gzipped file after the snapshot is read, in bytes.
const maxTail = 1 << 20

func gzipError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return &FormatError{0, "the gzipped file ends in the middle"}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return &FormatError{0, "the gzipped file is damaged"}
	default:
		var format *FormatError
		if errors.As(err, &format) {
			return err
		}
		return &FormatError{0, "the gzipped file is damaged: " + err.Error()}
	}
}

func readPlain(in *bufio.Reader) (*Snapshot, error) {
	head, err := in.Peek(3)
	if len(head) == 0 && err != io.EOF {
		return nil, err
	}
	if bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
		head, _ = in.Peek(1)
	}
	if len(head) == 0 {
		return nil, &FormatError{0, "the file is empty; the dump may have failed"}
	}
	b := newBuilder()
	src := newSource(in)
	var top value
	switch head[0] {
	case 0x80:
		var proto byte
		if top, proto, err = readPickle(b, src); err == nil && proto < 2 {
			err = &FormatError{0, fmt.Sprintf("pickle protocol %d is older than snapshots are", proto)}
		}
		b.s.Format = fmt.Sprintf("pickle protocol %d", proto)
	case '{', '[', ' ', '\t', '\r', '\n':
		top, err = readJSON(b, src)
		b.s.Format = "JSON"
	default:
		err = &FormatError{0, "it is neither a pickle of protocol 2 to 5, nor JSON, nor one of these gzipped"}
	}
	if err != nil {
		return nil, err
	}
	return b.assemble(top)
}
