package gemm

import "unsafe"

// tiles computes the block tile by tile. For each step of the inner dimension
// it packs its rows of a, then goes through the panels of b: it packs one,
// which then lies in the level-1 cache, and takes it through all rows.
func (b *block[T]) tiles(scratch unsafe.Pointer) {
	var t T
	size := int(unsafe.Sizeof(t))
	sizeA, sizeB, _ := b.sizes()
	spaceA := (*T)(scratch)
	spaceB := (*T)(unsafe.Add(scratch, roundUp(sizeA*size, alignment)))
	buffer := (*T)(unsafe.Add(unsafe.Pointer(spaceB), roundUp(sizeB*size, alignment)))
	nr := b.kern.nr
	for k0, k := 0, 0; k0 < b.k; k0 += k {
		k = min(b.stepK, b.k-k0)
		a, lda, ldb := b.a.from(0, k0), b.a.rs, b.b.rs
		if b.packA {
			b.packRows(a, k, spaceA)
			lda = 1
		}
		if b.packB {
			ldb = nr
		}
		calls := b.kern.reading(lda, a.cs, ldb)
		for j := 0; j < b.n; j += nr {
			cols := min(nr, b.n-j)
			panel := b.b.at(k0, j)
			if b.packB {
				b.kern.pack(b.b.from(k0, j), k, cols, spaceB, nr)
				panel = spaceB
			}
			for i := 0; i < b.m; {
				rows := b.tileRows(b.m - i)
				at, ak := a.at(i, 0), a.cs
				if b.packA {
					at, ak = step(spaceA, i*k), rows
				}
				call := calls[rows-1]
				if b.scatter || b.kern.wholeTiles && cols < nr {
					call(k, at, lda, ak, panel, ldb, buffer, nr, nil, 0, cols)
					b.scatterTile(i, j, rows, cols, buffer, k0 == 0)
				} else {
					add, ldadd := b.added(i, j, k0 == 0)
					call(k, at, lda, ak, panel, ldb, b.dst.at(i, j), b.dst.rs, add, ldadd, cols)
				}
				if b.relu && k0+k == b.k {
					b.limitTile(i, j, rows, cols)
				}
				i += rows
			}
		}
	}
	if b.bias.p != nil && !b.biasInTile() {
		b.addBias()
	}
}

// tileRows is how many of the rows that are left the next tile has. Tiles of
// few rows are slow for what they do, so a rest is shared by the last two, the
// first of which has rows that are packed without a rest of their own.
func (b *block[T]) tileRows(left int) int {
	if mr := b.kern.mr(); left >= 2*mr || left <= mr {
		return min(left, mr)
	}
	return min(roundUp((left+1)/2, b.kern.quad), b.kern.mr())
}

// biasInTile says that the bias is added with the first step: a kernel adds
// one matrix only, whose rows must have unit stride.
func (r *runner[T]) biasInTile() bool {
	return r.bias.p != nil && !r.accumulate && (r.scatter || r.bias.cs == 1)
}

// added is what the kernel adds to the tile at i, j.
func (b *block[T]) added(i, j int, first bool) (*T, int) {
	switch {
	case !first || b.accumulate:
		return b.dst.at(i, j), b.dst.rs
	case b.biasInTile():
		return b.bias.at(i, j), b.bias.rs
	}
	return nil, 0
}

// scatterTile moves a tile from the buffer to where it belongs.
func (b *block[T]) scatterTile(i, j, rows, cols int, buffer *T, first bool) {
	for x := range rows {
		for y := range cols {
			v, to := *step(buffer, x*b.kern.nr+y), b.dst.at(i+x, j+y)
			if !first || b.accumulate {
				v += *to
			} else if b.biasInTile() {
				v += *b.bias.at(i+x, j+y)
			}
			*to = v
		}
	}
}

func (b *block[T]) addBias() {
	for i := range b.m {
		for j := range b.n {
			*b.dst.at(i, j) += *b.bias.at(i, j)
		}
	}
}

// packRows copies k columns of the block's rows of a, tile by tile: the tile that
// begins with row i lies from i*k on, column after column.
func (b *block[T]) packRows(a matrix[T], k int, space *T) {
	for i := 0; i < b.m; {
		rows := b.tileRows(b.m - i)
		b.kern.pack(a.from(i, 0).transposed(), k, rows, step(space, i*k), rows)
		i += rows
	}
}

// pack copies the first k rows and cols columns of src, at most a tile's, to
// rows that lie ld apart.
func (kern *kernels[T]) pack(src matrix[T], k, cols int, dst *T, ld int) {
	p, j := 0, 0 // what is done: rows p of columns j
	switch {
	case src.cs == 1:
		kern.copyRows(k, src.at(0, 0), src.rs, dst, ld, cols)
		return
	case src.rs == 1:
		p = k - k%kern.quad
		for j+kern.quad <= cols && p > 0 {
			n := min((cols-j)/kern.quad, len(kern.transpose))
			kern.transpose[n-1](p, src.at(0, j), src.cs, step(dst, j), ld)
			j += n * kern.quad
		}
	}
	copyElements(src, p, k, 0, j, dst, ld)
	copyElements(src, 0, k, j, cols, dst, ld)
}

// copyElements copies rows p0 to p1, columns j0 to j1, one by one.
func copyElements[T float](src matrix[T], p0, p1, j0, j1 int, dst *T, ld int) {
	for j := j0; j < j1; j++ {
		for p := p0; p < p1; p++ {
			*step(dst, p*ld+j) = *src.at(p, j)
		}
	}
}
