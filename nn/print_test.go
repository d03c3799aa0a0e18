package nn_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/repr.txt
var torchRepr string // by testdata/repr.py

type SimpleNN struct {
	Fc1 *nn.Linear
	Act *nn.ReLU
	Fc2 *nn.Linear
}

func (m *SimpleNN) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Chain(x, m.Fc1, m.Act, m.Fc2) }

func newSimpleNN(st *ebb.Store) *SimpleNN {
	return &SimpleNN{nn.NewLinear(st, 784, 128), &nn.ReLU{}, nn.NewLinear(st, 128, 10, nn.NoBias())}
}

type Scale struct{ Inner nn.Module }

func (s *Scale) Forward(x *ebb.Tensor) *ebb.Tensor { return x }
func (s *Scale) ExtraRepr() string                 { return "factor=2" }

type Nested struct {
	Blocks []nn.Module
	Heads  map[string]nn.Module
	Scale  *Scale
	Again  *SimpleNN
	Unset  *SimpleNN
	Table  *ebb.Tensor
	List   []*ebb.Tensor
	Any    any
}

func (n *Nested) Forward(x *ebb.Tensor) *ebb.Tensor { return x }

func TestStringIsTorchs(t *testing.T) {
	_, st := newModelStore(t)
	simple := newSimpleNN(st)
	table := ebb.Zeros(st, ebb.Shape{1})
	models := []any{
		nn.NewLinear(st, 3, 4), &nn.ReLU{}, &nn.Flatten{StartDim: 0, EndDim: -2}, nn.NewSequential(),
		nn.NewSequential(nn.NewLinear(st, 1, 1), &nn.ReLU{}), newSimpleNN(st), &Scale{}, &Scale{&nn.ReLU{}},
		&Nested{
			Blocks: []nn.Module{simple, nn.NewSequential(nn.NewFlatten(), &nn.ReLU{InPlace: true})},
			Heads:  map[string]nn.Module{"b": &nn.ReLU{}, "a": nn.NewLinear(st, 1, 2)},
			Scale:  &Scale{&Scale{}}, Again: simple, Table: table, List: []*ebb.Tensor{table}, Any: 3,
		},
	}
	var got strings.Builder
	for _, m := range models {
		got.WriteString(nn.String(m) + "\n\n")
	}
	if d := cmp.Diff(torchRepr, got.String()); d != "" {
		t.Errorf("(-PyTorch +got):\n%s", d)
	}
}

// parent holds itself.
type parent struct {
	Child *child
}

type child struct{ Parent *parent }

func (p *parent) Forward(x *ebb.Tensor) *ebb.Tensor { return x }
func (c *child) Forward(x *ebb.Tensor) *ebb.Tensor  { return x }

func TestStringOfCyclesAndNothing(t *testing.T) {
	p := &parent{&child{}}
	p.Child.Parent = p
	for _, c := range []struct {
		model any
		want  string
	}{
		{p, "parent(\n  (child): child(\n    (parent): parent(...)\n  )\n)"},
		{nil, "None"},
		{(*parent)(nil), "None"},
		{&struct{ A *nn.ReLU }{&nn.ReLU{}}, "(\n  (a): ReLU()\n)"},
		{[]nn.Module{&nn.ReLU{}}, "ModuleList(\n  (0): ReLU()\n)"},
		{function(nil), "function()"},
	} {
		if got := nn.String(c.model); got != c.want {
			t.Errorf("%T: %s, want %s", c.model, got, c.want)
		}
	}
}
