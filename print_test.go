package ebb_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

// printCase is a tensor that testdata/print_torch.py printed with PyTorch.
type printCase struct {
	DType   string
	Shape   []int
	Data    []string
	Pattern bool // element i is (7*i mod 1009), of floats an eighth of it
	Grad    bool
	Want    string
}

func (c printCase) tensor(t *testing.T, s *ebb.Scope) *ebb.Tensor {
	n := 1
	for _, d := range c.Shape {
		n *= d
	}
	var dtype ebb.DType
	for ; dtype.String() != c.DType; dtype++ {
	}
	if !dtype.IsFloat() {
		data := make([]int64, n)
		for i := range data {
			if c.Pattern {
				data[i] = int64(i * 7 % 1009)
				continue
			}
			v, err := strconv.ParseInt(c.Data[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			data[i] = v
		}
		return ebb.FromSliceWith(s, data, c.Shape).To(dtype)
	}
	data := make([]float64, n)
	for i := range data {
		if c.Pattern {
			data[i] = float64(i*7%1009) / 8
			continue
		}
		v, err := strconv.ParseFloat(c.Data[i], 64)
		if err != nil {
			t.Fatal(err)
		}
		data[i] = v
	}
	return ebb.FromSliceWith(s, data, c.Shape).To(dtype).SetRequiresGrad(c.Grad)
}

func TestPrintAsPyTorch(t *testing.T) {
	raw, err := os.ReadFile("testdata/print_torch.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []printCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		for i, c := range cases {
			if got := c.tensor(t, s).String(); got != c.Want {
				t.Errorf("case %d, %s %v %v:\ngot\n%s\nwant\n%s", i, c.DType, c.Shape, c.Data, got, c.Want)
			}
		}
	})
}

func TestPrintOtherLayoutsAndGraphs(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		x := ebb.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3).SetRequiresGrad(true)
		for _, c := range []struct {
			x    *ebb.Tensor
			want string
		}{
			{x.Detach().T(), "tensor([[1., 4.],\n        [2., 5.],\n        [3., 6.]])"},
			{x.Detach().Select(1, 1), "tensor([2., 5.])"},
			{x.Detach().Select(0, 0).Expand(2, 3), "tensor([[1., 2., 3.],\n        [1., 2., 3.]])"},
			{x.Add(x), "tensor([[ 2.,  4.,  6.],\n        [ 8., 10., 12.]], grad_fn=<AddBackward0>)"},
			{x.MaskedFill(x.GtScalar(2), 0), "tensor([[1., 2., 0.],\n        [0., 0., 0.]], grad_fn=<MaskedFillBackward0>)"},
			{x.View(6), "tensor([1., 2., 3., 4., 5., 6.], grad_fn=<ViewBackward0>)"},
			{x.GtScalar(2), "tensor([[False, False,  True],\n        [ True,  True,  True]])"},
			{nil, "tensor(nil)"},
		} {
			if got := fmt.Sprint(c.x); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		}
	})
}

func TestPrintReadsNothingButTheEdges(t *testing.T) {
	rt := newRuntime(t)
	run(t, rt, func(s *ebb.Scope) {
		x := ebb.Zeros(s, ebb.Shape{1 << 20})
		before := flatOf(rt)
		if n := testing.AllocsPerRun(5, func() { _ = x.String() }); n > 100 {
			t.Errorf("printing a large tensor takes %v Go allocations", n)
		}
		if got := flatOf(rt); got != before {
			t.Errorf("printing changed the ledgers: %+v, before %+v", got, before)
		}
	})
}

func TestPrintReleased(t *testing.T) {
	rt := newRuntime(t)
	s := rt.NewScope("short")
	x := ebb.Ones(s, ebb.Shape{2})
	empty := ebb.Ones(s, ebb.Shape{0})
	s.Close()
	for _, x := range []*ebb.Tensor{x, empty} {
		got := x.String()
		if !strings.HasPrefix(got, "tensor(released; made at ") || strings.Count(got, "print_test.go") != 2 {
			t.Errorf("a released tensor prints as %s", got)
		}
	}
}

func TestPrintOfStore(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("weights")
	defer st.Close()
	if got, want := fmt.Sprintf("%v", ebb.Ones(st, ebb.Shape{2}, ebb.Float64)), "tensor([1., 1.], dtype=torch.float64)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
