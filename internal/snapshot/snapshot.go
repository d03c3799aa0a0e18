// Package snapshot reads and writes PyTorch's memory snapshots: the segments a
// caching allocator holds, the blocks in them, and the trace of its events with
// their call stacks.
//
// [Read] takes what torch.cuda.memory._dump_snapshot wrote (pickle protocols 2 to
// 5, torch 1.13 to the newest), the same structure as JSON, and either of them
// gzipped. It reads a stream once. Events lie in columns of 32 bytes each, stacks
// and strings are interned, and what the file shares stays shared, so memory
// grows with the number of distinct objects and never with what they would
// expand to. Files are taken for hostile: no length is trusted, nothing is
// executed, and what cannot be understood is left out with a warning.
//
// [Snapshot.Write] writes the same structure so that PyTorch's viewer and the
// other readers of its format open it.
package snapshot

import (
	"fmt"
	"slices"
)

// HostDevice is the index of the device that stands for pinned host memory.
const HostDevice = -1

// Snapshot is the state and history of the caching allocators of one process.
type Snapshot struct {
	Devices     []*Device    // in order of index, the host's last
	Settings    []Setting    // the allocator's settings, as the file has them
	Annotations []Annotation // ranges of the program, in order of time
	Warnings    []string     // what in the file is doubtful, for people
	Format      string       // what was read, such as "pickle protocol 4"

	strings stringTable
	frames  frameTable
	stacks  stackTable
	classes classTable
}

// New returns an empty snapshot, to be filled and written.
func New() *Snapshot {
	s := &Snapshot{}
	s.strings.init()
	s.frames.init()
	s.stacks.init()
	s.classes.init()
	return s
}

// Without returns a snapshot without devices, settings and annotations whose ids
// mean what they mean in s. Nothing may be interned in either afterwards.
func (s *Snapshot) Without() *Snapshot {
	t := *s
	t.Devices, t.Settings, t.Annotations, t.Warnings = nil, nil, nil, nil
	return &t
}

// Device is one allocator: a GPU's, or the host's.
type Device struct {
	Index      int // the ordinal; [HostDevice] for the host
	Segments   []Segment
	Trace      Trace
	MaxEntries uint64 // the trace's bound, in events; 0 where the file does not say
	Overflowed bool   // the file says that the trace dropped its oldest events
}

// Name names a device for people.
func (d *Device) Name() string {
	if d.Index == HostDevice {
		return "host"
	}
	return fmt.Sprintf("device %d", d.Index)
}

// Device returns the device with an index, which it makes if there is none.
func (s *Snapshot) Device(index int) *Device {
	at := len(s.Devices)
	for i, d := range s.Devices {
		if d.Index == index {
			return d
		}
		if d.Index == HostDevice || index != HostDevice && d.Index > index {
			at = i
			break
		}
	}
	d := &Device{Index: index}
	s.Devices = slices.Insert(s.Devices, at, d)
	return d
}

// Setting is one of the allocator's settings.
type Setting struct{ Key, Value string }

// Setting returns the value of a setting, "" where the file has none.
func (s *Snapshot) Setting(key string) string {
	for _, set := range s.Settings {
		if set.Key == key {
			return set.Value
		}
	}
	return ""
}

// Annotation is the start or the end of a named range of the program.
type Annotation struct {
	Name   string
	Start  bool
	Device int
	Time   int64 // microseconds since the Unix epoch
}

// Segment is one allocation from the driver or the system, or one mapped run of
// an expandable segment.
type Segment struct {
	Addr, Size uint64 // bytes
	Stream     uint64
	Small      bool // in the pool for small requests
	Expandable bool
	Pool       [2]int64 // {0, 0} is the default pool
	Stack      StackID  // where it was allocated
	Blocks     []Block  // in order of address
}

// Tiled returns the segment's blocks with every gap filled by an inactive one and
// whatever overlaps or lies outside left out, so that they cover it exactly.
func (g *Segment) Tiled() []Block {
	at, end := g.Addr, g.Addr+g.Size
	var blocks []Block
	hole := func(to uint64) {
		if to > at {
			blocks = append(blocks, Block{Addr: at, Size: to - at})
		}
	}
	for _, k := range g.Blocks {
		if k.Size == 0 || k.Addr < at || k.Addr >= end || k.Size > end-k.Addr {
			continue
		}
		hole(k.Addr)
		blocks = append(blocks, k)
		at = k.Addr + k.Size
	}
	hole(end)
	return blocks
}

// Block is a part of a segment, handed out or free.
type Block struct {
	Addr, Size uint64 // bytes, as rounded by the allocator
	Requested  uint64 // bytes asked for; of no meaning where the block is free
	State      BlockState
	Stack      StackID // where it was handed out
	Category   StringID
	Metadata   StringID
}

// BlockState says what a block is.
type BlockState uint8

// What a block can be.
const (
	Inactive    BlockState = iota // free, in the cache
	Allocated                     // handed out
	PendingFree                   // dropped by its holder, waited for by a stream
)

// String returns PyTorch's name of the state.
func (b BlockState) String() string {
	switch b {
	case Allocated:
		return "active_allocated"
	case PendingFree:
		return "active_pending_free"
	default:
		return "inactive"
	}
}

// Active reports whether the block is not free.
func (b *Block) Active() bool { return b.State != Inactive }

// FormatError says why a file is no snapshot.
type FormatError struct {
	Offset int64  // bytes from the start of the (unzipped) file
	What   string // what was found, for people
}

// Error gives the place and the reason.
func (e *FormatError) Error() string {
	return fmt.Sprintf("not a memory snapshot: %s (at byte %d)", e.What, e.Offset)
}
