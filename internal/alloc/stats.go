package alloc

import (
	"cmp"
	"iter"
	"slices"
)

// Stats are an allocator's figures. Sizes are bytes. Unless the build has guard
// pages, Mapped = InUse + Free; with them, they are in neither.
type Stats struct {
	Mapped      int64 // mapped from the system (PyTorch's reserved bytes)
	MappedPeak  int64 // the most since New or ResetPeaks
	InUse       int64 // in blocks handed out, as rounded (PyTorch's allocated bytes)
	InUsePeak   int64 // the most since New or ResetPeaks
	Free        int64 // cached: mapped and in no block
	LargestHole int64 // the largest contiguous part of Free
	Segments    int64 // mappings held
	Blocks      int64 // blocks handed out
	NumMaps     int64 // mappings made, ever
	NumUnmaps   int64 // mappings ended, ever
	NumRetries  int64 // times the cache was emptied, in part or whole, to meet a request
	NumOOMs     int64 // requests that failed
}

// Stats returns the figures of this moment.
func (a *Allocator) Stats() Stats {
	p := &a.plan
	return Stats{
		Mapped:      int64(p.mapped),
		MappedPeak:  int64(p.mappedPeak),
		InUse:       int64(p.inUse),
		InUsePeak:   int64(p.usedPeak),
		Free:        int64(p.holes),
		LargestHole: int64(p.largestHole()),
		Segments:    int64(len(p.segments)),
		Blocks:      p.blocks,
		NumMaps:     p.maps,
		NumUnmaps:   p.unmaps,
		NumRetries:  p.retries,
		NumOOMs:     a.ooms,
	}
}

// ResetPeaks sets MappedPeak and InUsePeak to what is mapped and in use now, as
// torch.cuda.reset_peak_memory_stats does.
func (a *Allocator) ResetPeaks() {
	a.plan.mappedPeak, a.plan.usedPeak = a.plan.mapped, a.plan.inUse
}

// Segment describes one mapping.
type Segment struct {
	Addr  uint64
	Size  int64 // bytes
	Small bool  // it holds requests below 1 MiB, and large ones only in need
	first *Block
}

// Span is a part of a segment.
type Span struct {
	Addr  uint64
	Size  int64 // bytes
	State State
	Block *Block // the block handed out, where State is InUse
}

// State says what a span is.
type State uint8

// What a span can be.
const (
	Free  State = iota // cached
	InUse              // a block handed out
	Guard              // guard pages, with the space between one and a block
)

// Segments yields the mappings in order of address. Nothing may be allocated or
// freed meanwhile.
func (a *Allocator) Segments() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		sorted := slices.SortedFunc(slices.Values(a.plan.segments), func(x, y *segment) int {
			return cmp.Compare(x.addr, y.addr)
		})
		for _, s := range sorted {
			if !yield(Segment{Addr: s.addr, Size: int64(s.size), Small: s.small, first: s.first}) {
				return
			}
		}
	}
}

// Spans yields the parts of a segment in order of address. They cover it without
// gaps.
func (s Segment) Spans() iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for b := s.first; b != nil; b = b.next {
			if b.state == hole {
				if !yield(Span{b.addr, int64(b.size), Free, nil}) {
					return
				}
				continue
			}
			data := b.dataAddr()
			end := data + b.rounded
			if b.addr < data && !yield(Span{b.addr, int64(data - b.addr), Guard, nil}) ||
				!yield(Span{data, int64(b.rounded), InUse, b}) ||
				end < b.end() && !yield(Span{end, int64(b.end() - end), Guard, nil}) {
				return
			}
		}
	}
}
