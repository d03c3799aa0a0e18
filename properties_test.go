package ebb_test

import (
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
	"pgregory.net/rapid"
)

// array is the obvious tensor: a shape and which element of a base each of its
// elements is, row-major.
type array struct {
	shape []int
	index []int
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// at calls f with every position of shape, row-major.
func positions(shape []int, f func(pos []int)) {
	pos := make([]int, len(shape))
	for range product(shape) {
		f(pos)
		for d := len(pos) - 1; d >= 0; d-- {
			if pos[d]++; pos[d] < shape[d] {
				break
			}
			pos[d] = 0
		}
	}
}

// pick returns the array of the given shape whose element at pos is that of a
// at from(pos).
func (a array) pick(shape []int, from func(pos []int) []int) array {
	out := array{shape: slices.Clone(shape)}
	positions(shape, func(pos []int) {
		flat := 0
		for d, p := range from(pos) {
			flat = flat*a.shape[d] + p
		}
		out.index = append(out.index, a.index[flat])
	})
	return out
}

// Any sequence of views shows the elements that the definitions say, and what
// is written through it arrives in the base, there and nowhere else.
func TestViewsShowTheRightElements(t *testing.T) {
	rt := newRuntime(t)
	rapid.Check(t, func(t *rapid.T) {
		s := rt.NewScope("views")
		defer s.Close()
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(t, "shape")
		base := ebb.Arange(s, 0, product(shape), 1).View(shape...)
		x, a := base, array{shape: shape}
		for i := range product(shape) {
			a.index = append(a.index, i)
		}
		for range rapid.IntRange(1, 6).Draw(t, "views") {
			rank := len(a.shape)
			dim := 0
			if rank > 0 {
				dim = rapid.IntRange(0, rank-1).Draw(t, "dim")
			}
			switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
			case kind == 0 && rank > 0:
				order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}[:rank]).Draw(t, "order")
				shape := make([]int, rank)
				for i, d := range order {
					shape[i] = a.shape[d]
				}
				x = x.Permute(order...)
				a = a.pick(shape, func(pos []int) []int {
					from := make([]int, rank)
					for i, d := range order {
						from[d] = pos[i]
					}
					return from
				})
			case kind == 1 && rank > 0:
				start := rapid.IntRange(0, a.shape[dim]).Draw(t, "start")
				length := rapid.IntRange(0, a.shape[dim]-start).Draw(t, "length")
				x = x.Narrow(dim, start, length)
				shape := slices.Clone(a.shape)
				shape[dim] = length
				a = a.pick(shape, func(pos []int) []int {
					from := slices.Clone(pos)
					from[dim] += start
					return from
				})
			case kind == 2 && rank > 0 && a.shape[dim] > 0:
				i := rapid.IntRange(0, a.shape[dim]-1).Draw(t, "index")
				x = x.Select(dim, i-a.shape[dim])
				a = a.pick(slices.Delete(slices.Clone(a.shape), dim, dim+1), func(pos []int) []int { return slices.Insert(slices.Clone(pos), dim, i) })
			case kind == 3 && rank < 6:
				x = x.Unsqueeze(dim)
				a = a.pick(slices.Insert(slices.Clone(a.shape), dim, 1), func(pos []int) []int { return slices.Delete(slices.Clone(pos), dim, dim+1) })
			case kind == 4:
				x = x.Squeeze()
				a.shape = slices.DeleteFunc(slices.Clone(a.shape), func(d int) bool { return d == 1 })
			case kind == 5 && rank > 1:
				from, to := dim, rapid.IntRange(dim, rank-1).Draw(t, "to")
				flat := x.Flatten(from, to)
				if !flat.SharesStorage(base) {
					continue // a copy: not a view of the base any more
				}
				x = flat
				shape := append(slices.Clone(a.shape[:from]), product(a.shape[from:to+1]))
				a.shape = append(shape, a.shape[to+1:]...)
			case kind == 6 && rank > 0 && a.shape[dim] == 1:
				n := rapid.IntRange(0, 3).Draw(t, "repeat")
				shape := slices.Clone(a.shape)
				shape[dim] = n
				x = x.Expand(shape...)
				a = a.pick(shape, func(pos []int) []int {
					from := slices.Clone(pos)
					from[dim] = 0
					return from
				})
			}
		}
		if !slices.Equal(x.Shape(), a.shape) {
			t.Fatalf("shape %v, want %v", x.Shape(), a.shape)
		}
		got := x.Int64s()
		for i, want := range a.index {
			if got[i] != int64(want) {
				t.Fatalf("element %d is %d, want %d of shape %v", i, got[i], want, a.shape)
			}
		}
		if c := x.Contiguous(); !c.IsContiguous() || !slices.Equal(c.Int64s(), got) {
			t.Fatal("Contiguous has other elements")
		}
		if !slices.Equal(x.Reshape(-1, 1).Int64s(), got) && len(got) > 0 {
			t.Fatal("Reshape has other elements")
		}
		unique := slices.Compact(slices.Sorted(slices.Values(a.index)))
		if len(unique) != len(a.index) {
			return // repeated: writing through it is an error
		}
		x.Fill_(-1)
		for i, v := range base.Int64s() {
			if _, shown := slices.BinarySearch(unique, i); shown != (v == -1) {
				t.Fatalf("element %d of the base is %d after a fill of %v", i, v, unique)
			}
		}
	})
}

// Broadcasting is NumPy's, and its gradient sums over what was repeated.
func TestBroadcastingProperties(t *testing.T) {
	rt := newRuntime(t)
	rapid.Check(t, func(t *rapid.T) {
		s := rt.NewScope("broadcast")
		defer s.Close()
		// Two shapes from one: some sizes made 1, some in front left out.
		full := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(t, "shape")
		part := func(name string) []int {
			shape := slices.Clone(full[rapid.IntRange(0, len(full)).Draw(t, name+" drop"):])
			for i := range shape {
				if rapid.Bool().Draw(t, name+" one") {
					shape[i] = 1
				}
			}
			return shape
		}
		sa, sb := part("a"), part("b")
		a := ebb.Arange(s, 0, product(sa), 1, ebb.Float64).View(sa...).Clone().SetRequiresGrad(true)
		b := ebb.Arange(s, 0, product(sb), 1, ebb.Float64).View(sb...).MulScalar(100).SetRequiresGrad(true)
		out := make([]int, max(len(sa), len(sb)))
		size := func(shape []int, d int) int { // of the result's dimension d
			if d -= len(out) - len(shape); d >= 0 {
				return shape[d]
			}
			return 1
		}
		for d := range out {
			if out[d] = size(sa, d); out[d] == 1 {
				out[d] = size(sb, d)
			}
		}
		sum := a.Add(b)
		if !slices.Equal(sum.Shape(), out) {
			t.Fatalf("%v and %v give %v, want %v", sa, sb, sum.Shape(), out)
		}
		flat := func(shape, pos []int) int {
			n := 0
			for d := range pos {
				if i := d - (len(pos) - len(shape)); i >= 0 {
					p := pos[d]
					if shape[i] == 1 {
						p = 0
					}
					n = n*shape[i] + p
				}
			}
			return n
		}
		got, i := sum.Float64s(), 0
		wantA := make([]float64, product(sa))
		positions(out, func(pos []int) {
			if want := float64(flat(sa, pos) + 100*flat(sb, pos)); got[i] != want {
				t.Fatalf("element %d is %v, want %v", i, got[i], want)
			}
			wantA[flat(sa, pos)] += float64(flat(sb, pos)) * 100
			i++
		})
		a.Mul(b).Sum().Backward()
		if g := a.Grad(); g != nil && !slices.Equal(g.Float64s(), wantA) {
			t.Fatalf("gradient %v, want %v", g.Float64s(), wantA)
		}
	})
}

// Sizes that do not fit never broadcast.
func TestSizesThatDoNotBroadcast(t *testing.T) {
	rt := newRuntime(t)
	rapid.Check(t, func(t *rapid.T) {
		s := rt.NewScope("broadcast")
		defer s.Close()
		shape := rapid.SliceOfN(rapid.IntRange(2, 4), 1, 4).Draw(t, "shape")
		other := slices.Clone(shape)
		other[rapid.IntRange(0, len(shape)-1).Draw(t, "dim")] += rapid.IntRange(1, 3).Draw(t, "more")
		var err error
		func() {
			defer ebb.Catch(&err)
			ebb.Ones(s, shape).Mul(ebb.Ones(s, other))
		}()
		if e, ok := err.(*ebb.Error); !ok || e.Kind != ebb.ErrShape {
			t.Fatalf("%v and %v: %v", shape, other, err)
		}
	})
}
