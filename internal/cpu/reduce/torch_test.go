package reduce

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// torchCase is one call of testdata/make_torch_json.py, along dimension 1.
type torchCase struct {
	Op  string
	In  []torchArray
	Out []torchArray
}

type torchArray struct {
	DType  string
	Shape  []int
	Values []string
}

var dtypeNames = map[string]cpu.DType{"float32": cpu.Float32, "float64": cpu.Float64, "int64": cpu.Int64,
	"int32": cpu.Int32, "uint8": cpu.Uint8, "bool": cpu.Bool}

// array lays out a matrix, by columns if asked.
func (a torchArray) array(byColumns bool) *arraytest.Guarded {
	strides := []int{a.Shape[1] + 1, 1}
	if byColumns {
		strides = []int{1, a.Shape[0] + 1}
	}
	g := arraytest.New(dtypeNames[a.DType], a.Shape, strides)
	for i, v := range a.Values {
		g.Set(i, v)
	}
	return g
}

var opNames = map[string]Op{"Sum": Sum, "Mean": Mean, "Prod": Prod, "Max": Max, "Min": Min, "Any": Any, "All": All,
	"SumSquares": SumSquares}

func TestTorch(t *testing.T) {
	file, err := os.ReadFile("testdata/torch.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []torchCase
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Op+" "+c.In[0].DType, func(t *testing.T) {
			c.check(t, false)
			c.check(t, true)
		})
	}
}

func (c torchCase) check(t *testing.T, byColumns bool) {
	var in, out, want []*arraytest.Guarded
	for _, a := range c.In {
		in = append(in, a.array(byColumns))
	}
	for _, a := range c.Out {
		want = append(want, a.array(byColumns))
		out = append(out, arraytest.New(dtypeNames[a.DType], a.Shape, want[len(want)-1].Strides))
	}
	c.run(t, in, out)
	for o, w := range want {
		for i := range w.Len() {
			equal := out[o].Text(i) == w.Text(i)
			if arraytest.IsFloat(w.DType) {
				equal = equal || arraytest.CloseFloat(w.DType, out[o].Float(i), w.Float(i))
			}
			if !equal {
				t.Errorf("by columns %v: output %d, element %d: %s, PyTorch %s; input %v",
					byColumns, o, i, out[o].Text(i), w.Text(i), c.In[0].Values)
			}
		}
		out[o].CheckCanaries(t)
	}
}

func (c torchCase) run(t *testing.T, in, out []*arraytest.Guarded) {
	dst, src := out[0].Array, in[0].Array
	switch c.Op {
	case "ArgMax":
		ArgMax(dst, src, 1)
	case "ArgMin":
		ArgMin(dst, src, 1)
	case "MaxDim":
		MaxDim(dst, out[1].Array, src, 1)
	case "MinDim":
		MinDim(dst, out[1].Array, src, 1)
	case "CumSum":
		CumSum(dst, src, 1)
	case "SoftMax":
		SoftMax(dst, src, 1)
	case "LogSoftMax":
		LogSoftMax(dst, src, 1)
	case "LogSumExp":
		LogSumExp(dst, src, 1)
	case "SoftMaxBackward":
		SoftMaxBackward(dst, src, in[1].Array, 1)
	case "LogSoftMaxBackward":
		LogSoftMaxBackward(dst, src, in[1].Array, 1)
	case "VarMean":
		VarMean(dst, out[1].Array, src, []int{1}, 1)
	case "VarMean0":
		VarMean(dst, out[1].Array, src, []int{1}, 0)
	default:
		op, ok := opNames[c.Op]
		if !ok {
			t.Fatalf("unknown operation %s", c.Op)
		}
		Reduce(op, dst, src, []int{1})
	}
}

// A float32 sum of many terms is as close to the true sum as PyTorch's, which is
// 104857.6171875, where one accumulator of float32 would be off in the third digit.
func TestSumIsAccurate(t *testing.T) {
	const n = 1 << 20
	x, sum := arraytest.New(cpu.Float32, []int{n, 1}, []int{1, 1}), arraytest.New(cpu.Float32, []int{1, 1}, []int{1, 1})
	for i := range n {
		x.SetFloat(i, 0.1)
	}
	Reduce(Sum, sum.Array, x.Array, []int{0})
	if got, want := sum.Float(0), float64(float32(0.1))*n; math.Abs(got-want) > 104857.6171875-want {
		t.Errorf("sum of 2^20 times 0.1 is %v, want %v", got, want)
	}

	// 1 and 2^20 times 2^-60, in float64: a single accumulator never moves from 1.
	y, total := arraytest.New(cpu.Float64, []int{n + 1, 1}, []int{1, 1}), arraytest.New(cpu.Float64, []int{1, 1}, []int{1, 1})
	for i := range n {
		y.SetFloat(i+1, math.Ldexp(1, -60))
	}
	y.SetFloat(0, 1)
	Reduce(Sum, total.Array, y.Array, []int{0})
	if got, want := total.Float(0)-1, math.Ldexp(1, -40); math.Abs(got-want) > want/100 {
		t.Errorf("sum of 2^20 times 2^-60 beside 1 is %v, want %v", got, want)
	}
}

// The same for columns.
func TestColumnSumIsAccurate(t *testing.T) {
	const rows, cols = 1<<17 + 1, leastTile
	x := arraytest.New(cpu.Float64, []int{rows, cols}, []int{cols, 1})
	sum := arraytest.New(cpu.Float64, []int{1, cols}, []int{cols, 1})
	for i := range rows * cols {
		x.SetFloat(i, math.Ldexp(1, -60))
	}
	for i := range cols {
		x.SetFloat(i, 1)
	}
	Reduce(Sum, sum.Array, x.Array, []int{0})
	for i := range cols {
		if got, want := sum.Float(i)-1, math.Ldexp(1, -43); math.Abs(got-want) > want/20 {
			t.Errorf("column %d of 2^17 times 2^-60 below 1 sums to %v beside it, want %v", i, got, want)
		}
	}
}

// Columns and lines that fill every level of the cascade. The sums are of whole
// numbers, so they are exact in any order.
func TestSumOfMany(t *testing.T) {
	for _, rows := range []int{1, 63, 64, 65, 64*64 - 1, 64*64 + 1, 3*64*64 + 70} {
		for _, cols := range []int{9, 70} {
			for _, dtype := range []cpu.DType{cpu.Float64, cpu.Int64} {
				shape := []int{rows, cols}
				x := arraytest.New(dtype, shape, []int{cols, 1})
				across := arraytest.New(dtype, shape, []int{1, rows})
				want := make([]int64, cols)
				for i := range x.Len() {
					v := int64(i*i%1009 - 400)
					want[i%cols] += v
					for _, a := range []*arraytest.Guarded{x, across} {
						if dtype == cpu.Float64 {
							a.SetFloat(i, float64(v))
						} else {
							a.SetInteger(i, v)
						}
					}
				}
				for _, a := range []*arraytest.Guarded{x, across} {
					sum := arraytest.New(dtype, []int{1, cols}, []int{1, 1})
					Reduce(Sum, sum.Array, a.Array, []int{0})
					for i, w := range want {
						if sum.Float(i) != float64(w) {
							t.Fatalf("%d rows, %d columns, strides %v: sum %d is %v, want %d", rows, cols, a.Strides, i, sum.Float(i), w)
						}
					}
					sum.CheckCanaries(t)
				}
			}
		}
	}
}
