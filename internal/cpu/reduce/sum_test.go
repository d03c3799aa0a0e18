package reduce

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// numbers sets x to the numbers of testdata/make_sum_errors_json.py.
func numbers(x []float32, first int, mean float64) {
	for i := range x {
		h := uint32(first+i) * 2654435761
		h ^= h >> 15
		h *= 2246822519
		h ^= h >> 13
		x[i] = float32(float64(h)/(1<<32) - 0.5 + mean)
	}
}

// Sums of random numbers are on average closer to those in float64 than PyTorch's.
func TestSumsAreAsAccurateAsTorch(t *testing.T) {
	file, err := os.ReadFile("testdata/sum_errors.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Rows, Cols, Dim, Arrays int
		Mean, Error             float64
	}
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		if testing.Short() && c.Rows*c.Cols > 1e5 {
			continue
		}
		x := make([]float32, c.Rows*c.Cols)
		array := cpu.Array{Data: unsafe.Pointer(&x[0]), DType: cpu.Float32, Shape: []int{c.Rows, c.Cols}, Strides: []int{c.Cols, 1}}
		out := []int{c.Rows, c.Cols}
		out[c.Dim] = 1
		sums := arraytest.New(cpu.Float32, out, []int{out[1], 1})
		squares, count := 0.0, 0
		for i := range c.Arrays {
			numbers(x, i*len(x), c.Mean)
			want := make([]float64, sums.Len())
			for j, v := range x {
				if c.Dim == 0 {
					want[j%c.Cols] += float64(v)
				} else {
					want[j/c.Cols] += float64(v)
				}
			}
			Reduce(Sum, sums.Array, array, []int{c.Dim})
			for j, w := range want {
				d := sums.Float(j) - w
				squares += d * d
				count++
			}
		}
		got := math.Sqrt(squares / float64(count))
		t.Logf("%d x %d, dimension %d, mean %v: error %.3g, PyTorch's %.3g", c.Rows, c.Cols, c.Dim, c.Mean, got, c.Error)
		if got > c.Error {
			t.Errorf("%d x %d, dimension %d, mean %v: error %.3g, PyTorch's %.3g", c.Rows, c.Cols, c.Dim, c.Mean, got, c.Error)
		}
	}
}

// The loops of every level, over float32 and rows of them, give the bits of those in
// Go, for lengths around those of rows and blocks, with their operands at the end of a
// page.
func TestSumsOfVectorsAgainstGo(t *testing.T) {
	const most = 3*blockLen + 2*len(lanes{})
	x := unsafe.Slice((*float32)(arraytest.Memory(t, 4*most)), most)
	r := rand.New(rand.NewPCG(7, 8))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	best, _ := cpu.Level()
	for _, v := range vectorSets() {
		if v.level > best {
			continue
		}
		for n := 1; n <= most; n++ {
			if n > 3*len(lanes{}) && n%len(lanes{}) > 1 && r.IntN(20) > 0 {
				continue
			}
			tail := x[most-n:]
			if got, want := v.sum(n, &tail[0]), sumFloat32(tail); got != want {
				t.Fatalf("%v: sum of %d is %v, in Go %v", v.level, n, got, want)
			}
		}
		if v.addRows == nil {
			continue
		}
		for cols := 1; cols <= 70; cols++ {
			for _, rows := range []int{1, 7, 8, 9, 27} {
				stride := cols + cols%3
				tail := x[most-(rows-1)*stride-cols:]
				got, want := make([]float64, 80), make([]float64, 80)
				for j := range want {
					got[j], want[j] = float64(j), float64(j)
				}
				lines := make([]float64, rows+1)
				v.sumRows(rows, &tail[0], stride*4, cols, &lines[0])
				for r, sum := range lines[:rows] {
					if want := sumFloat32(tail[r*stride:][:cols]); sum != want {
						t.Fatalf("%v: %d rows of %d: row %d sums to %v, in Go %v", v.level, rows, cols, r, sum, want)
					}
				}
				if lines[rows] != 0 {
					t.Fatalf("%v: %d rows of %d: a sum after the last was written", v.level, rows, cols)
				}
				v.addRows(rows, &tail[0], stride*4, cols, &got[0])
				addRows(want[:cols], &tail[0], rows, stride*4)
				for j, w := range want {
					if got[j] != w {
						t.Fatalf("%v: %d rows of %d: sum %d is %v, in Go %v", v.level, rows, cols, j, got[j], w)
					}
				}
			}
		}
	}
}
