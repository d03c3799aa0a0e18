package gemm

import (
	"sync"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

type float interface{ float32 | float64 }

// A tileFunc computes one tile of a product, a fixed number of rows by cols
// columns, over k products per element:
//
//	for i := range rows {
//		for j := range cols {
//			sum := 0
//			for p := range k {
//				sum = a[i*lda+p*ak]*b[p*ldb+j] + sum
//			}
//			if add != nil {
//				sum += add[i*ldadd+j]
//			}
//			c[i*ldc+j] = sum
//		}
//	}
//
// The assembly versions round a product and its sum together, the Go version
// each on its own. k is at least 1. add may be c. Distances count elements.
type tileFunc[T float] func(k int, a *T, lda, ak int, b *T, ldb int, c *T, ldc int, add *T, ldadd int, cols int)

// A dotFunc computes y[i] = sum over p of a[i*lda+p]*x[p] for a fixed number
// of rows i, in a number of interleaved partial sums.
type dotFunc[T float] func(k int, a *T, lda int, x, y *T)

// A transposeFunc turns a fixed number of rows of n elements into columns:
//
//	for p := range n {
//		for j := range rows {
//			dst[p*ldd+j] = src[j*lds+p]
//		}
//	}
type transposeFunc[T float] func(n int, src *T, lds int, dst *T, ldd int)

// A copyFunc copies n rows of at most a tile's columns:
//
//	for p := range n {
//		for j := range cols {
//			dst[p*ldd+j] = src[p*lds+j]
//		}
//	}
type copyFunc[T float] func(n int, src *T, lds int, dst *T, ldd, cols int)

// kernels are the building blocks of one processor level.
type kernels[T float] struct {
	level   cpu.SIMD
	nr      int           // columns of a tile
	tiles   []tileFunc[T] // by rows of the tile, less one
	columns []tileFunc[T] // the same if lda is 1
	rows    []tileFunc[T] // the same if ak is 1 and ldb is nr

	// wholeTiles says that tiles compute nr columns, no fewer: they cannot mask
	// those that are not there.
	wholeTiles bool

	dot4 dotFunc[T] // four rows
	dot1 dotFunc[T] // one row

	// transpose[i] turns (i+1)*quad rows, of a multiple of quad elements.
	transpose []transposeFunc[T]
	quad      int
	copyRows  copyFunc[T]

	relu reluFunc[T]

	shared sync.Pool // of *sharedRunner[T], from calls that ended
}

func (k *kernels[T]) mr() int { return len(k.tiles) }

// reading returns the kernels, by rows less one, for operands with the given
// strides.
func (k *kernels[T]) reading(lda, ak, ldb int) []tileFunc[T] {
	switch {
	case lda == 1:
		return k.columns
	case ak == 1 && ldb == k.nr:
		return k.rows
	}
	return k.tiles
}

// The kernels in use, those of the processor level.
var (
	kernels32 = cpu.Best(kernelSets32(), (*kernels[float32]).levelOf)
	kernels64 = cpu.Best(kernelSets64(), (*kernels[float64]).levelOf)
)

func (k *kernels[T]) levelOf() cpu.SIMD { return k.level }

// goKernels are the Go versions, on which the others are modelled.
func goKernels[T float]() *kernels[T] {
	tiles := []tileFunc[T]{goTile[T](1), goTile[T](2), goTile[T](3), goTile[T](4)}
	return &kernels[T]{
		level:     cpu.Generic,
		nr:        16,
		tiles:     tiles,
		columns:   tiles,
		rows:      tiles,
		dot4:      goDot[T](4),
		dot1:      goDot[T](1),
		transpose: []transposeFunc[T]{goTranspose[T](4)},
		quad:      4,
		copyRows:  goCopyRows[T],
		relu:      goReLU[T],
	}
}

func goTile[T float](rows int) tileFunc[T] {
	return func(k int, a *T, lda, ak int, b *T, ldb int, c *T, ldc int, add *T, ldadd int, cols int) {
		put := func(i, j int, sum T) {
			if add != nil {
				sum += *step(add, i*ldadd+j)
			}
			*step(c, i*ldc+j) = sum
		}
		i := 0
		for ; i+2 <= rows; i += 2 {
			j := 0
			for ; j+4 <= cols; j += 4 {
				s := goTile2x4(k, step(a, i*lda), lda, ak, step(b, j), ldb)
				for x, v := range s {
					put(i+x/4, j+x%4, v)
				}
			}
			for ; j < cols; j++ {
				put(i, j, goTile1x1(k, step(a, i*lda), ak, step(b, j), ldb))
				put(i+1, j, goTile1x1(k, step(a, (i+1)*lda), ak, step(b, j), ldb))
			}
		}
		if i < rows {
			for j := range cols {
				put(i, j, goTile1x1(k, step(a, i*lda), ak, step(b, j), ldb))
			}
		}
	}
}

// goTile2x4 keeps eight sums in registers. Conversions stop the compiler from
// rounding product and sum together on processors where it could.
func goTile2x4[T float](k int, a *T, lda, ak int, b *T, ldb int) [8]T {
	var s0, s1, s2, s3, t0, t1, t2, t3 T
	var t T
	size := int(unsafe.Sizeof(t))
	pa, pb := unsafe.Pointer(a), unsafe.Pointer(b)
	for p := range k {
		q := unsafe.Add(pb, p*ldb*size)
		b0, b1 := *(*T)(q), *(*T)(unsafe.Add(q, size))
		b2, b3 := *(*T)(unsafe.Add(q, 2*size)), *(*T)(unsafe.Add(q, 3*size))
		x, y := *(*T)(unsafe.Add(pa, p*ak*size)), *(*T)(unsafe.Add(pa, (p*ak+lda)*size))
		s0 += T(x * b0)
		s1 += T(x * b1)
		s2 += T(x * b2)
		s3 += T(x * b3)
		t0 += T(y * b0)
		t1 += T(y * b1)
		t2 += T(y * b2)
		t3 += T(y * b3)
	}
	return [8]T{s0, s1, s2, s3, t0, t1, t2, t3}
}

func goTile1x1[T float](k int, a *T, ak int, b *T, ldb int) T {
	var s T
	for p := range k {
		s += T(*step(a, p*ak) * *step(b, p*ldb))
	}
	return s
}

func goDot[T float](rows int) dotFunc[T] {
	return func(k int, a *T, lda int, x, y *T) {
		xs := unsafe.Slice(x, k)
		for i := range rows {
			row := unsafe.Slice(step(a, i*lda), k)[:len(xs)]
			var s0, s1, s2, s3 T
			p := 0
			for ; p+4 <= len(xs); p += 4 {
				s0 += T(row[p] * xs[p])
				s1 += T(row[p+1] * xs[p+1])
				s2 += T(row[p+2] * xs[p+2])
				s3 += T(row[p+3] * xs[p+3])
			}
			for ; p < len(xs); p++ {
				s0 += T(row[p] * xs[p])
			}
			*step(y, i) = (s0 + s1) + (s2 + s3)
		}
	}
}

func goTranspose[T float](rows int) transposeFunc[T] {
	return func(n int, src *T, lds int, dst *T, ldd int) {
		for p := range n {
			for j := range rows {
				*step(dst, p*ldd+j) = *step(src, j*lds+p)
			}
		}
	}
}

func goCopyRows[T float](n int, src *T, lds int, dst *T, ldd, cols int) {
	for p := range n {
		copy(unsafe.Slice(step(dst, p*ldd), cols), unsafe.Slice(step(src, p*lds), cols))
	}
}
