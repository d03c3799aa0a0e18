package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

type packed struct {
	Shape  []int
	Values []float64
}

type refCase struct {
	Op, DType     string
	Dim           int
	Idx, Out, Src packed
	Dst           packed
}

var dtypes = map[string]cpu.DType{
	"float32": cpu.Float32, "float64": cpu.Float64, "int64": cpu.Int64,
	"int32": cpu.Int32, "uint8": cpu.Uint8, "bool": cpu.Bool,
}

// A layout places an array's elements in memory: in the order of the dimensions
// listed, innermost last, each gap elements apart.
type layout struct {
	reverse bool
	gap     int
}

var layouts = []layout{{false, 1}, {true, 1}, {false, 2}, {true, 3}}

const canary = 77

// place returns the values as an array in the layout, and a check that
// nothing outside its elements was written.
func place(dt cpu.DType, p packed, l layout) (cpu.Array, func() bool) {
	a := cpu.Array{DType: dt, Shape: p.Shape, Strides: make([]int, len(p.Shape))}
	step := l.gap
	for k := range p.Shape {
		d := len(p.Shape) - 1 - k
		if l.reverse {
			d = k
		}
		a.Strides[d] = step
		step *= max(p.Shape[d], 1)
	}
	const guard = 8
	mem := make([]float64, step+2*guard) // large enough for any dtype, and aligned
	base := unsafe.Pointer(&mem[0])
	n := step + 2*guard
	for i := range n {
		set(dt, base, i, canary)
	}
	a.Data = unsafe.Add(base, guard*dt.Size())
	used := map[int]bool{}
	for i, v := range p.Values {
		o := offset(i, a.Shape, a.Strides)
		set(dt, a.Data, o, v)
		used[o+guard] = true
	}
	return a, func() bool {
		for i := range n {
			if !used[i] && get(dt, base, i) != canary {
				return false
			}
		}
		return true
	}
}

func set(dt cpu.DType, p unsafe.Pointer, i int, v float64) {
	switch dt {
	case cpu.Float32:
		*at[float32](p, i) = float32(v)
	case cpu.Float64:
		*at[float64](p, i) = v
	case cpu.Int64:
		*at[int64](p, i) = int64(v)
	case cpu.Int32:
		*at[int32](p, i) = int32(v)
	default:
		*at[uint8](p, i) = uint8(v)
	}
}

func get(dt cpu.DType, p unsafe.Pointer, i int) float64 {
	switch dt {
	case cpu.Float32:
		return float64(*at[float32](p, i))
	case cpu.Float64:
		return *at[float64](p, i)
	case cpu.Int64:
		return float64(*at[int64](p, i))
	case cpu.Int32:
		return float64(*at[int32](p, i))
	}
	return float64(*at[uint8](p, i))
}

func values(a cpu.Array) []float64 {
	v := make([]float64, a.Len())
	for i := range v {
		v[i] = get(a.DType, a.Data, offset(i, a.Shape, a.Strides))
	}
	return v
}

func filled(shape []int, v float64) packed {
	p := packed{Shape: shape, Values: make([]float64, product(shape))}
	for i := range p.Values {
		p.Values[i] = v
	}
	return p
}

func TestAgainstPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []refCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for n, c := range cases {
		for li, l := range layouts {
			for _, idxType := range []cpu.DType{cpu.Int64, cpu.Int32} {
				dt := dtypes[c.DType]
				start := filled(c.Out.Shape, 9)
				if c.Op == "indexadd" || c.Op == "scatteradd" {
					start = c.Dst
				}
				dst, clean := place(dt, start, l)
				src, srcClean := place(dt, c.Src, layouts[(li+1)%len(layouts)])
				idx, _ := place(idxType, c.Idx, layouts[(li+2)%len(layouts)])
				if err := apply(c, dst, src, idx); err != nil {
					t.Fatalf("case %d %s: %v", n, c.Op, err)
				}
				if got := values(dst); !slices.Equal(got, c.Out.Values) {
					t.Fatalf("case %d: %s %s dim %d, layout %v, idx %v:\n got %v\nwant %v",
						n, c.Op, c.DType, c.Dim, l, c.Idx.Values, got, c.Out.Values)
				}
				if !clean() || !srcClean() {
					t.Fatalf("case %d: %s wrote outside the array", n, c.Op)
				}
			}
		}
	}
}

func apply(c refCase, dst, src, idx cpu.Array) error {
	switch c.Op {
	case "select":
		return IndexSelect(dst, src, c.Dim, idx)
	case "indexadd":
		return IndexAdd(dst, c.Dim, idx, src)
	case "gather":
		return Gather(dst, src, c.Dim, idx)
	case "scatteradd":
		return ScatterAdd(dst, c.Dim, idx, src)
	case "onehot":
		return OneHot(dst, idx)
	case "tril":
		Tril(dst, src, c.Dim)
		return nil
	case "triu":
		Triu(dst, src, c.Dim)
		return nil
	case "arange":
		if dst.DType == cpu.Float32 || dst.DType == cpu.Float64 {
			Arange(dst, c.Idx.Values[0], c.Idx.Values[1])
		} else {
			ArangeInt(dst, int64(c.Idx.Values[0]), int64(c.Idx.Values[1]))
		}
		return nil
	}
	return fmt.Errorf("no operation %q", c.Op)
}

func TestIndexOutOfBounds(t *testing.T) {
	for _, bad := range []float64{-1, -4, 4, 1 << 30} {
		for _, idxType := range []cpu.DType{cpu.Int64, cpu.Int32} {
			idx, _ := place(idxType, packed{[]int{3}, []float64{1, 2, bad}}, layouts[2])
			idx2, _ := place(idxType, packed{[]int{2, 3}, []float64{0, 1, bad, 3, bad, 0}}, layouts[1])
			wide := filled([]int{4, 3}, 5)
			for name, f := range map[string]func(dst, src cpu.Array) error{
				"select":  func(d, s cpu.Array) error { d.Shape = []int{3, 3}; return IndexSelect(d, s, 0, idx) },
				"add":     func(d, s cpu.Array) error { s.Shape = []int{3, 3}; return IndexAdd(d, 0, idx, s) },
				"gather":  func(d, s cpu.Array) error { d.Shape = []int{2, 3}; return Gather(d, s, 0, idx2) },
				"scatter": func(d, s cpu.Array) error { return ScatterAdd(d, 0, idx2, s) },
			} {
				dst, _ := place(cpu.Float32, wide, layouts[0])
				src, _ := place(cpu.Float32, filled([]int{4, 3}, 6), layouts[0])
				var e *Error
				if err := f(dst, src); !errors.As(err, &e) || *e != (Error{Index: int64(bad), Size: 4, Pos: 2}) {
					t.Errorf("%s with index %v: %v", name, bad, err)
				}
				if !slices.Equal(values(dst), wide.Values) {
					t.Errorf("%s wrote to dst before it failed", name)
				}
			}
			hot, _ := place(cpu.Int64, filled([]int{3, 4}, 5), layouts[0])
			var e *Error
			if err := OneHot(hot, idx); !errors.As(err, &e) || e.Pos != 2 {
				t.Errorf("one-hot of %v: %v", bad, err)
			}
		}
	}
	e := &Error{Index: 7, Size: 4, Pos: 2}
	if want := "index 7 at position 2 is out of bounds for a dimension of size 4"; e.Error() != want {
		t.Errorf("message %q", e.Error())
	}
}

// Sums must not depend on the number of threads, bit for bit, and large
// arrays (which are split into tasks) must agree with an obvious loop.
func TestLargeAndThreads(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	type problem struct {
		shape []int
		dim   int
	}
	var problems []problem
	for _, shape := range [][]int{{120, 2500}, {2500, 40}, {100000}, {3, 9, 3000}} {
		for dim := range shape {
			problems = append(problems, problem{shape, dim})
		}
	}
	for n, p := range problems {
		shape, dim, l, seed := p.shape, p.dim, layouts[n%len(layouts)], uint64(n)
		random := func(n int) uint64 {
			seed = seed*6364136223846793005 + 1442695040888963407
			return (seed >> 33) % uint64(n)
		}
		src, idx := filled(shape, 0), filled(shape, 0)
		for i := range src.Values {
			src.Values[i] = float64(float32(random(1000)) / 7)
			idx.Values[i] = float64(random(shape[dim]))
		}
		line := packed{[]int{shape[dim]}, idx.Values[:shape[dim]]}
		s, _ := place(cpu.Float32, src, l)
		ix, _ := place(cpu.Int64, idx, l)
		ix1, _ := place(cpu.Int64, line, l)

		var want [4][]float32
		for k := range want {
			want[k] = make([]float32, product(shape))
		}
		flat := make([]int, len(shape))
		for i := range src.Values {
			rest := i
			for d := len(shape) - 1; d >= 0; d-- {
				flat[d] = rest % shape[d]
				rest /= shape[d]
			}
			with := func(v float64) int {
				pos := 0
				for d, size := range shape {
					if d == dim {
						pos = pos*size + int(v)
					} else {
						pos = pos*size + flat[d]
					}
				}
				return pos
			}
			byLine, byAll := with(line.Values[flat[dim]]), with(idx.Values[i])
			want[0][i] = float32(src.Values[byLine])
			want[1][byLine] += float32(src.Values[i])
			want[2][i] = float32(src.Values[byAll])
			want[3][byAll] += float32(src.Values[i])
		}
		for _, threads := range []int{1, 3} {
			cpu.SetNumThreads(threads)
			for k, f := range []func(dst cpu.Array) error{
				func(d cpu.Array) error { return IndexSelect(d, s, dim, ix1) },
				func(d cpu.Array) error { return IndexAdd(d, dim, ix1, s) },
				func(d cpu.Array) error { return Gather(d, s, dim, ix) },
				func(d cpu.Array) error { return ScatterAdd(d, dim, ix, s) },
			} {
				dst, clean := place(cpu.Float32, filled(shape, 0), l)
				if err := f(dst); err != nil {
					t.Fatal(err)
				}
				for i, v := range values(dst) {
					if v != float64(want[k][i]) {
						t.Fatalf("%d threads, operation %d: element %d is %v, want %v", threads, k, i, v, want[k][i])
					}
				}
				if !clean() {
					t.Fatalf("operation %d wrote outside the array", k)
				}
			}
		}
	}
}

func BenchmarkEmbedding(b *testing.B) {
	const rows, width, n = 10000, 256, 512
	table, _ := place(cpu.Float32, filled([]int{rows, width}, 1), layouts[0])
	out, _ := place(cpu.Float32, filled([]int{n, width}, 1), layouts[0])
	idx := packed{[]int{n}, make([]float64, n)}
	for i := range idx.Values {
		idx.Values[i] = float64(i * 7919 % rows)
	}
	ix, _ := place(cpu.Int64, idx, layouts[0])
	b.Run("IndexSelect", func(b *testing.B) {
		b.SetBytes(n * width * 4)
		for b.Loop() {
			_ = IndexSelect(out, table, 0, ix)
		}
	})
	b.Run("IndexAdd", func(b *testing.B) {
		b.SetBytes(n * width * 4)
		for b.Loop() {
			_ = IndexAdd(table, 0, ix, out)
		}
	})
}
