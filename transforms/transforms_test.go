package transforms_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/transforms"
)

// within gives a store and a scope of a runtime that must end with nothing held.
func within(t interface {
	Helper()
	Errorf(string, ...any)
}, f func(st *ebb.Store, s *ebb.Scope)) {
	t.Helper()
	rt := ebb.NewRuntime()
	st, s := rt.NewStore("data"), rt.NewScope("batch", ebb.NoGrad)
	f(st, s)
	s.Close()
	st.Close()
	if err := rt.Close(); err != nil {
		t.Errorf("%v", err)
	}
}

// everyByte returns images whose channel c has all bytes: [1, 16, 16, channels].
func everyByte(st *ebb.Store, channels int) *ebb.Tensor {
	b := make([]uint8, 256*channels)
	for i := range b {
		b[i] = uint8(i / channels)
	}
	if channels == 1 {
		return ebb.FromSlice(st, b, 1, 16, 16)
	}
	return ebb.FromSlice(st, b, 1, 16, 16, channels)
}

func TestEveryByteIsPyTorchs(t *testing.T) {
	var want struct {
		Cases []struct {
			Mean, Std []float64
			Bits      [][]uint32
		}
	}
	b, err := os.ReadFile("testdata/normalize_torch.json")
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil || len(want.Cases) != 3 {
		t.Fatal(err, len(want.Cases))
	}
	for _, c := range want.Cases {
		within(t, func(st *ebb.Store, s *ebb.Scope) {
			tr := transforms.ToTensor()
			if len(c.Mean) > 0 {
				tr = transforms.Compose(tr, transforms.Normalize(c.Mean, c.Std))
			}
			images := everyByte(st, len(c.Bits))
			whole := transforms.Gather(s, images, []int64{0}, tr)
			steps := tr.Apply(images.In(s))
			for name, y := range map[string]*ebb.Tensor{"gathered": whole, "step by step": steps} {
				if !cmp.Equal(y.Shape(), []int{1, len(c.Bits), 16, 16}) {
					t.Fatalf("%s: shape %v", name, y.Shape())
				}
				for i, v := range y.Float32s() {
					if got, want := math.Float32bits(v), c.Bits[i/256][i%256]; got != want {
						t.Fatalf("%s, mean %v: byte %d of channel %d is %v, PyTorch's %v", name, c.Mean, i%256, i/256, v, math.Float32frombits(want))
					}
				}
			}
			if whole.Kind() != ebb.Input {
				t.Errorf("kind %s", whole.Kind())
			}
		})
	}
}

// One pass over memory gives the bits of the steps one by one.
func TestGatherIsTheSteps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		within(r, func(st *ebb.Store, s *ebb.Scope) {
			shape := []int{rapid.IntRange(1, 5).Draw(r, "n"), rapid.IntRange(1, 6).Draw(r, "h"), rapid.IntRange(1, 6).Draw(r, "w")}
			channels := rapid.SampledFrom([]int{0, 1, 3, 4}).Draw(r, "c")
			if channels > 0 {
				shape = append(shape, channels)
			}
			size := 1
			for _, d := range shape {
				size *= d
			}
			images := ebb.FromSlice(st, rapid.SliceOfN(rapid.Uint8(), size, size).Draw(r, "bytes"), shape...)
			var steps []transforms.Transform
			for _, kind := range rapid.SliceOfN(rapid.IntRange(0, 3), 0, 4).Draw(r, "steps") {
				switch kind {
				case 0:
					steps = append(steps, transforms.Normalize([]float64{0.25}, []float64{0.3}))
				case 1:
					n := max(channels, 1)
					mean, std := make([]float64, n), make([]float64, n)
					for i := range mean {
						mean[i], std[i] = 0.1*float64(i), 0.7+0.1*float64(i)
					}
					steps = append(steps, transforms.Compose(transforms.Normalize(mean, std)))
				case 2:
					steps = append(steps, transforms.Lambda(func(x *ebb.Tensor) *ebb.Tensor { return x.Mul(x) }))
				}
			}
			tr := transforms.Compose(append([]transforms.Transform{transforms.ToTensor()}, steps...)...)
			indices := rapid.SliceOfN(rapid.Int64Range(0, int64(shape[0]-1)), 0, 7).Draw(r, "indices")
			got := transforms.Gather(s, images, indices, tr)
			want := tr.Apply(transforms.Gather(s, images, indices, nil))
			if !cmp.Equal(got.Shape(), want.Shape()) || !cmp.Equal(got.Float32s(), want.Float32s()) {
				r.Fatalf("got %v\nwant %v", got, want)
			}
		})
	})
}

func TestGatherWithoutToTensor(t *testing.T) {
	within(t, func(st *ebb.Store, s *ebb.Scope) {
		images := ebb.FromSlice(st, []uint8{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
		if got := transforms.Gather(s, images, []int64{1}, nil); !cmp.Equal(got.Uint8s(), []uint8{5, 6, 7, 8}) || !cmp.Equal(got.Shape(), []int{1, 2, 2}) {
			t.Errorf("none: %v", got)
		}
		double := transforms.Lambda(func(x *ebb.Tensor) *ebb.Tensor { return x.Add(x) })
		if got := transforms.Gather(s, images, []int64{1, 0}, double); !cmp.Equal(got.Uint8s(), []uint8{10, 12, 14, 16, 2, 4, 6, 8}) {
			t.Errorf("lambda: %v", got)
		}
		strided := images.Permute(0, 2, 1)
		if got := transforms.Gather(s, strided, []int64{1}, transforms.ToTensor()); !cmp.Equal(got.Float32s(), []float32{5. / 255, 7. / 255, 6. / 255, 8. / 255}) {
			t.Errorf("strided: %v", got)
		}
		floats := ebb.FromSlice(st, []float64{1, 2, 3, 4}, 1, 2, 2)
		if got := transforms.ToTensor().Apply(floats.In(s)); !cmp.Equal(got.Float64s(), []float64{1, 2, 3, 4}) || got.Dim() != 4 {
			t.Errorf("floats are not scaled: %v", got)
		}
	})
}

func TestBadInput(t *testing.T) {
	within(t, func(st *ebb.Store, s *ebb.Scope) {
		images := ebb.Zeros(st, ebb.Shape{2, 4, 4, 3}, ebb.Uint8)
		floats := ebb.Zeros(s, ebb.Shape{2, 3, 4, 4})
		for i, c := range []struct {
			kind ebb.ErrorKind
			f    func()
		}{
			{ebb.ErrValue, func() { transforms.Normalize(nil, nil) }},
			{ebb.ErrValue, func() { transforms.Normalize([]float64{1}, []float64{0}) }},
			{ebb.ErrValue, func() { transforms.Normalize([]float64{1, 2}, []float64{1}) }},
			{ebb.ErrShape, func() { transforms.Normalize([]float64{1, 2}, []float64{1, 2}).Apply(floats) }},
			{ebb.ErrShape, func() { transforms.Normalize([]float64{1}, []float64{1}).Apply(floats.Select(0, 0)) }},
			{ebb.ErrDType, func() { transforms.Normalize([]float64{1}, []float64{1}).Apply(images.In(s)) }},
			{ebb.ErrShape, func() { transforms.ToTensor().Apply(images.In(s).Select(0, 0).Select(0, 0)) }},
			{ebb.ErrShape, func() {
				transforms.Gather(s, images, []int64{0}, transforms.Compose(transforms.ToTensor(), transforms.Normalize([]float64{1, 2}, []float64{1, 2})))
			}},
			{ebb.ErrNoScope, func() { transforms.ToTensor().Apply(images) }},
			{ebb.ErrNoScope, func() {
				transforms.Normalize([]float64{1}, []float64{1}).Apply(ebb.Zeros(st, ebb.Shape{1, 1, 2, 2}))
			}},
			{ebb.ErrIndex, func() { transforms.Gather(s, images, []int64{2}, nil) }},
			{ebb.ErrIndex, func() { transforms.Gather(s, images, []int64{-1}, transforms.ToTensor()) }},
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				var err error
				func() {
					defer ebb.Catch(&err)
					c.f()
				}()
				if !errors.Is(err, c.kind) {
					t.Errorf("%v, want %s", err, c.kind)
				}
			})
		}
	})
}
