package gemm

import "unsafe"

// tiles computes the block tile by tile: for each step of the inner dimension
// it packs, then goes through the panels of b and for each through the rows.
func (b *block[T]) tiles(scratch unsafe.Pointer) {
	var t T
	size := int(unsafe.Sizeof(t))
	sizeA, sizeB, _ := b.sizes()
	spaceA := scratch
	spaceB := unsafe.Add(spaceA, roundUp(sizeA*size, alignment))
	spaceTile := unsafe.Add(spaceB, roundUp(sizeB*size, alignment))
	nr := b.kern.nr
	for k0 := 0; k0 < b.k; k0 += stepK {
		k := min(stepK, b.k-k0)
		a := b.a.from(0, k0)
		if b.packA {
			a = b.packedA(a, k, spaceA)
		}
		if b.packB {
			b.packPanels(k0, k, spaceB)
		}
		for j := 0; j < b.n; j += nr {
			panel, ldb := b.b.at(k0, j), b.b.rs
			if b.packB {
				panel, ldb = (*T)(unsafe.Add(spaceB, j*k*size)), nr
			}
			cols := min(nr, b.n-j)
			for i := 0; i < b.m; {
				rows := b.tileRows(b.m - i)
				call := b.kern.tiles[rows-1]
				if b.scatter || b.kern.wholeTiles && cols < nr {
					buffer := (*T)(spaceTile)
					call(k, a.at(i, 0), a.rs, a.cs, panel, ldb, buffer, nr, nil, 0, cols)
					b.scatterTile(i, j, rows, cols, buffer, k0 == 0)
				} else {
					add, ldadd := b.added(i, j, k0 == 0)
					call(k, a.at(i, 0), a.rs, a.cs, panel, ldb, b.dst.at(i, j), b.dst.rs, add, ldadd, cols)
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
// few rows are slow for what they do, so a rest is shared by the last two.
func (b *block[T]) tileRows(left int) int {
	mr := b.kern.mr()
	if left > mr && left < 2*mr {
		return (left + 1) / 2
	}
	return min(left, mr)
}

// biasInTile says that the bias is added with the first step: a kernel adds
// one matrix only, whose rows must have unit stride.
func (b *block[T]) biasInTile() bool {
	return b.bias.p != nil && !b.accumulate && (b.scatter || b.bias.cs == 1)
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

// packedA copies the block's rows of a, k columns of them, and returns where
// they lie now.
func (b *block[T]) packedA(a matrix[T], k int, space unsafe.Pointer) matrix[T] {
	if b.aByColumns() {
		packed := matrix[T]{space, 1, oddLines[T](b.rows)}
		for p := range k {
			copy(unsafe.Slice(packed.at(0, p), b.m), unsafe.Slice(a.at(0, p), b.m))
		}
		return packed
	}
	packed := matrix[T]{space, oddLines[T](k), 1}
	for i := range b.m {
		if to := unsafe.Slice(packed.at(i, 0), k); a.cs == 1 {
			copy(to, unsafe.Slice(a.at(i, 0), k))
		} else {
			for p := range to {
				to[p] = *a.at(i, p)
			}
		}
	}
	return packed
}

// packPanels copies rows k0 to k0+k of the block's part of b into panels of nr
// columns, each panel row after row.
func (b *block[T]) packPanels(k0, k int, space unsafe.Pointer) {
	var t T
	size := int(unsafe.Sizeof(t))
	nr := b.kern.nr
	for j := 0; j < b.n; j += nr {
		b.packPanel(b.b.from(k0, j), k, min(nr, b.n-j), (*T)(unsafe.Add(space, j*k*size)))
	}
}

func (b *block[T]) packPanel(src matrix[T], k, cols int, panel *T) {
	var t T
	nr := b.kern.nr
	j := 0 // columns done
	switch line := alignment / int(unsafe.Sizeof(t)); {
	case src.cs == 1:
		for ; j+line <= cols; j += line {
			b.kern.copyLine(k, src.at(0, j), src.rs, step(panel, j), nr)
		}
	case src.rs == 1:
		s := b.kern.square
		whole := k / s * s
		for ; j+s <= cols; j += s {
			if whole > 0 {
				b.kern.transpose(k/s, src.at(0, j), src.cs, step(panel, j), nr)
			}
			copyElements(src, whole, k, j, j+s, panel, nr)
		}
	}
	copyElements(src, 0, k, j, cols, panel, nr)
}

// copyElements copies rows p0 to p1, columns j0 to j1, one by one.
func copyElements[T float](src matrix[T], p0, p1, j0, j1 int, panel *T, nr int) {
	for j := j0; j < j1; j++ {
		for p := p0; p < p1; p++ {
			*step(panel, p*nr+j) = *src.at(p, j)
		}
	}
}
