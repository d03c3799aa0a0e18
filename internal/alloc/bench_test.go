package alloc

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// One Alloc and one Free per operation, from the cache.
func BenchmarkAllocFree(b *testing.B) {
	for _, size := range []int{0, 1 << 10, 100_000, 4 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			a := New()
			keep := mustAlloc(b, a, 64) // blocks lie beside others
			defer func() { a.Free(keep); mustClose(b, a) }()
			b.ReportAllocs()
			for b.Loop() {
				block, _ := a.Alloc(size)
				a.Free(block)
			}
		})
	}
	b.Run("step", func(b *testing.B) { // 300 blocks allocated, then freed newest first
		a := New()
		r := rand.New(rand.NewPCG(7, 8))
		var sizes [300]int
		for i := range sizes {
			sizes[i] = 1 + r.IntN(1<<(6+r.IntN(17)))
		}
		var blocks [300]*Block
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			i := n % len(sizes)
			if i == 0 {
				for j := len(blocks) - 1; j >= 0 && blocks[j] != nil; j-- {
					a.Free(blocks[j])
				}
			}
			blocks[i], _ = a.Alloc(sizes[i])
		}
	})
	b.Run("random", func(b *testing.B) { // 1000 live, one freed and one allocated
		a := New()
		r := rand.New(rand.NewPCG(7, 8))
		var sizes [4096]int
		for i := range sizes {
			sizes[i] = 1 + r.IntN(1<<(6+r.IntN(15)))
		}
		var live [1000]*Block
		for i := range live {
			live[i] = mustAlloc(b, a, sizes[i])
		}
		x := uint32(1)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			x = x*1664525 + 1013904223
			i := int(x>>10) % len(live)
			a.Free(live[i])
			live[i], _ = a.Alloc(sizes[n%len(sizes)])
		}
	})
}
