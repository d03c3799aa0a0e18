package nn_test

import (
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/google/go-cmp/cmp"
)

// parameter and buffer make small tensors.
func parameter(st *ebb.Store) *ebb.Tensor {
	return ebb.Zeros(st, ebb.Shape{2}, ebb.Parameter, ebb.RequiresGrad)
}

func buffer(st *ebb.Store) *ebb.Tensor { return ebb.Zeros(st, ebb.Shape{3}) }

// names returns the names of parameters, buffers and modules.
func names(model any) (params, buffers, modules []string) {
	for name := range nn.NamedParameters(model) {
		params = append(params, name)
	}
	for name := range nn.NamedBuffers(model) {
		buffers = append(buffers, name)
	}
	for name := range nn.NamedModules(model) {
		modules = append(modules, name)
	}
	return params, buffers, modules
}

// pair is no module, but holds tensors and modules.
type pair struct {
	W     *ebb.Tensor
	Inner *nn.ReLU
}

type embedded struct {
	Base *ebb.Tensor
	Head *nn.Linear
}

type Exported struct{ Deep *ebb.Tensor }

// swish has no size, so that all of them may share an address.
type swish struct{}

func (*swish) Forward(x *ebb.Tensor) *ebb.Tensor { return x }

// everything has a field of each sort.
type everything struct {
	Lin      *nn.Linear
	URL      *ebb.Tensor
	Ω        *ebb.Tensor
	Renamed  *ebb.Tensor `ebb:"other"`
	Hidden   *ebb.Tensor `ebb:"-"`
	private  *ebb.Tensor
	Nil      *ebb.Tensor
	NilLayer *nn.Linear
	NilAny   nn.Module
	Blocks   []nn.Module
	Pairs    [2]pair
	Map      map[string]*nn.ReLU
	Any      any
	Plain    *pair
	Value    nn.ReLU
	Self     *everything
	Numbers  []float64
	Text     string
	Func     function
	A, B     *swish
	embedded
	*Exported
	Seq *nn.Sequential `ebb:",inline"`
}

func (m *everything) Forward(x *ebb.Tensor) *ebb.Tensor { return x }

func TestNames(t *testing.T) {
	rt := newRuntime(t)
	st := rt.NewStore("model")
	defer st.Close()
	shared := nn.NewLinear(st, 1, 1, nn.NoBias())
	m := &everything{
		Lin: shared, URL: parameter(st), Ω: parameter(st), Renamed: parameter(st), Hidden: parameter(st), private: parameter(st),
		Blocks:   []nn.Module{&nn.ReLU{}, nil, nn.NewSequential(nn.NewLinear(st, 1, 1)), shared},
		Pairs:    [2]pair{{W: buffer(st)}, {Inner: &nn.ReLU{}}},
		Map:      map[string]*nn.ReLU{"z": {}, "a": {}, "nil": nil},
		Any:      shared,
		Plain:    &pair{W: parameter(st)},
		Func:     func(x *ebb.Tensor) *ebb.Tensor { return x },
		A:        &swish{},
		B:        &swish{},
		embedded: embedded{Base: buffer(st), Head: nn.NewLinear(st, 1, 1, nn.NoBias())},
		Exported: &Exported{Deep: parameter(st)},
		Seq:      nn.NewSequential(&nn.ReLU{}),
		Numbers:  []float64{1}, Text: "x",
	}
	m.Self = m
	params, buffers, modules := names(m)
	// A module's own tensors come first, as in PyTorch, and shared ones once, by
	// the first name.
	want := []string{"uRL", "ω", "other", "deep", "lin.weight", "blocks.2.0.weight", "blocks.2.0.bias", "plain.w", "head.weight"}
	if d := cmp.Diff(want, params); d != "" {
		t.Errorf("parameters (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"base", "pairs.0.w"}, buffers); d != "" {
		t.Errorf("buffers (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"", "lin", "blocks.0", "blocks.2", "blocks.2.0", "pairs.1.inner", "map.a", "map.z", "value", "func", "a", "b", "head", "0"}, modules); d != "" {
		t.Errorf("modules (-want +got):\n%s", d)
	}
}

func TestOrderIsTorchs(t *testing.T) {
	// torch: own parameters of a module before those of its children.
	rt := newRuntime(t)
	st := rt.NewStore("model")
	defer st.Close()
	m := &struct {
		Fc *nn.Linear
		W  *ebb.Tensor
	}{nn.NewLinear(st, 1, 1), parameter(st)}
	params, _, _ := names(m)
	if d := cmp.Diff([]string{"w", "fc.weight", "fc.bias"}, params); d != "" {
		t.Error(d)
	}
}

func TestNamesStopEarly(t *testing.T) {
	_, st := newModelStore(t)
	m := newMLP(st, 2, 2, 2)
	n := 0
	for range nn.NamedParameters(m) {
		if n++; n == 2 {
			break
		}
	}
	for range nn.NamedModules(m) {
		n++
		break
	}
	if n != 3 {
		t.Errorf("%d steps, want 3", n)
	}
}

func TestModelsThatAreNoStructs(t *testing.T) {
	_, st := newModelStore(t)
	lin := nn.NewLinear(st, 1, 1, nn.NoBias())
	for _, model := range []any{[]nn.Module{lin}, []*nn.Linear{lin}, map[string]any{"0": lin}, [1]nn.Module{lin}} {
		params, _, _ := names(model)
		if d := cmp.Diff([]string{"0.weight"}, params); d != "" {
			t.Errorf("%T: %s", model, d)
		}
	}
	value := struct{ Fc nn.Linear }{*lin}
	if params, _, _ := names(value); !slices.Equal(params, []string{"fc.weight"}) {
		t.Errorf("a struct's value: %v", params)
	}
	var none *mlp
	for _, model := range []any{nil, none, 3, lin.Weight} {
		wantError(t, ebb.ErrValue, func() { nn.Parameters(model) }, "pointer to a struct")
	}
	if ps := nn.Parameters(&nn.ReLU{}); len(ps) != 0 {
		t.Errorf("ReLU has parameters %v", ps)
	}
}

func TestParametersNameTheirMemory(t *testing.T) {
	rt, st := newModelStore(t)
	nn.Parameters(newMLP(st, 2, 2, 2))
	var got []string
	for _, h := range rt.Holdings() {
		got = append(got, h.Module)
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"}, got); d != "" {
		t.Error(d)
	}
}

func TestFrozenLayer(t *testing.T) {
	rt, st := newModelStore(t)
	first, frozen, last := nn.NewLinear(st, 3, 3), nn.NewLinear(st, 3, 3), nn.NewLinear(st, 3, 1)
	m := nn.NewSequential(first, &nn.ReLU{}, frozen, &nn.ReLU{}, last)
	step := func() (memory int64) {
		run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
			before := rt.Stats().Live.Current
			y := nn.Call(m, ebb.Ones(s, ebb.Shape{8, 3})).Sum()
			memory = rt.Stats().Live.Current - before
			y.Backward()
		})
		return memory
	}
	whole := step()
	nn.ZeroGrad(m)
	for _, p := range nn.Parameters(m) {
		if p.Grad() != nil {
			t.Fatal("ZeroGrad left a gradient")
		}
	}
	nn.SetRequiresGrad(frozen, false)
	if part := step(); part != whole-8*3*4 {
		t.Errorf("a frozen layer's step holds %d bytes, want %d less than %d: its input is not needed", part, 8*3*4, whole)
	}
	for _, p := range nn.Parameters(frozen) {
		if p.Grad() != nil {
			t.Error("a frozen layer got a gradient")
		}
	}
	for _, l := range []*nn.Linear{first, last} {
		for _, p := range nn.Parameters(l) {
			if p.Grad() == nil {
				t.Error("a layer beside the frozen one got no gradient")
			}
		}
	}
	nn.SetRequiresGrad(m, true)
	nn.ZeroGrad(m)
	step()
	if frozen.Weight.Grad() == nil {
		t.Error("a thawed layer got no gradient")
	}
}

func TestRelease(t *testing.T) {
	rt := newRuntime(t)
	root := rt.NewStore("models")
	a, b := newMLP(root.NewStore("a"), 2, 3, 2), newMLP(root, 2, 3, 2)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) { nn.Call(a, ebb.Ones(s, ebb.Shape{1, 2})).Sum().Backward() })

	b0 := rt.Stats().ByKind[ebb.Parameter].Current / 2
	nn.Release(a)
	if s := rt.Stats(); s.Live.Current != b0 {
		t.Errorf("%d bytes live after one of two models was released, want %d", s.Live.Current, b0)
	}
	if root.Closed() {
		t.Error("the store that another model lives in was closed")
	}
	wantError(t, ebb.ErrReleased, func() { a.Fc1.Weight.Float32s() }, "module_test.go")
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) { nn.Call(b, ebb.Ones(s, ebb.Shape{1, 2})) })
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		wantError(t, ebb.ErrReleased, func() { nn.Call(a, ebb.Ones(s, ebb.Shape{1, 2})) }, "linear_relu in fc1", "module_test.go")
	})
	nn.Release(a)
	if params, buffers, _ := names(a); len(params)+len(buffers) != 0 {
		t.Errorf("a released model lists %v %v", params, buffers)
	}
	nn.Release(b)
	if !root.Closed() {
		t.Error("the store of released models is open")
	}
	nn.Release(b)
	nn.Release(&nn.ReLU{})
}

func TestReleaseDuringKernel(t *testing.T) {
	rt := newRuntime(t)
	m := nn.NewLinear(rt.NewStore("model"), 4, 4)
	m.Weight.Read(func(data []float32) {
		nn.Release(m)
		if rt.Stats().Live.Current == 0 {
			t.Error("leased memory was given back")
		}
		var sum float32
		for _, v := range data {
			sum += v // faults if the memory is gone
		}
		_ = sum
	})
	if n := rt.Stats().Live.Current; n != 0 {
		t.Errorf("%d bytes live after the lease ended", n)
	}
}
