package nn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/google/go-cmp/cmp"
)

// stateful has parameters and a buffer.
type stateful struct {
	Fc   *nn.Linear
	Mean *ebb.Tensor
}

func newStateful(st *ebb.Store) *stateful {
	return &stateful{nn.NewLinear(st, 2, 3), ebb.FromSlice(st, []int64{1, 2})}
}

func (m *stateful) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Call(m.Fc, x) }

// contents returns the elements of d's tensors by name.
func contents(d nn.StateDict) map[string][]float64 {
	out := map[string][]float64{}
	for _, e := range d {
		switch e.Tensor.DType() {
		case ebb.Float32:
			for _, v := range e.Tensor.Float32s() {
				out[e.Name] = append(out[e.Name], float64(v))
			}
		case ebb.Float64:
			out[e.Name] = e.Tensor.Float64s()
		default:
			for _, v := range e.Tensor.Int64s() {
				out[e.Name] = append(out[e.Name], float64(v))
			}
		}
	}
	return out
}

func TestStateDict(t *testing.T) {
	rt, st := newModelStore(t)
	a, b := newStateful(st), newStateful(st)
	b.Mean.Fill_(7)
	var d nn.StateDict
	flat(t, rt, func() { d = nn.NewStateDict(a) })
	var names []string
	for _, e := range d {
		names = append(names, e.Name)
		if e.Tensor.RequiresGrad() {
			t.Errorf("%s carries a graph", e.Name)
		}
	}
	if want := []string{"mean", "fc.weight", "fc.bias"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
	if !d.Get("fc.weight").SharesStorage(a.Fc.Weight) || d.Get("fc") != nil {
		t.Error("Get returns another tensor than the model's")
	}
	want := contents(d)
	slices.Reverse(d) // the order does not matter
	version := b.Fc.Weight.Version()
	flat(t, rt, func() {
		if err := nn.LoadStateDict(b, d); err != nil {
			t.Fatal(err)
		}
	})
	if d := cmp.Diff(want, contents(nn.NewStateDict(b))); d != "" {
		t.Error(d)
	}
	if b.Fc.Weight.Version() == version || !b.Fc.Weight.RequiresGrad() || b.Fc.Weight.SharesStorage(a.Fc.Weight) {
		t.Error("loading did not copy into the parameter")
	}
	if err := nn.LoadStateDict(a, nn.NewStateDict(a)); err != nil {
		t.Errorf("loading a model's own state: %v", err)
	}
	if err := nn.LoadStateDict(&nn.ReLU{}, nil); err != nil {
		t.Errorf("loading nothing into a model without state: %v", err)
	}
}

func TestLoadStateDictConverts(t *testing.T) {
	rt, st := newModelStore(t)
	wide, narrow := nn.NewLinear(st, 2, 3, nn.WithDType(ebb.Float64)), nn.NewLinear(st, 2, 3)
	flat(t, rt, func() {
		if err := nn.LoadStateDict(narrow, nn.NewStateDict(wide)); err != nil {
			t.Fatal(err)
		}
	})
	for i, v := range wide.Weight.Float64s() {
		if got := narrow.Weight.Float32s()[i]; got != float32(v) {
			t.Errorf("weight %d is %v, want %v", i, got, v)
		}
	}
	// A scope's tensors are a state as well, in any layout.
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		d := nn.StateDict{{"weight", ebb.FromSlice(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3).T()}, {"bias", ebb.Ones(s, ebb.Shape{1}).Expand(3)}}
		if err := nn.LoadStateDict(narrow, d); err != nil {
			t.Fatal(err)
		}
	})
	if got := narrow.Weight.Float32s(); !slices.Equal(got, []float32{1, 4, 2, 5, 3, 6}) {
		t.Errorf("weight %v", got)
	}
}

func TestLoadStateDictErrors(t *testing.T) {
	rt, st := newModelStore(t)
	m, other := newStateful(st), newStateful(st)
	good := nn.NewStateDict(other)
	before := contents(nn.NewStateDict(m))
	bad := func(what string, d nn.StateDict, parts ...string) {
		t.Helper()
		flat(t, rt, func() {
			err := nn.LoadStateDict(m, d)
			if !errors.Is(err, ebb.ErrValue) {
				t.Errorf("%s: error %v, want kind value", what, err)
				return
			}
			for _, p := range parts {
				if !strings.Contains(err.Error(), p) {
					t.Errorf("%s: the error lacks %q: %v", what, p, err)
				}
			}
		})
		if d := cmp.Diff(before, contents(nn.NewStateDict(m))); d != "" {
			t.Errorf("%s: something was copied: %s", what, d)
		}
	}
	gone := rt.NewStore("gone")
	released := ebb.Zeros(gone, ebb.Shape{3})
	gone.Close()
	wrong := ebb.Zeros(st, ebb.Shape{3, 3})
	bad("everything", nn.StateDict{good[0], {"fc.weight", wrong}, {"fc.weights", wrong}, {"head", wrong}, {"head", wrong}},
		"fc.weight has shape [3 3], expected [3 2]", "fc.bias is missing", "fc.weights is not the model's", "head is not the model's", "head is given twice")
	bad("nothing", nil, "mean is missing", "fc.weight is missing", "fc.bias is missing")
	bad("nil", nn.StateDict{good[0], good[1], {"fc.bias", nil}}, "fc.bias is missing")
	bad("released", nn.StateDict{good[0], good[1], {"fc.bias", released}}, "fc.bias was released")
	foreign := newRuntime(t)
	fst := foreign.NewStore("other")
	defer fst.Close()
	bad("another runtime", nn.StateDict{good[0], good[1], {"fc.bias", ebb.Zeros(fst, ebb.Shape{3})}}, "fc.bias belongs to another runtime")
	if err := nn.LoadStateDict(nil, good); !errors.Is(err, ebb.ErrValue) {
		t.Errorf("no model: %v", err)
	}
	left := newStateful(st.NewStore("left"))
	nn.Release(left.Fc)
	if err := nn.LoadStateDict(left, good); !errors.Is(err, ebb.ErrReleased) {
		t.Errorf("a released model: %v", err)
	}
	nn.Release(left)
}

func TestLoadStateDictAgainAndAgain(t *testing.T) {
	rt, st := newModelStore(t)
	a, b := newStateful(st), newStateful(st)
	n := 10_000
	if testing.Short() {
		n = 100
	}
	if err := nn.LoadStateDict(a, nn.NewStateDict(b)); err != nil {
		t.Fatal(err)
	}
	before := rt.Stats()
	flat(t, rt, func() {
		for range n {
			if err := nn.LoadStateDict(a, nn.NewStateDict(b)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if after := rt.Stats(); after.Mapped != before.Mapped {
		t.Errorf("%d bytes mapped before, %d after", before.Mapped, after.Mapped)
	}
}
