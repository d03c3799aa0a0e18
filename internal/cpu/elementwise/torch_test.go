package elementwise

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

// torchCase is one call of testdata/make_torch_json.py.
type torchCase struct {
	Kind     string
	Op       string
	DType    string
	In       [][]string
	OutDType string `json:"out_dtype"`
	Out      []string
	V        string
	Lo, Hi   string
}

var dtypeNames = map[string]cpu.DType{"float32": cpu.Float32, "float64": cpu.Float64, "int64": cpu.Int64,
	"int32": cpu.Int32, "uint8": cpu.Uint8, "bool": cpu.Bool}

var unaryNames = map[string]UnaryOp{"Neg": Neg, "Abs": Abs, "Sign": Sign, "Square": Square, "Floor": Floor,
	"Ceil": Ceil, "Round": Round, "Trunc": Trunc, "ReLU": ReLU, "Exp": Exp, "Expm1": Expm1, "Log": Log,
	"Log1p": Log1p, "Log2": Log2, "Log10": Log10, "Sqrt": Sqrt, "Rsqrt": Rsqrt, "Sin": Sin, "Cos": Cos,
	"Tan": Tan, "Asin": Asin, "Acos": Acos, "Atan": Atan, "Sinh": Sinh, "Cosh": Cosh, "Tanh": Tanh,
	"Sigmoid": Sigmoid, "Erf": Erf, "Reciprocal": Reciprocal, "IsNaN": IsNaN, "IsInf": IsInf,
	"IsFinite": IsFinite, "LogicalNot": LogicalNot, "BitwiseNot": BitwiseNot}

var binaryNames = map[string]BinaryOp{"Add": Add, "Sub": Sub, "Mul": Mul, "Div": Div, "FloorDivide": FloorDivide,
	"Remainder": Remainder, "Pow": Pow, "Atan2": Atan2, "Maximum": Maximum, "Minimum": Minimum, "Eq": Eq, "Ne": Ne,
	"Lt": Lt, "Le": Le, "Gt": Gt, "Ge": Ge, "LogicalAnd": LogicalAnd, "LogicalOr": LogicalOr,
	"LogicalXor": LogicalXor, "BitwiseAnd": BitwiseAnd, "BitwiseOr": BitwiseOr, "BitwiseXor": BitwiseXor}

// inexact are the operations that may differ from PyTorch in the last place.
var inexact = map[string]bool{"Exp": true, "Expm1": true, "Log": true, "Log1p": true, "Log2": true, "Log10": true,
	"Rsqrt": true, "Sin": true, "Cos": true, "Tan": true, "Asin": true, "Acos": true, "Atan": true, "Sinh": true,
	"Cosh": true, "Tanh": true, "Sigmoid": true, "Erf": true, "Pow": true, "Atan2": true}

func number64(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTorch(t *testing.T) {
	file, err := os.ReadFile("testdata/torch.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []torchCase
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 200 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Kind+" "+c.Op+" "+c.DType+" "+c.OutDType, func(t *testing.T) { c.check(t) })
	}
}

func (c torchCase) check(t *testing.T) {
	n := len(c.Out)
	var in []cpu.Array
	for _, values := range c.In {
		g := arraytest.New(dtypeNames[c.DType], []int{n}, []int{1})
		for i, v := range values {
			g.Set(i, v)
		}
		in = append(in, g.Array)
	}
	out := arraytest.New(dtypeNames[c.OutDType], []int{n}, []int{1})
	err := c.run(t, out.Array, in)
	if err != nil {
		t.Fatal(err)
	}
	want := arraytest.New(out.DType, []int{n}, []int{1})
	for i, v := range c.Out {
		want.Set(i, v)
		equal := out.Text(i) == want.Text(i)
		if arraytest.IsFloat(out.DType) {
			got, w := out.Float(i), want.Float(i)
			equal = arraytest.SameFloat(got, w)
			if inexact[c.Op] {
				equal = arraytest.CloseFloat(out.DType, got, w) && math.Signbit(got) == math.Signbit(w) || got != got && w != w
			}
			if c.Op == "Sin" || c.Op == "Tan" { // of 1e30: package math reduces to an absolute accuracy
				equal = equal || math.Abs(got-w) < 1e-16
			}
			if c.Op == "Maximum" || c.Op == "Minimum" { // which zero is the greater is not defined
				equal = equal || got == w
			}
		}
		if !equal {
			operands := ""
			for _, values := range c.In {
				operands += " " + values[i]
			}
			t.Errorf("%s(%s %s%s%s) = %s, PyTorch %s", c.Op, operands, c.V, c.Lo, c.Hi, out.Text(i), want.Text(i))
		}
	}
}

func (c torchCase) run(t *testing.T, out cpu.Array, in []cpu.Array) error {
	switch c.Kind {
	case "unary":
		Unary(unaryNames[c.Op], out, in[0])
	case "binary":
		return Binary(binaryNames[c.Op], out, in[0], in[1])
	case "scalar", "reversed":
		return BinaryScalar(binaryNames[c.Op], out, in[0], number64(t, c.V), c.Kind == "reversed")
	case "clamp":
		Clamp(out, in[0], number64(t, c.Lo), number64(t, c.Hi), true, true)
	case "cast":
		Copy(out, in[0])
	case "fused":
		v := number64(t, c.V)
		switch c.Op {
		case "AddScaled":
			AddScaled(out, in[0], in[1], v)
		case "Addcmul":
			Addcmul(out, in[0], in[1], in[2], v)
		case "Addcdiv":
			Addcdiv(out, in[0], in[1], in[2], v)
		case "Lerp":
			Lerp(out, in[0], in[1], v)
		default:
			t.Fatalf("unknown operation %s", c.Op)
		}
	default:
		t.Fatalf("unknown kind %s", c.Kind)
	}
	return nil
}
