package loss

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
	"pgregory.net/rapid"
)

// number reads JSON numbers and the strings nan, inf and -inf.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(trimQuotes(b)), 64)
	*n = number(v)
	return err
}

func trimQuotes(b []byte) []byte {
	if b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

type packed struct {
	Shape  []int
	Values []number
}

type refCase struct {
	Logits, Target, Loss, Upstream, Grad packed
	GradTarget, Weight                   *packed
	Probabilities                        bool
	Ignore                               int64
	Smoothing                            float64
	Reduction                            string
}

var reductions = map[string]Reduction{"none": None, "mean": Mean, "sum": Sum}

// place lays values out with the given gap between elements, dimensions in
// reverse order if asked, and returns a check that nothing else was written.
func place(dt cpu.DType, p packed, reverse bool, gap int) (cpu.Array, func() bool) {
	a := cpu.Array{DType: dt, Shape: p.Shape, Strides: make([]int, len(p.Shape))}
	step := gap
	for k := range p.Shape {
		d := len(p.Shape) - 1 - k
		if reverse {
			d = k
		}
		a.Strides[d] = step
		step *= max(p.Shape[d], 1)
	}
	const guard = 4
	mem := make([]uint64, step+2*guard)
	for i := range mem {
		mem[i] = 0x7777777777777777
	}
	a.Data = unsafe.Pointer(&mem[guard])
	used := map[int]bool{}
	for i, v := range p.Values {
		o := single(&a, i)
		put(a, o, float64(v))
		used[guard*8+o*dt.Size()] = true
	}
	return a, func() bool {
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), len(mem)*8)
		for i := 0; i < len(bytes); i += dt.Size() {
			if !used[i] && bytes[i] != 0x77 {
				return false
			}
		}
		return true
	}
}

func put(a cpu.Array, o int, v float64) {
	switch a.DType {
	case cpu.Float32:
		store[float32](a.Data, o, v)
	case cpu.Float64:
		store[float64](a.Data, o, v)
	case cpu.Int64:
		*(*int64)(unsafe.Add(a.Data, o*8)) = int64(v)
	case cpu.Int32:
		*(*int32)(unsafe.Add(a.Data, o*4)) = int32(v)
	}
}

func values(a cpu.Array) []float64 {
	v := make([]float64, a.Len())
	for i := range v {
		if o := single(&a, i); a.DType == cpu.Float32 {
			v[i] = load[float32](a.Data, o)
		} else {
			v[i] = load[float64](a.Data, o)
		}
	}
	return v
}

func blank(shape []int) packed {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return packed{shape, make([]number, n)}
}

// near reports whether got is want to the dtype's precision. Sums of terms of
// size 10 and more lose absolute, not relative, precision.
func near(dt cpu.DType, got float64, want number) bool {
	tolerance := 1e-13
	if dt == cpu.Float32 {
		tolerance = 3e-7
	}
	w := float64(want)
	if math.IsNaN(w) || math.IsInf(w, 0) {
		return got == w || math.IsNaN(w) && math.IsNaN(got)
	}
	return math.Abs(got-w) <= tolerance*max(1, math.Abs(w))
}

func compare(t *testing.T, what string, got cpu.Array, want packed) {
	t.Helper()
	for i, v := range values(got) {
		if !near(got.DType, v, want.Values[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, v, want.Values[i])
		}
	}
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
		for _, dt := range []cpu.DType{cpu.Float32, cpu.Float64} {
			for variant := range 4 {
				reverse, gap := variant&1 == 1, 1+variant/2
				name := fmt.Sprintf("case %d (%v, %s, smoothing %v) %v variant %d", n, c.Logits.Shape, c.Reduction, c.Smoothing, dt, variant)
				opt := Options{IgnoreIndex: c.Ignore, LabelSmoothing: c.Smoothing, Reduction: reductions[c.Reduction]}
				if c.Weight != nil {
					w, _ := place(dt, *c.Weight, false, gap)
					opt.Weight = &w
				}
				logits, logitsClean := place(dt, c.Logits, reverse, gap)
				targetType := []cpu.DType{cpu.Int64, cpu.Int32}[gap-1]
				if c.Probabilities {
					targetType = dt
				}
				target, _ := place(targetType, c.Target, !reverse, gap)
				loss, lossClean := place(dt, blank(c.Loss.Shape), reverse, gap)
				rows := append(slices.Clone(c.Logits.Shape[:1]), c.Logits.Shape[2:]...)
				lse, lseClean := place(cpu.Float64, blank(rows), reverse, gap)
				if err := CrossEntropy(loss, lse, logits, target, opt); err != nil {
					t.Fatal(name, err)
				}
				compare(t, name+" loss", loss, c.Loss)

				up, _ := place(dt, c.Upstream, !reverse, gap)
				grad, gradClean := place(dt, blank(c.Grad.Shape), !reverse, gap)
				if err := CrossEntropyBackward(grad, up, logits, lse, target, opt); err != nil {
					t.Fatal(name, err)
				}
				compare(t, name+" gradient", grad, c.Grad)
				if c.Probabilities {
					gt, clean := place(dt, blank(c.Grad.Shape), reverse, gap)
					CrossEntropyTargetBackward(gt, up, logits, lse, opt)
					compare(t, name+" target's gradient", gt, *c.GradTarget)
					if !clean() {
						t.Fatal(name, "wrote outside the target's gradient")
					}
				}
				if !logitsClean() || !lossClean() || !lseClean() || !gradClean() {
					t.Fatal(name, "wrote outside its arrays")
				}
				if err := CrossEntropyBackward(logits, up, logits, lse, target, opt); err != nil {
					t.Fatal(name, err)
				}
				compare(t, name+" gradient in place", logits, c.Grad)
			}
		}
	}
}

func TestTargetOutOfRange(t *testing.T) {
	for _, bad := range []number{-1, 3, -101} {
		logits, _ := place(cpu.Float32, blank([]int{2, 3, 2}), false, 1)
		for _, tt := range []cpu.DType{cpu.Int64, cpu.Int32} {
			target, _ := place(tt, packed{[]int{2, 2}, []number{0, -100, bad, 2}}, true, 2)
			loss, _ := place(cpu.Float32, packed{nil, []number{5}}, false, 1)
			lse, _ := place(cpu.Float64, blank([]int{2, 2}), false, 1)
			err := CrossEntropy(loss, lse, logits, target, Options{IgnoreIndex: -100})
			var e *TargetError
			if !errors.As(err, &e) || *e != (TargetError{Row: 2, Target: int64(bad), Classes: 3}) {
				t.Errorf("target %v: %v", bad, err)
			}
			if values(loss)[0] != 5 {
				t.Error("the loss was written")
			}
			if err := CrossEntropyBackward(logits, loss, logits, lse, target, Options{IgnoreIndex: -100}); !errors.As(err, &e) {
				t.Errorf("backward with target %v: %v", bad, err)
			}
		}
	}
	e := &TargetError{Row: 2, Target: 7, Classes: 3}
	if want := "target 7 in row 2 is not one of 3 classes"; e.Error() != want {
		t.Errorf("message %q", e.Error())
	}
}

func TestSameBitsForAnyThreads(t *testing.T) {
	t.Cleanup(func() { cpu.SetNumThreads(0); cpu.StopWorkers() })
	x := blank([]int{300, 200})
	y := blank([]int{300})
	for i := range x.Values {
		x.Values[i] = number(math.Sin(float64(i*i)) * 9)
	}
	for i := range y.Values {
		y.Values[i] = number(i % 200)
	}
	logits, _ := place(cpu.Float32, x, false, 1)
	target, _ := place(cpu.Int64, y, false, 1)
	var losses, grads [][]float64
	for _, n := range []int{1, 2, 5} {
		cpu.SetNumThreads(n)
		loss, _ := place(cpu.Float32, blank(nil), false, 1)
		lse, _ := place(cpu.Float64, blank([]int{300}), false, 1)
		grad, _ := place(cpu.Float32, x, false, 1)
		up, _ := place(cpu.Float32, packed{nil, []number{1}}, false, 1)
		if err := CrossEntropy(loss, lse, logits, target, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := CrossEntropyBackward(grad, up, logits, lse, target, Options{}); err != nil {
			t.Fatal(err)
		}
		losses, grads = append(losses, values(loss)), append(grads, values(grad))
	}
	for i := range losses {
		if !slices.Equal(losses[i], losses[0]) || !slices.Equal(grads[i], grads[0]) {
			t.Error("results depend on the number of threads")
		}
	}
}

func TestExpAndLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-707, 0).Draw(t, "x")
		if got, want := exp64(x), math.Exp(x); math.Abs(got-want) > 4e-16*want {
			t.Fatalf("exp64(%v) = %v, want %v", x, got, want)
		}
		if got, want := exp32(x/4), math.Exp(x/4); math.Abs(got-want) > 1e-8*want {
			t.Fatalf("exp32(%v) = %v, want %v", x/4, got, want)
		}
		y := rapid.Float64Range(1, 1e9).Draw(t, "y")
		if got, want := logOf(y), math.Log(y); math.Abs(got-want) > 4e-16*max(want, 1e-3) {
			t.Fatalf("logOf(%v) = %v, want %v", y, got, want)
		}
	})
	for _, f := range []func(float64) float64{exp32, exp64} {
		if f(0) != 1 || f(math.Inf(-1)) != 0 || f(-1000) != 0 || !math.IsNaN(f(math.NaN())) {
			t.Error("exp is wrong at 0, -Inf, -1000 or NaN")
		}
	}
	if logOf(1) != 0 || !math.IsInf(logOf(math.Inf(1)), 1) || !math.IsNaN(logOf(math.NaN())) {
		t.Error("log is wrong at 1, +Inf or NaN")
	}
}

func BenchmarkCrossEntropy(b *testing.B) {
	for _, shape := range [][]int{{64, 10}, {256, 1000}} {
		logits, _ := place(cpu.Float32, blank(shape), false, 1)
		grad, _ := place(cpu.Float32, blank(shape), false, 1)
		target, _ := place(cpu.Int64, blank(shape[:1]), false, 1)
		loss, _ := place(cpu.Float32, blank(nil), false, 1)
		lse, _ := place(cpu.Float64, blank(shape[:1]), false, 1)
		b.Run(fmt.Sprint(shape), func(b *testing.B) {
			for b.Loop() {
				_ = CrossEntropy(loss, lse, logits, target, Options{})
				_ = CrossEntropyBackward(grad, loss, logits, lse, target, Options{})
			}
		})
	}
}
