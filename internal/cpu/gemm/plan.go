package gemm

import (
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

const (
	// meanStep is how much of the inner dimension is summed in registers at a
	// time, more or less: a panel of b (32 columns of float32) is then 32 KiB.
	meanStep = 256

	// A task computes at most maxBytes/meanStep rows of a at a time: its packed
	// part of a stays in the level-2 cache, beside the panel of b in use.
	maxBytes = 384 << 10

	// taskWork is the least number of multiplications worth a task of its own,
	// some 10 us; a large product is cut into tasksPerThread for each thread, so
	// that one that is held up holds up the product less.
	taskWork       = 1 << 20
	tasksPerThread = 2
	minRows        = 48 // of a task's part, if there are more

	// tinyWork is the number of multiplications below which three plain loops
	// beat preparing for tiles.
	tinyWork = 256
)

// A plan is how a batch of products is computed. It depends on shapes,
// strides and processor level alone, but for how the result is cut into tasks,
// which depends also on the number of threads, and does not matter to its bits.
type plan[T float] struct {
	batch[T]
	kern    *kernels[T]
	threads int

	swapped bool // computed as dst^T = b^T a^T
	tiny    bool // by three loops
	dots    bool // by dot products
	scatter bool // dst has no unit stride: tiles go through a buffer

	rows, cols       int  // size of a block
	perTask          int  // products of the batch to a task, if a product is one block
	mBlocks, nBlocks int  // of each product
	stepK            int  // of the inner dimension
	tasks            int  // in all
	packA, packB     bool // whether blocks of a and b are copied into panels
}

func newPlan[T float](kern *kernels[T], dst, a, b cpu.Array) plan[T] {
	p := plan[T]{batch: newBatch[T](dst, a, b), kern: kern, threads: cpu.NumThreads(), perTask: 1}
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

	p.stepK = p.k
	if steps := (p.k + meanStep/2) / meanStep; steps > 1 {
		p.stepK = roundUp((p.k+steps-1)/steps, 4)
	}
	if p.dots {
		p.cutDots()
	} else {
		p.choosePacking()
		p.cutTiles()
	}
	if p.mBlocks*p.nBlocks == 1 {
		p.cutBatch(work)
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

// cutTiles cuts the result into tasks. Every task packs its rows of a, if they
// are packed, and its columns of b, so that is cut which costs less.
func (p *plan[T]) cutTiles() {
	p.rows, p.cols = even(p.m, p.maxRows(), p.kern.mr()), p.n
	for p.cut(); p.tasks < tasksPerThread*p.threads && p.rows*p.cols*p.k >= 2*taskWork; p.cut() {
		if p.cols >= 2*p.kern.nr && (!p.packA || p.cols > p.rows) {
			p.cols = roundUp((p.cols+1)/2, p.kern.nr)
		} else if p.rows >= 2*minRows {
			p.rows = roundUp((p.rows+1)/2, p.kern.mr())
		} else {
			break
		}
	}
}

// maxRows is how many rows of a a task packs at most.
func (p *plan[T]) maxRows() int {
	var t T
	rows := maxBytes / meanStep / int(unsafe.Sizeof(t))
	return roundUp(rows, p.kern.mr())
}

// cutDots cuts the longer side of a product of a matrix and a vector or two.
func (p *plan[T]) cutDots() {
	p.rows, p.cols = p.m, p.n
	for p.cut(); p.tasks < tasksPerThread*p.threads && p.rows*p.cols*p.k >= 2*taskWork; p.cut() {
		if p.cols > p.rows {
			p.cols = roundUp((p.cols+1)/2, 4)
		} else {
			p.rows = roundUp((p.rows+1)/2, 4)
		}
	}
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

// choosePacking decides what is copied. b is read under any row stride, but its
// rows must be in one piece. a is read under any strides, but fastest where the
// elements of a column lie side by side. It depends on the shape alone.
func (p *plan[T]) choosePacking() {
	tiles := (p.m + p.kern.mr() - 1) / p.kern.mr()
	panels := (p.n + p.kern.nr - 1) / p.kern.nr
	p.packB = p.b.cs != 1 || p.ragged() || tiles >= 4 && p.k > 1
	p.packA = panels >= 16 || panels >= 2 && p.a.rs != 1 && p.a.cs != 1
}

// ragged says that the last tile of each row of tiles has columns beyond the
// result, which the kernel cannot leave out: its panel of b must be packed, so
// that there is something to read, and the tile go through the buffer.
func (p *plan[T]) ragged() bool { return p.kern.wholeTiles && p.n%p.kern.nr != 0 }

// sizes returns the elements of the packed block of a, of a panel of b, and of
// the buffer for one tile, at most, for any number of threads.
func (p *plan[T]) sizes() (a, b, tile int) {
	if p.packA {
		a = p.stepK * even(p.m, p.maxRows(), p.kern.mr())
	}
	if p.packB {
		b = p.stepK * p.kern.nr
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
