package nn_test

import (
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/cpu"
	. "github.com/ebb-ml/ebb/internal/optest"
	"github.com/ebb-ml/ebb/nn"
)

// table has a row for every layer, loss and initialiser.
var table Table

func TestOperationsHaveRows(t *testing.T) {
	table.Complete(t, "github.com/ebb-ml/ebb/nn", map[string]string{
		"Chain":       "calls layers; Sequential's rows run it",
		"ClassWeight": "an option of CrossEntropyLoss",
		"Parameters":  "lists tensors",
	})
}

func TestTorchValues(t *testing.T)    { table.TorchValues(t) }
func TestOperationLeaks(t *testing.T) { table.Leaks(t) }
func TestAliases(t *testing.T)        { table.Alias(t) }
func TestGradChecks(t *testing.T)     { table.GradChecks(t) }
func TestGradGradChecks(t *testing.T) { table.GradGradChecks(t) }
func TestNthAllocation(t *testing.T)  { table.Failures(t) }
func TestBadOperands(t *testing.T)    { table.BadInput(t) }
func TestLayouts(t *testing.T)        { table.Layouts(t) }
func TestThreads(t *testing.T)        { table.Threads(t, cpu.SetNumThreads) }

// module describes a row's model: make returns it.
func module(build func(st *ebb.Store, d nn.LayerOption) nn.Module) func(*ebb.Store, ebb.DType) ([]*ebb.Tensor, Func) {
	return func(st *ebb.Store, dtype ebb.DType) ([]*ebb.Tensor, Func) {
		m := build(st, nn.WithDType(dtype))
		return nn.Parameters(m), func(_ *ebb.Scope, in []*ebb.Tensor) []*ebb.Tensor { return []*ebb.Tensor{nn.Call(m, in[0])} }
	}
}

func init() {
	type (
		store  = *ebb.Store
		option = nn.LayerOption
	)
	linear := func(opts ...option) func(store, option) nn.Module {
		return func(st store, d option) nn.Module { return nn.NewLinear(st, 3, 4, append(opts, d)...) }
	}
	fixed := func(m nn.Module) func(store, option) nn.Module {
		return func(store, option) nn.Module { return m }
	}
	run := "params = list(m.parameters()); m(a)"
	table.Add("layers", []Case{
		{Op: "Linear", In: []Input{F(2, 3)}, Module: module(linear()), Torch: "m = nn.Linear(3, 4); " + run, Saved: "a", Large: []Input{F(9000, 3)}},
		{Op: "Linear", Name: "no bias", In: []Input{F(2, 3)}, Module: module(linear(nn.NoBias())), Torch: "m = nn.Linear(3, 4, bias=False); " + run, Saved: "a"},
		{Op: "Linear", Name: "vector", In: []Input{F(3)}, Module: module(linear()), Torch: "m = nn.Linear(3, 4); " + run, Saved: "a"},
		{Op: "Linear", Name: "stack", In: []Input{F(2, 1, 2, 3)}, Module: module(linear()), Torch: "m = nn.Linear(3, 4); " + run, Saved: "a"},
		{Op: "Linear", Name: "no rows", In: []Input{F(0, 3)}, Module: module(linear()), Torch: "m = nn.Linear(3, 4); " + run, Saved: "a"},
		{Op: "Linear", Name: "no inputs", In: []Input{F(2, 0)}, Module: module(func(st store, d option) nn.Module { return nn.NewLinear(st, 0, 2, d) }),
			Torch: "m = nn.Linear(0, 2); " + run, Saved: "a"},
		{Op: "Linear", Name: "no outputs", In: []Input{F(2, 3)}, Module: module(func(st store, d option) nn.Module { return nn.NewLinear(st, 3, 0, d) }),
			Torch: "m = nn.Linear(3, 0); " + run, Saved: "a"},
		{Op: "ReLU", In: []Input{F(2, 3)}, Module: module(fixed(&nn.ReLU{})), Torch: "nn.ReLU()(a)", Saved: "+1"},
		{Op: "ReLU", Name: "inplace", In: []Input{F(2, 3)}, InPlace: true, Module: module(fixed(&nn.ReLU{InPlace: true})), Torch: "nn.ReLU(inplace=True)(a)", Saved: "+1"},
		{Op: "Flatten", In: []Input{F(2, 3, 2)}, Module: module(fixed(nn.NewFlatten())), Torch: "nn.Flatten()(a)"},
		{Op: "Flatten", Name: "part", In: []Input{F(2, 3, 2, 2)}, Module: module(fixed(&nn.Flatten{StartDim: 0, EndDim: -2})), Torch: "nn.Flatten(0, -2)(a)"},
		{Op: "Sequential", In: []Input{F(2, 3)}, Module: module(func(st store, d option) nn.Module {
			return nn.NewSequential(nn.NewLinear(st, 3, 5, d), &nn.ReLU{}, nn.NewLinear(st, 5, 2, d))
		}), Torch: "m = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)); " + run, Saved: "a +42"},
		{Op: "Sequential", Name: "empty", In: []Input{F(2, 3)}, Module: module(fixed(nn.NewSequential())), Torch: "nn.Sequential()(a)"},
	})
}

func init() {
	type T = *ebb.Tensor
	loss := func(f func(x, y T, opts ...nn.LossOption) T, opts ...nn.LossOption) func(*ebb.Scope, []T) []T {
		return func(_ *ebb.Scope, in []T) []T {
			if len(in) == 3 {
				return []T{f(in[0], in[1], append(opts, nn.ClassWeight(in[2]))...)}
			}
			return []T{f(in[0], in[1], opts...)}
		}
	}
	logits, target, weight := F(3, 4), I(3).Of(2, 0, 3), F(4).NoGrad().As(Positive)
	sum, each := nn.Reduction(ebb.ReduceSum), nn.Reduction(ebb.ReduceNone)
	ce := nn.CrossEntropyLoss
	table.Add("losses", []Case{
		{Op: "CrossEntropyLoss", In: []Input{logits, target}, Call: loss(ce), Torch: "nn.CrossEntropyLoss()(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropyLoss", Name: "sum", In: []Input{logits, target}, Call: loss(ce, sum), Torch: "nn.CrossEntropyLoss(reduction='sum')(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropyLoss", Name: "none", In: []Input{logits, target}, Call: loss(ce, each), Torch: "nn.CrossEntropyLoss(reduction='none')(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropyLoss", Name: "weight", In: []Input{logits, target, weight}, Call: loss(ce), Torch: "nn.CrossEntropyLoss(weight=c)(a, b)", Saved: "a b c +24"},
		{Op: "CrossEntropyLoss", Name: "ignored by default", In: []Input{logits, I(3).Of(2, -100, 3)}, Call: loss(ce), Torch: "nn.CrossEntropyLoss()(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropyLoss", Name: "ignored", In: []Input{logits, target, weight}, Call: loss(ce, nn.IgnoreIndex(0)), Torch: "nn.CrossEntropyLoss(weight=c, ignore_index=0)(a, b)", Saved: "a b c +24"},
		{Op: "CrossEntropyLoss", Name: "all ignored", In: []Input{logits.NoGrad(), I(3).Of(1, 1, 1)}, Call: loss(ce, nn.IgnoreIndex(1)), Torch: "nn.CrossEntropyLoss(ignore_index=1)(a, b)"},
		{Op: "CrossEntropyLoss", Name: "smoothing", In: []Input{logits, target}, Call: loss(ce, nn.LabelSmoothing(0.2)), Torch: "nn.CrossEntropyLoss(label_smoothing=0.2)(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropyLoss", Name: "everything", In: []Input{logits, target, weight}, Call: loss(ce, nn.LabelSmoothing(0.2), nn.IgnoreIndex(0), sum),
			Torch: "nn.CrossEntropyLoss(weight=c, label_smoothing=0.2, ignore_index=0, reduction='sum')(a, b)", Saved: "a b c +24"},
		{Op: "CrossEntropyLoss", Name: "more dimensions", In: []Input{F(2, 4, 3), I(2, 3).As(Below(4)), weight}, Call: loss(ce, nn.LabelSmoothing(0.1)),
			Torch: "nn.CrossEntropyLoss(weight=c, label_smoothing=0.1)(a, b)", Saved: "a b c +48"},
		{Op: "CrossEntropyLoss", Name: "two more dimensions each", In: []Input{F(2, 4, 2, 3), I(2, 2, 3).As(Below(4))}, Call: loss(ce, each),
			Torch: "nn.CrossEntropyLoss(reduction='none')(a, b)", Saved: "a b +96"},
		{Op: "CrossEntropyLoss", Name: "one row", In: []Input{F(4), I().Of(2)}, Call: loss(ce), Torch: "nn.CrossEntropyLoss()(a, b)", Saved: "a b +8"},
		{Op: "CrossEntropyLoss", Name: "probabilities", In: []Input{logits, F(3, 4).As(Probability)}, Call: loss(ce), Torch: "nn.CrossEntropyLoss()(a, b)", Saved: "a b +24"},
		{Op: "CrossEntropyLoss", Name: "probabilities and everything", In: []Input{logits, F(3, 4).As(Probability), weight}, Call: loss(ce, nn.LabelSmoothing(0.3), each),
			Torch: "nn.CrossEntropyLoss(weight=c, label_smoothing=0.3, reduction='none')(a, b)", Saved: "a b c +24"},
		{Op: "CrossEntropyLoss", Name: "probabilities of more dimensions", In: []Input{F(2, 3, 2), F(2, 3, 2).As(Probability)}, Call: loss(ce), Torch: "nn.CrossEntropyLoss()(a, b)", Saved: "a b +32"},
		{Op: "MSELoss", In: []Input{F(2, 3), F(2, 3)}, Call: loss(nn.MSELoss), Torch: "nn.MSELoss()(a, b)", Saved: "a b"},
		{Op: "MSELoss", Name: "sum", In: []Input{F(2, 3), F(2, 3)}, Call: loss(nn.MSELoss, sum), Torch: "nn.MSELoss(reduction='sum')(a, b)", Saved: "a b"},
		{Op: "MSELoss", Name: "none", In: []Input{F(2, 3), F(2, 3).NoGrad()}, Call: loss(nn.MSELoss, each), Torch: "nn.MSELoss(reduction='none')(a, b)", Saved: "a b"},
		{Op: "MSELoss", Name: "square", In: []Input{F(3, 3), F(3, 3)}, Call: loss(nn.MSELoss), Torch: "nn.MSELoss()(a, b)", Saved: "a b"},
	})
}

func init() {
	type T = *ebb.Tensor
	// draws is a row of an initialiser that draws numbers.
	draws := func(op, name string, in Input, call func(T) T, torch string) Case {
		return Case{Op: op, Name: name, In: []Input{in.NoGrad()}, InPlace: name != "no elements", Call: Unary(call), Torch: "nn.init." + torch, Tol: 2e-6,
			Skip: map[Check]string{Layouts: "numbers are drawn in the order of the memory, as in PyTorch"}}
	}
	sets := func(op, name string, in Input, call func(T) T, torch string) Case {
		return Case{Op: op, Name: name, In: []Input{in.NoGrad()}, InPlace: true, Call: Unary(call), Torch: "nn.init." + torch}
	}
	// plain is f without options.
	plain := func(f func(T, ...nn.InitOption) T, opts ...nn.InitOption) func(T) T {
		return func(x T) T { return f(x, opts...) }
	}
	gain := nn.Gain(1.5)
	rows := []Case{
		draws("Uniform_", "", F(4, 5), func(x T) T { return nn.Uniform_(x, -0.25, 0.5) }, "uniform_(a, -0.25, 0.5)"),
		draws("Uniform_", "float64", D(4, 5), func(x T) T { return nn.Uniform_(x, -0.25, 0.5) }, "uniform_(a, -0.25, 0.5)"),
		draws("Normal_", "", F(4, 5), func(x T) T { return nn.Normal_(x, 1, 2) }, "normal_(a, 1, 2)"),
		draws("Normal_", "few", F(5), func(x T) T { return nn.Normal_(x, 1, 2) }, "normal_(a, 1, 2)"),
		draws("TruncNormal_", "", F(40, 5), func(x T) T { return nn.TruncNormal_(x, 0, 1, -2, 2) }, "trunc_normal_(a)"),
		draws("TruncNormal_", "float64", D(40, 5), func(x T) T { return nn.TruncNormal_(x, 0.5, 0.02, 0.49, 0.6) }, "trunc_normal_(a, 0.5, 0.02, 0.49, 0.6)"),
		draws("TruncNormal_", "far", F(40), func(x T) T { return nn.TruncNormal_(x, 0, 1, 0, 1000) }, "trunc_normal_(a, 0., 1., 0., 1000.)"),
		draws("XavierUniform_", "", F(4, 5), plain(nn.XavierUniform_), "xavier_uniform_(a)"),
		draws("XavierUniform_", "gain", F(4, 5, 3, 2), plain(nn.XavierUniform_, gain), "xavier_uniform_(a, 1.5)"),
		draws("XavierNormal_", "", F(4, 5), plain(nn.XavierNormal_), "xavier_normal_(a)"),
		draws("XavierNormal_", "gain", F(4, 5, 3), plain(nn.XavierNormal_, gain), "xavier_normal_(a, 1.5)"),
		draws("KaimingUniform_", "", F(4, 5), plain(nn.KaimingUniform_), "kaiming_uniform_(a)"),
		draws("KaimingUniform_", "fan out", F(4, 5, 3), plain(nn.KaimingUniform_, nn.FanOut()), "kaiming_uniform_(a, mode='fan_out')"),
		draws("KaimingUniform_", "slope", F(4, 5), plain(nn.KaimingUniform_, nn.Gain(nn.CalculateGain("leaky_relu", 0.3))), "kaiming_uniform_(a, 0.3)"),
		draws("KaimingUniform_", "no elements", F(0, 5), plain(nn.KaimingUniform_), "kaiming_uniform_(a)"),
		draws("KaimingNormal_", "", F(4, 5), plain(nn.KaimingNormal_), "kaiming_normal_(a)"),
		draws("KaimingNormal_", "tanh fan out", F(4, 5, 3), plain(nn.KaimingNormal_, nn.FanOut(), nn.Gain(nn.CalculateGain("tanh"))), "kaiming_normal_(a, mode='fan_out', nonlinearity='tanh')"),
		draws("Orthogonal_", "wide", F(3, 5), plain(nn.Orthogonal_), "orthogonal_(a)"),
		draws("Orthogonal_", "tall", F(5, 3), plain(nn.Orthogonal_, gain), "orthogonal_(a, 1.5)"),
		draws("Orthogonal_", "square", F(4, 4), plain(nn.Orthogonal_), "orthogonal_(a)"),
		draws("Orthogonal_", "one", F(1, 1), plain(nn.Orthogonal_), "orthogonal_(a)"),
		draws("Orthogonal_", "window", F(4, 2, 3), plain(nn.Orthogonal_), "orthogonal_(a)"),
		draws("Orthogonal_", "many rows", F(70, 45), plain(nn.Orthogonal_), "orthogonal_(a)"),
		draws("Orthogonal_", "many columns", D(40, 70), plain(nn.Orthogonal_), "orthogonal_(a)"),
		draws("Orthogonal_", "no elements", F(3, 0), plain(nn.Orthogonal_), "orthogonal_(a)"),
		draws("Sparse_", "", F(7, 5), func(x T) T { return nn.Sparse_(x, 0.3, 0.01) }, "sparse_(a, 0.3)"),
		draws("Sparse_", "all", F(3, 2), func(x T) T { return nn.Sparse_(x, 1, 2) }, "sparse_(a, 1.0, 2.0)"),
		sets("Constant_", "", F(2, 3), func(x T) T { return nn.Constant_(x, 0.3) }, "constant_(a, 0.3)"),
		sets("Constant_", "int64", I(2, 3), func(x T) T { return nn.Constant_(x, 3) }, "constant_(a, 3)"),
		sets("Ones_", "", F(2, 3), nn.Ones_, "ones_(a)"),
		sets("Ones_", "int64", I(2, 3), nn.Ones_, "ones_(a)"),
		sets("Zeros_", "", F(2, 3), nn.Zeros_, "zeros_(a)"),
		sets("Eye_", "", F(3, 5), nn.Eye_, "eye_(a)"),
		sets("Eye_", "tall", F(5, 3), nn.Eye_, "eye_(a)"),
		sets("Dirac_", "", F(3, 2, 3), func(x T) T { return nn.Dirac_(x, 1) }, "dirac_(a)"),
		sets("Dirac_", "groups", F(4, 3, 3, 4), func(x T) T { return nn.Dirac_(x, 2) }, "dirac_(a, 2)"),
		sets("Dirac_", "volume", F(2, 2, 1, 2, 3), func(x T) T { return nn.Dirac_(x, 1) }, "dirac_(a)"),
	}
	table.Add("init", rows)
}
