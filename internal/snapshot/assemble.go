package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxDevices bounds the traces of one file. Each costs a byte or two there and a
// pass over the figures here.
const maxDevices = 1024

// assemble makes the snapshot of the object at the top of a file. Every list is
// used once: what the file shares between devices or segments is counted the
// first time and reported, so that the work is bounded by what the file holds.
func (b *builder) assemble(top value) (*Snapshot, error) {
	top = b.resolve(top)
	switch top.kind() {
	case vList: // torch 1.13: segments alone
		if !b.isSegments(top) {
			return nil, &FormatError{0, "the file holds a list, but not of segments"}
		}
		b.addSegments(top, false)
		b.warnf("the file holds segments alone, without a trace, as torch 1.13 writes it: only what is live now can be said")
	case vPlain:
		if err := b.assembleDict(b.plain[top.index()]); err != nil {
			return nil, err
		}
	default:
		return nil, &FormatError{0, "the file's object is no dict with segments or device_traces, and no list of segments"}
	}
	b.orderSegments()
	s := b.s
	for _, d := range s.Devices {
		if d.Trace.table == nil {
			d.Trace.table = &b.events
		}
	}
	return s, nil
}

func (b *builder) warnf(format string, args ...any) {
	if len(b.s.Warnings) < 100 {
		b.s.Warnings = append(b.s.Warnings, fmt.Sprintf(format, args...))
	}
}

func (b *builder) isSegments(v value) bool {
	l := b.list(v)
	return l == nil || b.resolve(l.runs[0].first).kind() == vSegment
}

func (b *builder) assembleDict(items []value) error {
	found := map[StringID]value{}
	for i := 0; i+1 < len(items); i += 2 {
		if items[i].kind() == vString {
			found[StringID(items[i].index())] = b.resolve(items[i+1])
		}
	}
	known := false
	for _, key := range []StringID{kSegments, kDeviceTraces, kHostSegments, kHostTraces} {
		v, ok := found[key]
		if !ok {
			continue
		}
		if v.kind() != vList && v.kind() != vNone {
			b.warnf("%s is no list and was left out", keyNames[key])
			continue
		}
		known = true
	}
	if !known {
		return &FormatError{0, "the file's dict has neither segments nor device_traces"}
	}
	b.addSegments(found[kSegments], false)
	b.addSegments(found[kHostSegments], true)
	b.addTraces(found[kDeviceTraces], false)
	b.addTraces(found[kHostTraces], true)
	b.addSettings(found[kSettings])
	b.addAnnotations(found[kAnnotations])
	b.addBounds(found)
	return nil
}

// take returns a list's items the first time; later, and for what is no list, nil.
func (b *builder) take(v value, what string) *list {
	l := b.list(v)
	if l == nil {
		return nil
	}
	if l.taken {
		b.warnf("%s: the file uses one list twice; it counts once", what)
		return nil
	}
	l.taken = true
	return l
}

func (b *builder) addSegments(v value, host bool) {
	l := b.take(v, "segments")
	if l == nil {
		return
	}
	odd, twice := 0, 0
	devices := map[int]*Device{} // a file may name many; a map keeps that linear
	l.each(func(item value) bool {
		item = b.resolve(item)
		if item.kind() != vSegment {
			odd++
			return true
		}
		g := &b.segments[item.index()]
		if g.taken {
			twice++
			return true
		}
		g.taken = true
		index := int(g.device)
		switch {
		case host:
			index = HostDevice
		case g.device < 0 || g.device >= maxDevices:
			odd++
			return true
		}
		d := devices[index]
		if d == nil {
			d = b.s.Device(index)
			devices[index] = d
		}
		g.Blocks = b.segmentBlocks(g)
		d.Segments = append(d.Segments, g.Segment)
		return true
	})
	if odd > 0 {
		b.warnf("%d of the segments are not segments or name an impossible device; they were left out", odd)
	}
	if twice > 0 {
		b.warnf("%d segments appear more than once; each counts once", twice)
	}
}

// segmentBlocks returns a segment's blocks in order of address. Files of torch
// 1.13 and 2.0 have no addresses of blocks; they follow from the sizes.
func (b *builder) segmentBlocks(g *segmentRecord) []Block {
	l := b.take(g.blocks, fmt.Sprintf("blocks of the segment at %#x", g.Addr))
	if l == nil {
		return nil
	}
	var blocks []Block
	at := g.Addr
	odd := 0
	var sum, active uint64
	sorted := true
	l.each(func(item value) bool {
		item = b.resolve(item)
		if item.kind() != vBlock {
			odd++
			return true
		}
		r := &b.blocks[item.index()]
		k := r.Block
		if !r.hasAddr {
			k.Addr = at
		}
		at = k.Addr + k.Size
		if n := len(blocks); n > 0 && blocks[n-1].Addr > k.Addr {
			sorted = false
		}
		sum += k.Size
		if k.State != Inactive {
			active += k.Size
			if k.Requested == 0 {
				k.Requested = k.Size // torch 1.12 did not write it
			}
		}
		blocks = append(blocks, k)
		return true
	})
	if !sorted {
		slices.SortStableFunc(blocks, func(x, y Block) int { return cmp.Compare(x.Addr, y.Addr) })
	}
	switch {
	case odd > 0:
		b.warnf("segment at %#x: %d of its blocks are not blocks and were left out", g.Addr, odd)
	case sum != g.Size:
		b.warnf("segment at %#x: its blocks sum to %d bytes, its total_size is %d", g.Addr, sum, g.Size)
	case g.hasTotals && g.declared[1] != active && g.declared[0] != active:
		b.warnf("segment at %#x: its active blocks sum to %d bytes, its active_size is %d", g.Addr, active, g.declared[1])
	}
	return blocks
}

func (b *builder) orderSegments() {
	for _, d := range b.s.Devices {
		slices.SortStableFunc(d.Segments, func(x, y Segment) int { return cmp.Compare(x.Addr, y.Addr) })
		for i := 1; i < len(d.Segments); i++ {
			if p := &d.Segments[i-1]; d.Segments[i].Addr-p.Addr < p.Size {
				b.warnf("%s: the segments at %#x and %#x overlap", d.Name(), p.Addr, d.Segments[i].Addr)
			}
		}
	}
}

func (b *builder) addTraces(v value, host bool) {
	l := b.take(v, "device_traces")
	if l == nil {
		return
	}
	index := 0
	l.each(func(item value) bool {
		if index >= maxDevices {
			b.warnf("more than %d traces; the rest was left out", maxDevices)
			return false
		}
		d := index
		if host {
			d = HostDevice
		}
		if d == HostDevice && index > 0 {
			return false
		}
		index++
		if b.resolve(item).kind() == vEvent && host { // a flat list of events
			b.setTrace(b.s.Device(d), l)
			return false
		}
		if events := b.take(item, fmt.Sprintf("trace of device %d", d)); events != nil {
			b.setTrace(b.s.Device(d), events)
		} else if item.kind() != vList {
			b.warnf("the trace of device %d is no list", d)
		}
		return true
	})
}

// setTrace makes a list of events a device's trace. Nearly always it is one run
// of the event columns; otherwise the events are copied to become one.
func (b *builder) setTrace(d *Device, l *list) {
	d.Trace.table = &b.events
	if len(l.runs) == 1 && l.runs[0].first.kind() == vEvent {
		d.Trace.first, d.Trace.n = l.runs[0].first.index(), int(l.runs[0].n)
		return
	}
	first, odd := b.events.n, 0
	l.each(func(item value) bool {
		item = b.resolve(item)
		if item.kind() != vEvent {
			odd++
			return true
		}
		if b.events.n >= maxObjects {
			return false
		}
		b.events.append(b.events.at(item.index()))
		return true
	})
	d.Trace.first, d.Trace.n = first, b.events.n-first
	if odd > 0 {
		b.warnf("%s: %d entries of the trace are no events and were left out", d.Name(), odd)
	}
}

func (b *builder) addSettings(v value) {
	if v.kind() != vPlain {
		return
	}
	items := b.plain[v.index()]
	for i := 0; i+1 < len(items) && i < 512; i += 2 {
		var t strings.Builder
		b.render(&t, items[i+1], 2)
		b.s.Settings = append(b.s.Settings, Setting{b.s.String(b.text(items[i])), t.String()})
	}
}

func (b *builder) addAnnotations(v value) {
	l := b.take(v, "external_annotations")
	if l == nil {
		return
	}
	l.each(func(item value) bool {
		item = b.resolve(item)
		if item.kind() != vPlain {
			return true
		}
		a := Annotation{}
		items := b.plain[item.index()]
		for i := 0; i+1 < len(items); i += 2 {
			switch items[i] {
			case vString | value(kName):
				a.Name = b.s.String(b.text(items[i+1]))
			case vString | value(kStage):
				a.Start = items[i+1] == vString|value(kStart)
			case vString | value(kDevice):
				a.Device = int(int64(b.uint(items[i+1])))
			case vString | value(kTimeUs):
				a.Time = int64(b.uint(items[i+1]))
			}
		}
		b.s.Annotations = append(b.s.Annotations, a)
		return true
	})
	slices.SortStableFunc(b.s.Annotations, func(x, y Annotation) int { return cmp.Compare(x.Time, y.Time) })
}

// addBounds notes whether the traces wrapped. Versions differ in where they say
// it, and whether once or for each device.
func (b *builder) addBounds(found map[StringID]value) {
	places := []map[StringID]value{found}
	if v := found[kSettings]; v.kind() == vPlain {
		inner := map[StringID]value{}
		items := b.plain[v.index()]
		for i := 0; i+1 < len(items); i += 2 {
			if items[i].kind() == vString {
				inner[StringID(items[i].index())] = items[i+1]
			}
		}
		places = append(places, inner)
	}
	for _, place := range places {
		for _, d := range b.s.Devices {
			if n := b.uint(b.forDevice(place[kMaxEntries], d.Index)); n != 0 {
				d.MaxEntries = n
			}
			if b.uint(b.forDevice(place[kOverflowed], d.Index)) != 0 {
				d.Overflowed = true
			}
		}
	}
}

// forDevice returns a value itself, or the device's where it is a list of them.
func (b *builder) forDevice(v value, index int) value {
	if v.kind() == vPair {
		if index < 0 || index > 1 {
			return vNone
		}
		n, _ := intValue(v.pair()[index])
		return n
	}
	l := b.list(v)
	if l == nil {
		return v
	}
	picked, i := vNone, 0
	l.each(func(item value) bool {
		if i == index {
			picked = item
		}
		i++
		return i <= index
	})
	return picked
}
