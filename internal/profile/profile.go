// Package profile writes profiles in pprof's format (perftools.profiles.Profile,
// gzipped), by stack and with labels, for go tool pprof and its flame graphs.
package profile

import (
	"compress/gzip"
	"encoding/binary"
	"io"
)

// ValueType names what a sample's value counts.
type ValueType struct{ Type, Unit string }

// Frame is one level of a stack.
type Frame struct {
	Function, File string
	Line           int64
}

// Label is a string attached to a sample.
type Label struct{ Key, Value string }

// Profile collects samples. Stacks are given innermost frame first.
type Profile struct {
	types     []ValueType
	preferred string
	time      int64
	strings   map[string]int64
	table     []string
	functions map[function]uint64
	locations map[location]uint64
	body      []byte // samples, then locations and functions as they come
	scratch   []byte
	packed    []byte
}

type function struct{ name, file int64 }

type location struct {
	function uint64
	line     int64
}

// New returns a profile of values of the given types. Readers show the preferred
// one first. Time is in nanoseconds since the Unix epoch, 0 for unknown.
func New(types []ValueType, preferred string, time int64) *Profile {
	return &Profile{
		types: types, preferred: preferred, time: time, strings: map[string]int64{"": 0}, table: []string{""},
		functions: map[function]uint64{}, locations: map[location]uint64{},
	}
}

// The fields of the format's messages.
const (
	profileSampleType, profileSample, profileMapping, profileLocation, profileFunction = 1, 2, 3, 4, 5
	profileStrings, profileTime, profileComment, profileDefault                        = 6, 9, 13, 14
)

func (p *Profile) str(s string) int64 {
	id, ok := p.strings[s]
	if !ok {
		id = int64(len(p.table))
		p.strings[s] = id
		p.table = append(p.table, s)
	}
	return id
}

func varint(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3), v)
}

func message(b []byte, field int, content []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|2)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// Add adds a sample: a stack, a value for each type, and labels.
func (p *Profile) Add(stack []Frame, values []int64, labels ...Label) {
	p.packed = p.packed[:0]
	for _, f := range stack {
		p.packed = binary.AppendUvarint(p.packed, p.location(f))
	}
	sample := message(nil, 1, p.packed)
	p.packed = p.packed[:0]
	for _, v := range values {
		p.packed = binary.AppendUvarint(p.packed, uint64(v))
	}
	sample = message(sample, 2, p.packed)
	for _, l := range labels {
		if l.Value != "" {
			text := varint(nil, 1, uint64(p.str(l.Key)))
			sample = message(sample, 3, varint(text, 2, uint64(p.str(l.Value))))
		}
	}
	p.body = message(p.body, profileSample, sample)
}

func (p *Profile) location(f Frame) uint64 {
	fn := function{p.str(f.Function), p.str(f.File)}
	fid, ok := p.functions[fn]
	if !ok {
		fid = uint64(len(p.functions) + 1)
		p.functions[fn] = fid
		b := varint(nil, 1, fid)
		b = varint(b, 2, uint64(fn.name))
		b = varint(b, 3, uint64(fn.name))
		p.body = message(p.body, profileFunction, varint(b, 4, uint64(fn.file)))
	}
	loc := location{fid, f.Line}
	id, ok := p.locations[loc]
	if !ok {
		id = uint64(len(p.locations) + 1)
		p.locations[loc] = id
		line := varint(nil, 1, fid)
		if f.Line > 0 {
			line = varint(line, 2, uint64(f.Line))
		}
		b := varint(nil, 1, id)
		b = varint(b, 2, 1)
		p.body = message(p.body, profileLocation, message(b, 4, line))
	}
	return id
}

// Comment adds a remark for people, which go tool pprof -comments prints.
func (p *Profile) Comment(text string) {
	p.body = varint(p.body, profileComment, uint64(p.str(text)))
}

// Write writes the profile, gzipped.
func (p *Profile) Write(w io.Writer) error {
	var head []byte
	for _, t := range p.types {
		b := varint(nil, 1, uint64(p.str(t.Type)))
		head = message(head, profileSampleType, varint(b, 2, uint64(p.str(t.Unit))))
	}
	// A mapping that has functions, files and lines keeps readers from looking for
	// a binary.
	m := varint(nil, 1, 1)
	for _, has := range []int{7, 8, 9} {
		m = varint(m, has, 1)
	}
	head = message(head, profileMapping, m)
	if p.time > 0 {
		head = varint(head, profileTime, uint64(p.time))
	}
	head = varint(head, profileDefault, uint64(p.str(p.preferred)))
	z := gzip.NewWriter(w)
	if _, err := z.Write(head); err != nil {
		return err
	}
	if _, err := z.Write(p.body); err != nil {
		return err
	}
	for _, s := range p.table {
		p.scratch = message(p.scratch[:0], profileStrings, []byte(s))
		if _, err := z.Write(p.scratch); err != nil {
			return err
		}
	}
	return z.Close()
}
