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
		moveElements[uint32](dst, src, rows, cols)
	case 8:
		moveElements[uint64](dst, src, rows, cols)
	default:
		panic("elementwise: unknown element size")
	}
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
