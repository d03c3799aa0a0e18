package gemm

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

const (
	// stepK is how much of the inner dimension is summed in registers at a
	// time: a panel of b (32 columns of float32) is then 32 KiB.
	stepK = 256

	// A task computes at most maxRows x maxCols of the result: its packed part
	// of a stays in a 1 MiB level-2 cache, beside the panel of b in use.
	maxRows = 192
	maxCols = 512

	// taskWork is the least number of multiplications worth a task of its own,
	// about 20 us; wantTasks how many tasks a large product is cut into at
	// least, for machines with many cores.
	taskWork  = 1 << 20
	wantTasks = 16

	// tinyWork is the number of multiplications below which three plain loops
	// beat preparing for tiles.
	tinyWork = 256
)

// A plan is how a batch of products is computed. It depends on shapes,
// strides and processor level alone.
type plan[T float] struct {
	batch[T]
	kern *kernels[T]

	swapped bool // computed as dst^T = b^T a^T
	tiny    bool // by three loops
	dots    bool // by dot products
	scatter bool // dst has no unit stride: tiles go through a buffer

	rows, cols       int  // size of a block
	perTask          int  // products of the batch to a task, if a product is one block
	mBlocks, nBlocks int  // of each product
	tasks            int  // in all
	packA, packB     bool // whether blocks of a and b are copied into panels
}

func newPlan[T float](kern *kernels[T], dst, a, b cpu.Array) plan[T] {
	p := plan[T]{batch: newBatch[T](dst, a, b), kern: kern, perTask: 1}
	if p.count*p.m*p.n == 0 {
		return p
	}
	work := p.m * p.n * p.k
	if work <= tinyWork {
		p.tiny = true
		p.rows, p.cols = p.m, p.n
		p.cutBatch(work)
		return p
	}
	column := p.n == 1 && p.a.cs != 1 && p.a.rs == 1 // a column of a transposed matrix
	if column || p.dst.cs != 1 && p.dst.rs == 1 {
		p.swap()
	}
	p.scatter = p.dst.cs != 1
	p.dots = p.a.cs == 1 && p.b.rs == 1 && (p.n == 1 || p.m <= 2)

	unit := p.kern.nr
	p.rows, p.cols = even(p.m, maxRows, p.kern.mr()), even(p.n, maxCols, p.kern.nr)
	if p.dots {
		unit = 4
		p.rows, p.cols = p.m, p.n
	}
	for p.cut(); p.tasks < wantTasks && p.rows*p.cols*p.k >= 2*taskWork; p.cut() {
		// Packing b costs more than packing a, so columns are kept apart first.
		if p.cols > unit && 2*p.cols > p.rows {
			p.cols = roundUp((p.cols+1)/2, unit)
		} else if p.rows > 4 {
			p.rows = roundUp((p.rows+1)/2, min(p.kern.mr(), 4))
		} else {
			break
		}
	}
	if p.mBlocks*p.nBlocks == 1 {
		p.cutBatch(work)
	}
	if !p.dots {
		p.choosePacking()
	}
	return p
}

// swap turns the product into that of the transposed matrices.
func (p *plan[T]) swap() {
	p.swapped = true
	p.m, p.n = p.n, p.m
	p.dst, p.a, p.b = p.dst.transposed(), p.b.transposed(), p.a.transposed()
	p.strides[1], p.strides[2] = p.strides[2], p.strides[1]
}

// cut computes the number of blocks.
func (p *plan[T]) cut() {
	p.mBlocks = (p.m + p.rows - 1) / p.rows
	p.nBlocks = (p.n + p.cols - 1) / p.cols
	p.tasks = p.count * p.mBlocks * p.nBlocks
}

// cutBatch gives each task several small products, work multiplications each.
func (p *plan[T]) cutBatch(work int) {
	p.mBlocks, p.nBlocks = 1, 1
	p.perTask = min(max(taskWork/max(work, tinyWork), 1), p.count)
	p.tasks = (p.count + p.perTask - 1) / p.perTask
}

// choosePacking decides what is copied. The kernel reads a under any strides
// and b under any row stride, so copying is for the caches and the TLB alone,
// except where b has no unit stride along its rows.
func (p *plan[T]) choosePacking() {
	tiles := (p.rows + p.kern.mr() - 1) / p.kern.mr()
	panels := (p.cols + p.kern.nr - 1) / p.kern.nr
	p.packB = p.b.cs != 1 || p.ragged() || tiles >= 4 && p.k > 1
	p.packA = panels >= 4
}

// ragged says that the last tile of each row of tiles has columns beyond the
// result, which the kernel cannot leave out: its panel of b must be packed, so
// that there is something to read, and the tile go through the buffer.
func (p *plan[T]) ragged() bool { return p.kern.wholeTiles && p.n%p.kern.nr != 0 }

// depth is the largest step of the inner dimension that occurs.
func (p *plan[T]) depth() int { return min(p.k, stepK) }

// The distances between rows (or, for a transposed a, columns) of a packed
// block are an odd number of cache lines, so that neighbours fall into
// different sets of the cache.
func oddLines[T any](n int) int {
	var t T
	line := alignment / int(unsafe.Sizeof(t))
	return ((n+line-1)/line | 1) * line
}

// aByColumns says that a is packed column after column.
func (p *plan[T]) aByColumns() bool { return p.a.cs != 1 && p.a.rs == 1 }

// sizes returns the elements of the packed block of a, of b, and of the
// buffer for one tile.
func (p *plan[T]) sizes() (a, b, tile int) {
	if p.packA && p.aByColumns() {
		a = p.depth() * oddLines[T](p.rows)
	} else if p.packA {
		a = p.rows * oddLines[T](p.depth())
	}
	if p.packB {
		b = p.depth() * roundUp(p.cols, p.kern.nr)
	}
	if p.scatter || p.ragged() {
		tile = p.kern.mr() * p.kern.nr
	}
	return a, b, tile
}

// laneBytes is the scratch memory of one thread, a multiple of alignment.
func (p *plan[T]) laneBytes() int {
	if p.tasks == 0 || p.tiny || p.dots {
		return 0
	}
	var t T
	a, b, tile := p.sizes()
	size := int(unsafe.Sizeof(t))
	return roundUp(a*size, alignment) + roundUp(b*size, alignment) + roundUp(tile*size, alignment)
}

// even cuts n into as few parts of at most limit as will do, of about the same
// size, a multiple of unit (which limit is, too).
func even(n, limit, unit int) int {
	parts := (n + limit - 1) / limit
	return min(roundUp((n+parts-1)/parts, unit), n)
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
