package elementwise

import "unsafe"

// view is a plane of elements: strides are in bytes.
type view struct {
	data     unsafe.Pointer
	row, col int
}

// move copies a plane of elements of the given size in bytes.
func move(size int, dst, src view, rows, cols int) {
	switch size {
	case 1:
		moveElements[uint8](dst, src, rows, cols)
	case 4:
		if dst.row == 4 && src.col == 4 { // the other way around
			rows, cols = cols, rows
			dst.row, dst.col = dst.col, dst.row
			src.row, src.col = src.col, src.row
		}
		if inUse.transpose != nil && dst.col == 4 && src.row == 4 && rows >= 8 && cols >= 8 {
			transpose(dst, src, rows, cols)
			return
		}
		moveElements[uint32](dst, src, rows, cols)
	case 8:
		moveElements[uint64](dst, src, rows, cols)
	default:
		panic("elementwise: unknown element size")
	}
}

// transpose moves what is in whole blocks of 8 by 8 elements of 4 bytes and then the
// rest: dst has the elements of a row side by side, src those of a column.
func transpose(dst, src view, rows, cols int) {
	wholeRows, wholeCols := rows&^7, cols&^7
	markTransposed(dst, src, wholeRows, wholeCols)
	inUse.transpose(wholeRows, wholeCols, dst.data, dst.row, src.data, src.col)
	if wholeCols < cols {
		moveElements[uint32](dst.from(0, wholeCols), src.from(0, wholeCols), wholeRows, cols-wholeCols)
	}
	if wholeRows < rows {
		moveElements[uint32](dst.from(wholeRows, 0), src.from(wholeRows, 0), rows-wholeRows, cols)
	}
}

// from is the part of v from an element on.
func (v view) from(row, col int) view {
	v.data = unsafe.Add(v.data, row*v.row+col*v.col)
	return v
}

func moveElements[T uint8 | uint32 | uint64](dst, src view, rows, cols int) {
	size := int(unsafe.Sizeof(T(0)))
	if cols == 1 || rows > 4*cols { // few columns: run down them
		rows, cols = cols, rows
		dst.row, dst.col = dst.col, dst.row
		src.row, src.col = src.col, src.row
	}
	for r := range rows {
		d, s := unsafe.Add(dst.data, r*dst.row), unsafe.Add(src.data, r*src.row)
		switch {
		case dst.col == size && src.col == size:
			copy(unsafe.Slice((*T)(d), cols), unsafe.Slice((*T)(s), cols))
		case dst.col == size && src.col == 0:
			fill(unsafe.Slice((*T)(d), cols), *(*T)(s))
		case dst.col == size:
			out := unsafe.Slice((*T)(d), cols)
			for c := range out {
				out[c] = *(*T)(unsafe.Add(s, c*src.col))
			}
		default:
			for c := range cols {
				*(*T)(unsafe.Add(d, c*dst.col)) = *(*T)(unsafe.Add(s, c*src.col))
			}
		}
	}
}

// fill sets all of d to v.
func fill[T uint8 | uint32 | uint64](d []T, v T) {
	if v == 0 {
		clear(d)
		return
	}
	head := d[:min(len(d), blockLen)]
	for i := range head {
		head[i] = v
	}
	for rest := d[len(head):]; len(rest) > 0; {
		rest = rest[copy(rest, head):]
	}
}
