package gemm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// Each kernel of each level must do what its Go twin does: the same bits where
// sums are exact, and neither read nor write past its operands, which end at a
// guard page.
func TestKernelsAgainstGo(t *testing.T) {
	testKernels(t, kernelSets32())
	testKernels(t, kernelSets64())
}

func testKernels[T float](t *testing.T, sets []*kernels[T]) {
	best, _ := cpu.Level()
	for _, kern := range sets[1:] {
		if kern.level > best {
			continue
		}
		t.Run(fmt.Sprint(dtypeOf[T](), kern.level), func(t *testing.T) {
			testTiles(t, kern)
			testDots(t, kern, sets[0])
			testPacking(t, kern)
		})
	}
}

// place returns v at the end of the arena.
func place[T float](ar arena, v []T) *T {
	a, _ := array[T](ar, []int{1, len(v)}, layouts[0])
	fill(a, v)
	return (*T)(a.Data)
}

func testTiles[T float](t *testing.T, kern *kernels[T]) {
	ends := [4]arena{newArena(t, 1<<20), newArena(t, 1<<20), newArena(t, 1<<16), newArena(t, 1<<16)}
	rnd := noise(1)
	for r := range 3 * len(kern.tiles) {
		rows, how := r/3+1, r%3
		tile := [][]tileFunc[T]{kern.tiles, kern.columns, kern.rows}[how][rows-1]
		for cols := 1; cols <= kern.nr; cols++ {
			if kern.wholeTiles && cols < kern.nr {
				continue
			}
			for _, k := range []int{1, 2, 3, 4, 5, 33} {
				twin := goTile[T](rows)
				lda, ak := k+1, 1
				switch {
				case how == 1:
					lda, ak = 1, rows+cols%3
				case how == 0 && cols%2 == 1:
					lda, ak = 2, 2*rows+cols%3
				}
				ldb, ldc, ldadd := cols+k%3, cols+1, cols+2
				if how == 2 {
					ldb = kern.nr
				}
				a := place(ends[0], whole[T](&rnd, (rows-1)*lda+(k-1)*ak+1))
				b := place(ends[1], whole[T](&rnd, (k-1)*ldb+cols))
				start := whole[T](&rnd, (rows-1)*ldc+cols)
				for mode := range 3 {
					c, want := place(ends[2], start), slices.Clone(start)
					var add, addTwin *T
					ld := ldadd
					switch mode {
					case 1:
						add = place(ends[3], whole[T](&rnd, (rows-1)*ldadd+cols))
						addTwin = add
					case 2:
						add, addTwin, ld = c, &want[0], ldc
					}
					tile(k, a, lda, ak, b, ldb, c, ldc, add, ld, cols)
					twin(k, a, lda, ak, b, ldb, &want[0], ldc, addTwin, ld, cols)
					for i, w := range want {
						if got := *step(c, i); got != w {
							t.Fatalf("tile of %d rows, %d columns, k %d, mode %d: element %d is %v, want %v", rows, cols, k, mode, i, got, w)
						}
					}
				}
			}
		}
	}
}

func testDots[T float](t *testing.T, kern, twin *kernels[T]) {
	endA, endX, endY := newArena(t, 1<<16), newArena(t, 1<<14), newArena(t, 1<<12)
	rnd := noise(2)
	for k := 1; k <= 200; k++ {
		lda := k + k%3
		a, x := place(endA, whole[T](&rnd, 3*lda+k)), place(endX, whole[T](&rnd, k))
		for rows, f := range map[int][2]dotFunc[T]{1: {kern.dot1, twin.dot1}, 4: {kern.dot4, twin.dot4}} {
			y, want := place(endY, make([]T, rows)), make([]T, rows)
			f[0](k, a, lda, x, y)
			f[1](k, a, lda, x, &want[0])
			for i, w := range want {
				if got := *step(y, i); got != w {
					t.Fatalf("dot of %d rows, k %d: row %d is %v, want %v", rows, k, i, got, w)
				}
			}
		}
	}
}

func testPacking[T float](t *testing.T, kern *kernels[T]) {
	endS, endD := newArena(t, 1<<18), newArena(t, 1<<18)
	rnd := noise(3)
	check := func(name string, spanS, spanD int, kern, twin func(src, dst *T)) {
		src, start := place(endS, whole[T](&rnd, spanS)), whole[T](&rnd, spanD)
		dst, want := place(endD, start), slices.Clone(start)
		kern(src, dst)
		twin(src, &want[0])
		for i, w := range want {
			if got := *step(dst, i); got != w {
				t.Fatalf("%s: element %d is %v, want %v", name, i, got, w)
			}
		}
	}
	for i, f := range kern.transpose {
		rows := (i + 1) * kern.quad
		for n := 0; n <= 5*kern.quad; n += kern.quad {
			lds, ldd := n+n%3, rows+n%2
			check(fmt.Sprintf("transpose of %d rows of %d", rows, n), (rows-1)*lds+n, max(n-1, 0)*ldd+rows,
				func(src, dst *T) { f(n, src, lds, dst, ldd) },
				func(src, dst *T) { goTranspose[T](rows)(n, src, lds, dst, ldd) })
		}
	}
	for cols := 1; cols <= kern.nr; cols++ {
		for n := 1; n <= 5; n++ {
			lds, ldd := cols+n%3, cols+n%2
			check(fmt.Sprintf("copyRows of %d rows of %d", n, cols), (n-1)*lds+cols, (n-1)*ldd+cols,
				func(src, dst *T) { kern.copyRows(n, src, lds, dst, ldd, cols) },
				func(src, dst *T) { goCopyRows(n, src, lds, dst, ldd, cols) })
		}
	}
}

// Vectors of AVX2 and AVX-512 sum in the same order with the same roundings,
// so their tiles give the same bits.
func TestTilesOfAllVectorLevelsAgree(t *testing.T) {
	sets := kernelSets32()
	best, _ := cpu.Level()
	if best != cpu.AVX512 {
		t.Skip("needs AVX-512")
	}
	var results [][]float32
	for _, kern := range sets[1:] {
		dst, _ := array[float32](newArena(t, 1<<16), []int{30, 50}, layouts[0])
		a, _ := array[float32](newArena(t, 1<<17), []int{30, 600}, layouts[0])
		b, _ := array[float32](newArena(t, 1<<18), []int{600, 50}, layouts[1])
		for _, x := range []cpu.Array{a, b} {
			v := make([]float32, x.Len())
			for i := range v {
				v[i] = float32(math.Sin(float64(i)))
			}
			fill(x, v)
		}
		p := newPlan(kern, dst, a, b)
		matMul(kern, dst, a, b, make([]byte, p.laneBytes()+alignment), Options{})
		results = append(results, values[float32](dst))
	}
	if !slices.Equal(results[0], results[1]) {
		t.Error("AVX2 and AVX-512 give different bits")
	}
}
