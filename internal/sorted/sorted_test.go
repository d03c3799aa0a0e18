package sorted

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The list does what a sorted slice does.
func TestLikeASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(cmp.Compare[int])
		var want []int
		check := func() {
			if got := slices.Collect(l.All()); !slices.Equal(got, want) || l.Len() != len(want) {
				t.Fatalf("%d values %v, want %v", l.Len(), got, want)
			}
			for i, c := range l.chunks {
				if len(c) == 0 || len(c) > chunkSize {
					t.Fatalf("chunk %d has %d values", i, len(c))
				}
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			from := rapid.IntRange(0, 5000).Draw(t, "from")
			n := rapid.SampledFrom([]int{1, 3, 700, 2000}).Draw(t, "n")
			step := rapid.SampledFrom([]int{1, -1, 7}).Draw(t, "step")
			remove := rapid.Bool().Draw(t, "remove")
			for k := range n {
				v := from + k*step
				i, there := slices.BinarySearch(want, v)
				if remove {
					if l.Delete(v) != there {
						t.Fatalf("Delete(%d) does not report %v", v, there)
					}
					if there {
						want = slices.Delete(want, i, i+1)
					}
				} else if !there {
					l.Insert(v)
					want = slices.Insert(want, i, v)
				}
			}
			check()
			got, ok := l.First(func(v int) bool { return v >= from })
			if i, _ := slices.BinarySearch(want, from); ok != (i < len(want)) || ok && got != want[i] {
				t.Fatalf("First(>= %d) is %d, %v in %v", from, got, ok, want)
			}
		}
		odd := func(v int) bool { return v%2 != 0 }
		l.DeleteFunc(odd)
		want = slices.DeleteFunc(want, odd)
		check()
	})
}
