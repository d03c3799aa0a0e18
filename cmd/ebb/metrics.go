package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// metrics writes JSON lines, each with one system call, so that the file can be
// followed while it grows. A nil metrics writes nothing.
type metrics struct {
	path string
	w    io.WriteCloser
	line []byte
}

// openMetrics opens a file anew, or returns nil for an empty path.
func openMetrics(path string) (*metrics, error) {
	if path == "" {
		return nil, nil
	}
	w, err := openInPlace(path)
	if err != nil {
		return nil, fileError("write", path, err)
	}
	return &metrics{path: path, w: w}, nil
}

// step writes {"epoch":0,"step":0,"loss":2.302316}. The loss has the digits that
// restore the float32. JSON knows no NaN or infinity: these are null.
func (m *metrics) step(epoch, step int, loss float32) error {
	if m == nil {
		return nil
	}
	m.line = fmt.Appendf(m.line[:0], `{"epoch":%d,"step":%d,"loss":`, epoch, step)
	if x := float64(loss); math.IsNaN(x) || math.IsInf(x, 0) {
		m.line = append(m.line, "null"...)
	} else {
		m.line = strconv.AppendFloat(m.line, x, 'g', -1, 32)
	}
	return m.write()
}

// accuracy writes {"epoch":0,"accuracy":0.8655}.
func (m *metrics) accuracy(epoch int, share float64) error {
	if m == nil {
		return nil
	}
	m.line = fmt.Appendf(m.line[:0], `{"epoch":%d,"accuracy":`, epoch)
	m.line = strconv.AppendFloat(m.line, share, 'g', -1, 64)
	return m.write()
}

// write ends the line and writes it.
func (m *metrics) write() error {
	m.line = append(m.line, "}\n"...)
	if _, err := m.w.Write(m.line); err != nil {
		return fileError("write", m.path, err)
	}
	return nil
}

// close ends the file.
func (m *metrics) close() error {
	if m == nil {
		return nil
	}
	if err := m.w.Close(); err != nil {
		return fileError("close", m.path, err)
	}
	return nil
}
