package nn_test

import (
	"slices"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/google/go-cmp/cmp"
)

// spy notes the module path it runs in.
type spy struct{ paths *[]string }

func (p *spy) Forward(x *ebb.Tensor) *ebb.Tensor {
	*p.paths = append(*p.paths, x.Scope().Module())
	return x.AddScalar(1)
}

// tiny has no size.
type tiny struct{}

func (*tiny) Forward(x *ebb.Tensor) *ebb.Tensor { return x.AddScalar(1) }

type block struct {
	Fc  *spy
	Seq *nn.Sequential
}

func (b *block) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Call(b.Seq, nn.Call(b.Fc, x)) }

type paths struct {
	First  *spy
	Blocks []*block
	Heads  map[string]*spy
	Plain  struct{ Inside *spy }
	Value  spy
	Tiny   *tiny
	list   *[]string
}

func (m *paths) Forward(x *ebb.Tensor) *ebb.Tensor {
	*m.list = append(*m.list, x.Scope().Module())
	x = nn.Call(m.First, x)
	for _, b := range m.Blocks {
		x = nn.Call(b, x)
	}
	x = nn.Call(m.Heads["a"], x)
	x = nn.Call(m.Plain.Inside, x)
	x = nn.Call(&m.Value, x)
	x = nn.Call(m.Tiny, x)
	x = nn.Chain(x, m.First, m.Blocks[0])
	// Deeper than its own fields, in a scope of its own, by hand.
	s := x.Scope().NewScope("by hand")
	nn.Call(m.Blocks[1].Fc, x.In(s))
	s.Close()
	x = m.Blocks[0].Seq.Forward(x)
	// No part of the model: the caller's path.
	x = nn.Call(&spy{m.list}, x)
	return nn.Call(function(func(x *ebb.Tensor) *ebb.Tensor {
		*m.list = append(*m.list, x.Scope().Module())
		return x
	}), x)
}

func TestPaths(t *testing.T) {
	rt := newRuntime(t)
	var got []string
	p := func() *spy { return &spy{&got} }
	twice := p()
	m := &paths{First: p(), Heads: map[string]*spy{"a": p(), "b": p()}, Tiny: &tiny{}, list: &got,
		Blocks: []*block{{p(), nn.NewSequential(twice, p(), twice)}, {p(), nn.NewSequential(p())}}}
	m.Plain.Inside = p()
	m.Value.paths = &got
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) { nn.Call(m, ebb.Ones(s, ebb.Shape{1})) })
	want := []string{
		"", "first",
		"blocks.0.fc", "blocks.0.seq.0", "blocks.0.seq.1", "blocks.0.seq.2",
		"blocks.1.fc", "blocks.1.seq.0",
		"heads.a", "plain.inside", "value",
		"first", "blocks.0.fc", "blocks.0.seq.0", "blocks.0.seq.1", "blocks.0.seq.2",
		"blocks.1.fc",
		"blocks.0.seq.0", "blocks.0.seq.1", "blocks.0.seq.0", // a shared one by its first name
		"", "",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// deep has a layer in a block in a list.
type deep struct{ Blocks []*mlp }

func (d *deep) Forward(x *ebb.Tensor) *ebb.Tensor {
	for _, b := range d.Blocks {
		x = nn.Call(b, x)
	}
	return x
}

func TestPathsInReports(t *testing.T) {
	rt, st := newModelStore(t)
	m := &deep{[]*mlp{newMLP(st, 2, 3, 2), newMLP(st, 2, 3, 2)}}
	nn.Parameters(m)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		y := nn.Call(m, ebb.Ones(s, ebb.Shape{1, 2}))
		modules := map[ebb.Kind][]string{}
		for _, h := range rt.Holdings() {
			modules[h.Kind] = append(modules[h.Kind], h.Module)
		}
		for kind, want := range map[ebb.Kind][]string{
			ebb.Parameter: {"blocks.0.fc1.bias", "blocks.0.fc1.weight", "blocks.0.fc2.bias", "blocks.0.fc2.weight",
				"blocks.1.fc1.bias", "blocks.1.fc1.weight", "blocks.1.fc2.bias", "blocks.1.fc2.weight"},
			// The input of the first layer is the caller's, its mask and what is
			// handed on the layers', of a linear one with its ReLU.
			ebb.Activation: {"", "blocks.0.fc1", "blocks.0.fc1", "blocks.0.fc2", "blocks.1.fc1", "blocks.1.fc1", "blocks.1.fc2"},
		} {
			slices.Sort(modules[kind])
			if d := cmp.Diff(want, modules[kind]); d != "" {
				t.Errorf("%s (-want +got):\n%s", kind, d)
			}
		}
		y.Sum().Backward()
		for _, h := range rt.Holdings() {
			if h.Kind == ebb.Gradient && h.Module != "blocks.0.fc1" && h.Module != "blocks.0.fc2" && h.Module != "blocks.1.fc1" && h.Module != "blocks.1.fc2" {
				t.Errorf("a gradient of module %q", h.Module)
			}
		}
	})
	nn.Release(m.Blocks[1].Fc2)
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		e := wantError(t, ebb.ErrReleased, func() { nn.Call(m, ebb.Ones(s, ebb.Shape{1, 2})) }, "linear in blocks.1.fc2")
		if e.Module != "blocks.1.fc2" {
			t.Errorf("the error's module is %q", e.Module)
		}
		rt.FailNthAllocation(2)
		e = wantError(t, ebb.ErrOutOfMemory, func() { nn.Call(m, ebb.Ones(s, ebb.Shape{1, 2})) })
		rt.FailNthAllocation(0)
		if e.Module != "blocks.0.fc1" {
			t.Errorf("the module of an out-of-memory error is %q", e.Module)
		}
	})
}

func TestPathsInErrorsOfShapes(t *testing.T) {
	rt, st := newModelStore(t)
	m := &deep{[]*mlp{newMLP(st, 2, 3, 2), {nn.NewLinear(st, 2, 3), &nn.ReLU{}, nn.NewLinear(st, 4, 2)}}}
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		e := wantError(t, ebb.ErrShape, func() { nn.Call(m, ebb.Ones(s, ebb.Shape{1, 2})) }, "linear in blocks.1.fc2")
		if e.Module != "blocks.1.fc2" {
			t.Errorf("the error's module is %q", e.Module)
		}
	})
}
