package nn_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
)

// linearStreams returns what torch.nn.Linear(5, 3) starts from, weight and then
// bias, by seed.
func linearStreams(t *testing.T) map[uint64][]float64 {
	b, err := os.ReadFile("../internal/random/testdata/random_streams.json")
	if err != nil {
		t.Fatal(err)
	}
	var streams struct {
		Cases []struct {
			Seed   uint64
			Call   string
			Values []float64
		}
	}
	if err := json.Unmarshal(b, &streams); err != nil {
		t.Fatal(err)
	}
	out := map[uint64][]float64{}
	for _, c := range streams.Cases {
		if c.Call == "Linear(5, 3): weight then bias" {
			out[c.Seed] = c.Values
		}
	}
	if len(out) < 5 {
		t.Fatalf("%d seeds in the file", len(out))
	}
	return out
}

func TestLinearStartsAsTorchs(t *testing.T) {
	rt, st := newModelStore(t)
	for seed, want := range linearStreams(t) {
		rt.ManualSeed(seed)
		a := nn.NewLinear(st, 5, 3)
		b := nn.NewLinear(st, 5, 3, nn.WithGenerator(ebb.NewGenerator(seed)))
		for _, l := range []*nn.Linear{a, b} {
			for i, got := range append(l.Weight.Float32s(), l.Bias.Float32s()...) {
				if float64(got) != want[i] {
					t.Fatalf("seed %d: value %d is %v, want %v", seed, i, got, want[i])
				}
			}
		}
	}
}

func TestLinearMakesParameters(t *testing.T) {
	rt, st := newModelStore(t)
	l := nn.NewLinear(st, 3, 2, nn.WithDType(ebb.Float64))
	for _, p := range []*ebb.Tensor{l.Weight, l.Bias} {
		if p.Kind() != ebb.Parameter || !p.RequiresGrad() || !p.IsLeaf() || p.DType() != ebb.Float64 || p.Store().Parent() != st {
			t.Errorf("kind %v, gradient %t, type %v", p.Kind(), p.RequiresGrad(), p.DType())
		}
	}
	if s := rt.Stats(); s.Live.Current != 8*8 || s.ByKind[ebb.Parameter].Current != 8*8 {
		t.Errorf("%d bytes live", s.Live.Current)
	}
	// Without inputs the bias is 0, and has drawn its numbers, as in PyTorch.
	gen := ebb.NewGenerator(0)
	none := nn.NewLinear(st, 0, 2, nn.WithGenerator(gen))
	if b := none.Bias.Float32s(); b[0] != 0 || b[1] != 0 {
		t.Errorf("bias %v, want 0", b)
	}
	next := ebb.Rand(st, ebb.Shape{1}, gen).Item()
	run(t, rt, ebb.NoGrad, func(s *ebb.Scope) {
		if want := ebb.Rand(s, ebb.Shape{3}, ebb.NewGenerator(0)).Float32s()[2]; float32(next) != want {
			t.Errorf("the stream goes on with %v, want %v", next, want)
		}
	})
}

func TestLinearErrors(t *testing.T) {
	rt, st := newModelStore(t)
	flat(t, rt, func() {
		wantError(t, ebb.ErrShape, func() { nn.NewLinear(st, -1, 2) }, "negative")
		wantError(t, ebb.ErrShape, func() { nn.NewLinear(st, 2, -1) }, "negative")
		wantError(t, ebb.ErrShape, func() { nn.NewLinear(st, math.MaxInt32, math.MaxInt64/4) })
		wantError(t, ebb.ErrDType, func() { nn.NewLinear(st, 2, 2, nn.WithDType(ebb.Int64)) }, "int64")
	})
	l := nn.NewLinear(st, 3, 2)
	run(t, rt, ebb.EnableGrad, func(s *ebb.Scope) {
		flat(t, rt, func() {
			for _, x := range []*ebb.Tensor{ebb.Ones(s, ebb.Shape{2, 2}), ebb.Ones(s, ebb.Shape{})} {
				wantError(t, ebb.ErrShape, func() { nn.Call(l, x) }, "linear", "weight [out, in]")
			}
			wantError(t, ebb.ErrDType, func() { nn.Call(l, ebb.Ones(s, ebb.Shape{2, 3}, ebb.Float64)) }, "linear", "To")
			s.Recycle()
		})
	})
	small := ebb.NewRuntime(ebb.Limit(1 << 20))
	defer small.Close()
	sst := small.NewStore("model")
	flat(t, small, func() {
		wantError(t, ebb.ErrOutOfMemory, func() { nn.NewLinear(sst, 1<<10, 1<<10) }, "float32[1024, 1024]")
	})
	sst.Close()
	closed := rt.NewStore("closed")
	closed.Close()
	wantError(t, ebb.ErrClosed, func() { nn.NewLinear(closed, 2, 2) })
}

func TestLinearFailsAtAnyAllocation(t *testing.T) {
	rt, st := newModelStore(t)
	n := 1
	for ; ; n++ {
		var e *ebb.Error
		var l *nn.Linear
		before := ledgerOf(rt)
		rt.FailNthAllocation(n)
		e = catch(func() { l = nn.NewLinear(st, 20, 30) })
		rt.FailNthAllocation(0)
		if e == nil {
			nn.Release(l) // closes st, which is empty
			break
		}
		if !errors.Is(e, ebb.ErrOutOfMemory) {
			t.Fatalf("allocation %d failed: %v", n, e)
		}
		if after := ledgerOf(rt); after != before {
			t.Fatalf("allocation %d failed: the ledger was %+v and is %+v", n, before, after)
		}
	}
	if n < 3 {
		t.Errorf("%d allocations, expected weight and bias at least", n-1)
	}
	if !st.Closed() {
		t.Error("Release left the model's empty store open")
	}
}
