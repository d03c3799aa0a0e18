package optest_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/optest"
)

// fault is a row that one check must fail, with a message that has the words.
type fault struct {
	check func(tb *optest.Table, t *testing.T)
	row   optest.Case
	words string
}

func threads(tb *optest.Table, t *testing.T) { tb.Threads(t, cpu.SetNumThreads) }

// cube has a gradient that is wrong (scale is not 3), or right but without a
// gradient of its own (stop).
type cube struct {
	scale float64
	stop  bool
}

func (cube) Forward(ctx *ebb.FunctionContext, in []*ebb.Tensor) []*ebb.Tensor {
	ctx.SaveForBackward(in[0])
	return []*ebb.Tensor{in[0].PowScalar(3)}
}

func (c cube) Backward(ctx *ebb.FunctionContext, grads []*ebb.Tensor) []*ebb.Tensor {
	x := ctx.Saved()[0]
	if c.stop {
		x = x.Detach()
	}
	return []*ebb.Tensor{grads[0].Mul(x).Mul(x).MulScalar(c.scale)}
}

// hoard keeps what faulty rows leak.
var hoard []*ebb.Store

func faults() map[string]fault {
	type (
		T = *ebb.Tensor
		S = *ebb.Scope
	)
	f, pair := optest.F(3, 3), []optest.Input{optest.F(3, 3), optest.F(3, 3)}
	one := []optest.Input{f}
	return map[string]fault{
		"a result that is not PyTorch's": {(*optest.Table).TorchValues, optest.Case{Op: "wrong", In: one, Torch: "a.neg()",
			Call: optest.Unary(func(x T) T { return x.Neg().MulScalar(1.0001) })}, "element 0 is"},
		"a gradient that is not PyTorch's": {(*optest.Table).TorchValues, optest.Case{Op: "wrong gradient", In: one, Torch: "a ** 3",
			Call: func(_ S, in []T) []T { return ebb.Apply("cube", cube{scale: 3.001}, in...) }}, "gradient 0: element"},
		"a type that is not PyTorch's": {(*optest.Table).TorchValues, optest.Case{Op: "wrong type", In: one, Torch: "a.to(torch.float32).clone()",
			Call: optest.Unary(func(x T) T { return x.To(ebb.Float64) })}, "type float64, want float32"},
		"a copy where PyTorch shares": {(*optest.Table).TorchValues, optest.Case{Op: "copy", In: one, Torch: "a.t()",
			Call: optest.Unary(func(x T) T { return x.T().Clone() })}, "shares the memory of operand none, in PyTorch of a"},
		"a graph where PyTorch has none": {(*optest.Table).TorchValues, optest.Case{Op: "graph", In: one, Torch: "a.detach().clone()",
			Call: optest.Unary(func(x T) T { return x.Clone() })}, "requires a gradient: true"},
		"a row without values": {(*optest.Table).TorchValues, optest.Case{Op: "no values", In: one, Torch: "a + 12345",
			Call: optest.Unary(func(x T) T { return x.AddScalar(12345) })}, "has no values for no+values"},
		"a temporary that stays": {(*optest.Table).Leaks, optest.Case{Op: "x", In: one,
			Call: optest.Unary(func(x T) T { x.Clone(); return x.Neg() })}, "2 tensors were added"},
		"memory saved but not declared": {(*optest.Table).Leaks, optest.Case{Op: "x", In: pair, Saved: "a", Call: optest.Binary(T.Mul)}, `the graph saved "a b"`},
		"a copy in the graph": {(*optest.Table).Leaks, optest.Case{Op: "x", In: pair, Saved: "a b", Call: optest.Binary(func(x, y T) T {
			z := x.Clone()
			return x.NewEmpty(3, 3).Copy_(y.Mul(z))
		})}, "tensors were added"},
		"an operand that is changed": {(*optest.Table).Leaks, optest.Case{Op: "x", In: []optest.Input{f.NoGrad()},
			Call: optest.Unary(func(x T) T { return x.AddScalar_(1).Neg() })}, "the version of operand a changed by 1"},
		"results that differ from run to run": {(*optest.Table).Leaks, func() optest.Case {
			n := 0.0
			return optest.Case{Op: "x", In: one, Call: optest.Unary(func(x T) T { n++; return x.AddScalar(n) })}
		}(), "element 0 is"},
		"an owner that stays open": {(*optest.Table).Leaks, optest.Case{Op: "x", In: one,
			Call: optest.Unary(func(x T) T { hoard = append(hoard, x.Runtime().NewStore("hoard")); return x.Neg() })}, "owners"},
		"a result that relies on distinct operands": {(*optest.Table).Alias, optest.Case{Op: "x", In: pair, Call: optest.Binary(func(x, y T) T {
			if x.SharesStorage(y) {
				return x.Clone()
			}
			return x.Add(y)
		})}, "operand b is the same tensor of operand a"},
		"a gradient that differences refute": {(*optest.Table).GradChecks, optest.Case{Op: "x", In: one,
			Call: func(_ S, in []T) []T { return ebb.Apply("cube", cube{scale: 3.1}, in...) }}, "by differences"},
		"a second gradient that differences refute": {(*optest.Table).GradGradChecks, optest.Case{Op: "x", In: one,
			Call: func(_ S, in []T) []T { return ebb.Apply("cube", cube{scale: 3, stop: true}, in...) }}, "by differences"},
		"memory kept when an allocation fails": {(*optest.Table).Failures, optest.Case{Op: "x", In: one, Call: optest.Unary(func(x T) T {
			st := x.Runtime().NewStore("kept")
			hoard = append(hoard, st)
			ebb.Zeros(st, ebb.Shape{4})
			y := x.Neg()
			st.Close()
			return y
		})}, "after allocation 1 failed"},
		"an error of another kind when an allocation fails": {(*optest.Table).Failures, optest.Case{Op: "x", In: one, Call: optest.Unary(func(x T) (y T) {
			var err error
			func() {
				defer ebb.Catch(&err)
				y = x.Neg()
			}()
			if err != nil {
				panic(&ebb.Error{Kind: ebb.ErrShape, Op: "neg"})
			}
			return y
		})}, "want ErrOutOfMemory"},
		"a released operand that is taken": {(*optest.Table).BadInput, optest.Case{Op: "x", In: one,
			Call: func(s S, in []T) []T { return []T{ebb.Zeros(s, ebb.Shape{3, 3})} }}, "operand a is released: no error"},
		"a temporary left by an error": {(*optest.Table).BadInput, optest.Case{Op: "x", In: pair, Call: optest.Binary(func(x, y T) T {
			z := x.Neg()
			return z.Add(y)
		})}, "after operand b is"},
		"a layout that is not heeded": {(*optest.Table).Layouts, optest.Case{Op: "x", In: one, Call: optest.Unary(func(x T) T {
			if !x.IsContiguous() {
				return x.Contiguous().T().Clone()
			}
			return x.Clone()
		})}, "transposed operands: result 0"},
		"a result that depends on threads": {threads, optest.Case{Op: "x", In: one, Large: one,
			Call: optest.Unary(func(x T) T { return x.AddScalar(cpu.NumThreads()) })}, "result 0 depends on the number of threads"},
		"a result that depends on other calls": {(*optest.Table).Together, func() optest.Case {
			var calls atomic.Int64
			return optest.Case{Op: "x", In: one, Call: optest.Unary(func(x T) T { return x.AddScalar(calls.Add(1) / 3) })}
		}(), "together with others: result 0"},
		"a function without a row": {func(tb *optest.Table, t *testing.T) {
			tb.Complete(t, "github.com/ebb-ml/ebb", nil)
		}, optest.Case{Op: "Tensor.Neg"}, "Tensor.Add has no row"},
		"a row without a function": {func(tb *optest.Table, t *testing.T) {
			tb.Complete(t, "github.com/ebb-ml/ebb", nil)
		}, optest.Case{Op: "Tensor.Nothing"}, "Tensor.Nothing has a row, but is no exported operation"},
	}
}

// plant is the environment variable that names the fault to run.
const plant = "EBB_OPTEST_FAULT"

// TestPlanted runs the fault named in the environment. It fails.
func TestPlanted(t *testing.T) {
	f, ok := faults()[os.Getenv(plant)]
	if !ok {
		t.Skip("no fault is planted")
	}
	var tb optest.Table
	tb.Add("faults", []optest.Case{f.row})
	f.check(&tb, t)
}

// TestTorchValues sees to it that the faulty rows have values, but for the one
// whose fault is to have none.
func TestTorchValues(t *testing.T) {
	var tb optest.Table
	var rows []optest.Case
	for _, f := range faults() {
		if f.row.Torch != "" && f.row.Op != "no values" {
			rows = append(rows, f.row)
		}
	}
	tb.Add("faults", rows)
	if got := tb.ReadValues(t); len(got) != len(rows) {
		t.Errorf("values of %d rows, want %d", len(got), len(rows))
	}
}

// TestChecksFindFaults runs every fault in a process of its own: the check must
// fail, and say why.
func TestChecksFindFaults(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(exe, "-test.run=^TestPlanted$")
			cmd.Env = append(os.Environ(), plant+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if err == nil || !strings.Contains(string(out), f.words) {
				t.Errorf("the check did not say %q: %v\n%s", f.words, err, out)
			}
		})
	}
}
