package image

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

func TestGather(t *testing.T) {
	defer cpu.StopWorkers()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, rows, pixels, channels int }{
		{1, 1, 1, 1}, {5, 3, 7, 1}, {5, 9, 8, 1}, {40, 700, 784, 1}, {7, 4, 9, 3}, {9, 300, 1024, 3}, {4, 0, 3, 1}, {4, 4, 0, 1},
	} {
		for _, threads := range []int{1, 3} {
			cpu.SetNumThreads(threads)
			size := c.pixels * c.channels
			src := make([]uint8, c.n*size)
			for i := range src {
				if i/20%2 == 0 { // runs of zeros, which are a way of their own
					src[i] = uint8(r.Uint32())
				}
			}
			tables := make([]Table, c.channels)
			for k := range tables {
				for b := range tables[k] {
					tables[k][b] = float32(1000*k + b)
				}
			}
			rows := make([]int64, c.rows)
			for i := range rows {
				rows[i] = r.Int64N(int64(c.n))
			}
			const canary = -7
			memory := make([]float32, c.rows*size+2)
			memory[0], memory[len(memory)-1] = canary, canary
			dst := memory[1 : len(memory)-1]
			Gather(dst, src, rows, c.pixels, tables)
			for i, row := range rows {
				for k := range c.channels {
					for p := range c.pixels {
						want := float32(1000*k) + float32(src[int(row)*size+p*c.channels+k])
						if got := dst[i*size+k*c.pixels+p]; got != want {
							t.Fatalf("%+v: image %d, channel %d, pixel %d is %v, want %v", c, i, k, p, got, want)
						}
					}
				}
			}
			if memory[0] != canary || memory[len(memory)-1] != canary {
				t.Fatalf("%+v: written outside", c)
			}
		}
	}
	cpu.SetNumThreads(0)
}

// Each level's kernel must do what the Go version does, and neither read nor
// write past its operands, which end at guard pages.
func TestLookupAgainstGo(t *testing.T) {
	best, _ := cpu.Level()
	r := rand.New(rand.NewPCG(3, 4))
	var table Table
	for i := range table {
		table[i] = r.Float32()
	}
	for _, k := range lookups() {
		if k.level > best {
			continue
		}
		for n := 0; n <= 5*lookupStep; n += lookupStep {
			src := unsafe.Slice((*uint8)(arraytest.Memory(t, max(n, 1))), n)
			dst := unsafe.Slice((*float32)(arraytest.Memory(t, max(4*n, 4))), n)
			for i := range src {
				src[i] = uint8(r.Uint32())
			}
			want := make([]float32, n)
			goLookup(want, src, &table)
			k.run(n, unsafe.SliceData(dst), unsafe.SliceData(src), (*[256]float32)(&table), unsafe.SliceData(src))
			if !slices.Equal(dst, want) {
				t.Fatalf("%v, %d elements: %v, want %v", k.level, n, dst, want)
			}
		}
	}
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	arraytest.CheckGenerated(t, "image_amd64.s", "stubs_amd64.go", "./image", "-pkg", "image")
}

// Images of noise, and images that are background for the most part.
func BenchmarkGather(b *testing.B) {
	defer cpu.StopWorkers()
	for _, what := range []string{"noise", "digits"} {
		for _, rows := range []int{64, 1000} {
			b.Run(fmt.Sprint(what, " ", rows), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				src := make([]uint8, 60000*784)
				for i := range src {
					if what == "noise" || i%784/28%3 == 0 && i%28 > 8 && i%28 < 20 {
						src[i] = uint8(r.Uint32())
					}
				}
				idx := make([]int64, 60000)
				for i, o := range r.Perm(60000) {
					idx[i] = int64(o)
				}
				dst := make([]float32, rows*784)
				tables := make([]Table, 1)
				i := 0
				for b.Loop() {
					if i+rows > len(idx) {
						i = 0
					}
					Gather(dst, src, idx[i:i+rows], 784, tables)
					i += rows
				}
				b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds()/1e6, "Msamples/s")
			})
		}
	}
}
