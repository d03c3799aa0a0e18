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
	for r, tile := range kern.tiles {
		rows := r + 1
		for cols := 1; cols <= kern.nr; cols++ {
			if kern.wholeTiles && cols < kern.nr {
				continue
			}
			for _, k := range []int{1, 2, 3, 33} {
				twin := goTile[T](rows)
				byColumns := cols%2 == 1
				lda, ak := k+1, 1
				if byColumns {
					lda, ak = 1, rows+2
				}
				ldb, ldc, ldadd := cols+k%3, cols+1, cols+2
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
	line := goKernels[T]().nr * 4 / dtypeOf[T]().Size()
	for n := 1; n <= 20; n++ {
		for name, f := range map[string]struct {
			kern, twin       copyFunc[T]
			rows, cols, from int // of the panel; elements of the source
		}{
			"transpose": {kern.transpose, goTranspose[T](kern.square), n * kern.square, kern.square, kern.square},
			"copyLine":  {kern.copyLine, goCopy[T](line), n, line, n},
		} {
			lds, ldd := max(f.rows, f.cols)+n%3, f.cols+n%2
			src := place(endS, whole[T](&rnd, (f.from-1)*lds+max(f.rows, f.cols)))
			if name == "copyLine" {
				lds = f.cols + n%3
				src = place(endS, whole[T](&rnd, (n-1)*lds+f.cols))
			}
			start := whole[T](&rnd, (f.rows-1)*ldd+f.cols)
			dst, want := place(endD, start), slices.Clone(start)
			f.kern(n, src, lds, dst, ldd)
			f.twin(n, src, lds, &want[0], ldd)
			for i, w := range want {
				if got := *step(dst, i); got != w {
					t.Fatalf("%s of %d: element %d is %v, want %v", name, n, i, got, w)
				}
			}
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
