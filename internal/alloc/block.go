package alloc

// Block is a piece of memory handed out by an [Allocator]. The allocator recycles
// the record, so a *Block must not be kept after Free.
type Block struct {
	addr, size uint64   // the piece of the segment; in a guarded build, with its guards
	rounded    uint64   // what the holder sees, when used
	segment    *segment // where it lies
	prev, next *Block   // neighbours by address in the segment; next also chains spare records
	state      state
	guarded    bool // its guard pages are set, see guard

	// When free: the part that may hold memory, because it was handed out since it
	// was mapped or released; from == to: none. Joining blocks joins the ends.
	dirtyFrom, dirtyTo uint64

	// When free, links in bins. The first block of a size has its neighbours by
	// size; the others of the size hang under it.
	smaller, larger *Block
	over, under     *Block
}

type state uint8

const (
	spare state = iota // the record is in no segment
	hole               // free
	used               // handed out
)

func (b *Block) end() uint64 { return b.addr + b.size }

// segment is one mapping, cut into blocks without gaps. No two neighbours are
// both free.
type segment struct {
	mapping
	index    int    // in planner.segments
	first    *Block // the block at addr
	bins     *bins  // where its holes are kept
	small    bool   // holds requests below largeRequest
	huge     bool   // mapped for huge pages
	released bool   // pages were released, and huge pages turned off for them
}

// free reports whether nothing in the segment is handed out.
func (s *segment) free() bool { return s.first.state == hole && s.first.next == nil }
